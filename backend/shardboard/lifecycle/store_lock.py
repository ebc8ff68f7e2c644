"""Lock that allows only one console per store: on PostgreSQL an advisory lock.

A SQLite store is in the state directory, which has its own lock. The server releases the advisory lock when the session ends,
however the console ended. A broken session is replaced and the lock is acquired again. A console that finds the lock taken has been
replaced and ends.

A lock counts only at a writable server. After a failover, a session can stay at the demoted one, whose locks do not exclude
consoles that use the new primary. The lock is then acquired there, and until then the console does not write to it
(`store/server_check.py`).
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from shardboard.lifecycle.supervision import StopConsole
from shardboard.store.db import Store
from shardboard.store.server_check import IDENTITY, READ_ONLY, WrongServer
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

KEY = 0x5368617264626F72
"""Key of the advisory lock. Advisory locks belong to one database of the server."""
TIMEOUT_SECONDS = 20.0
"""Time for a predecessor on a failed machine, until the server detects that its session is dead."""
POLL_SECONDS = 1.0
VERIFY_SECONDS = 10.0
"""Interval at which the console checks that new sessions still lead to the server of the lock."""
_SESSION = ("tcp_keepalives_idle = 5", "tcp_keepalives_interval = 3", "tcp_keepalives_count = 3")

_OWN_SESSION = "SELECT pid || ' ' || backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
"""Identifies a session: pids are used again, also by other servers."""
_HOLDERS = (
    "SELECT (classid::bigint << 32) + objid::bigint, pid || ' ' || backend_start FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class StoreLock:
    """The console's lock on its store, held by a separate session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: AsyncConnection | None = None
        self._session_id = ""
        """Identity of our latest session."""
        self._verified_at = 0.0

    @cached_property
    def _engine(self) -> AsyncEngine:
        return self._store.separate_engine()

    @property
    def is_needed(self) -> bool:
        return self._store.engine.dialect.name == "postgresql"

    async def acquire(self) -> None:
        """Acquire the lock. Raises ValueError if another console keeps it or the server stays read-only."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + TIMEOUT_SECONDS
        while self.is_needed:
            try:
                if await self._claim():
                    return
                reason = "Another console is running on this PostgreSQL database. Run one console per store."
            except WrongServer as error:
                reason = f"The store cannot be used: {error}."
            if clock() > deadline:
                raise ValueError(reason)
            await asyncio.sleep(POLL_SECONDS / 2)

    async def run(self) -> None:
        """Keep the lock until cancelled. Raises StopConsole if another console has taken it."""
        suspected = self._store.server.suspected
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await suspected.wait()
            if self.is_needed and not await self._held() and not await self._claim():
                raise StopConsole("another console has taken over the store; this console is stopping")

    async def release(self) -> None:
        """Release the lock, so that another console can start."""
        session, self._session = self._session, None
        if session is not None:
            await session.invalidate()
            await session.close()

    async def _held(self) -> bool:
        """Return whether our session holds the lock at a writable server, to which new sessions lead as well."""
        if self._session is None:
            return False
        try:
            read_only = (await self._session.exec_driver_sql(f"SELECT {READ_ONLY}")).scalar_one()
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("store lock: the session was lost: %s", describe_error(error))
            await self.release()
            return False
        if read_only or not await self._is_current():
            log.warning("store lock: the PostgreSQL server %s", "is read-only" if read_only else "was replaced")
            await self.release()
            await self._store.engine.dispose()
            return False
        return True

    async def _is_current(self) -> bool:
        """Return whether new sessions lead to the server of the lock. Check it periodically, and when a connection indicates a
        change.
        """
        server, now = self._store.server, asyncio.get_running_loop().time()
        if not server.suspected.is_set() and now - self._verified_at < VERIFY_SECONDS:
            return True
        async with self._engine.connect() as connection:
            if await _identity(connection) != server.identity:
                return False
        self._verified_at = now
        server.suspected.clear()
        return True

    async def _claim(self) -> bool:
        """Acquire the lock in a new session. Return whether it is ours, possibly still in our previous session, because the server
        has not noticed that it is broken. Raises WrongServer if the server is read-only.
        """
        await self.release()
        connection = await self._engine.connect()
        try:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            identity = await _identity(connection)
            for setting in _SESSION:
                await connection.exec_driver_sql(f"SET {setting}")
            claimed = bool((await connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({KEY})")).scalar_one())
            if not claimed:
                holders = [tuple(row) for row in await connection.exec_driver_sql(_HOLDERS)]
                await connection.close()
                return (KEY, self._session_id) in holders
            self._session_id = (await connection.exec_driver_sql(_OWN_SESSION)).scalar_one()
        except BaseException:
            await connection.invalidate()
            await connection.close()
            raise
        self._session = connection
        self._verified_at = asyncio.get_running_loop().time()
        server = self._store.server
        server.suspected.clear()
        if identity != server.identity:
            server.identity = identity
            await self._store.engine.dispose()  # its connections may lead to another server
        return True


async def _identity(connection: AsyncConnection) -> str:
    """Return the identity of a server. Raises WrongServer if it is read-only."""
    row = (await connection.exec_driver_sql(f"SELECT {READ_ONLY} AS read_only, {IDENTITY} AS identity")).one()
    if row.read_only:
        raise WrongServer("the PostgreSQL server is read-only")
    return str(row.identity)


@asynccontextmanager
async def lock_store(store: Store) -> AsyncIterator[StoreLock]:
    """Hold the lock on the store during the block."""
    ownership = StoreLock(store)
    await ownership.acquire()
    try:
        yield ownership
    finally:
        await ownership.release()
