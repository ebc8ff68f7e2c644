"""Lock that allows only one console per store: on PostgreSQL an advisory lock.

A SQLite store is in the state directory, which has its own lock. The server releases the advisory lock when the session ends,
however the console ended. A broken session is replaced and the lock is acquired again. A console that finds the lock taken has been
replaced and ends.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from shardboard.lifecycle.supervision import StopConsole
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

KEY = 0x5368617264626F72
"""Key of the advisory lock. Advisory locks belong to one database of the server."""
TIMEOUT_SECONDS = 20.0
"""Time for a predecessor on a failed machine, until the server detects that its session is dead."""
POLL_SECONDS = 1.0
_SESSION = ("tcp_keepalives_idle = 5", "tcp_keepalives_interval = 3", "tcp_keepalives_count = 3")

_HOLDERS = (
    "SELECT pid, (classid::bigint << 32) + objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted "
    "AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class StoreLock:
    """The console's lock on its store, held by a separate session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: AsyncConnection | None = None
        self._pid = 0
        """Server process of our latest session."""

    @property
    def is_needed(self) -> bool:
        return self._store.engine.dialect.name == "postgresql"

    async def acquire(self) -> None:
        """Acquire the lock. Raises ValueError if another console keeps it."""
        clock = asyncio.get_running_loop().time
        until = clock() + TIMEOUT_SECONDS
        while self.is_needed and not await self._claimed():
            if clock() > until:
                raise ValueError("Another console is running on this PostgreSQL database. Run one console per store.")
            await asyncio.sleep(POLL_SECONDS / 2)

    async def run(self) -> None:
        """Keep the lock until cancelled. Raises MustEnd if another console has taken it."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if (
                self.is_needed
                and not await self._held()
                and not await self._claimed()
                and not await self._is_own_session()
            ):
                raise StopConsole("another console has taken over the store; this console is stopping")

    async def _is_own_session(self) -> bool:
        """Return whether our own session still holds the lock, because the server has not noticed that the session is broken."""
        async with self._store.engine.connect() as connection:
            found = await connection.exec_driver_sql(_HOLDERS)
            return (self._pid, KEY) in {tuple(row) for row in found}

    async def release(self) -> None:
        """Release the lock, so that another console can start."""
        session, self._session = self._session, None
        if session is not None:
            await session.invalidate()
            await session.close()

    async def _held(self) -> bool:
        if self._session is None:
            return False
        try:
            await self._session.exec_driver_sql("SELECT 1")
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("store lock: the session was lost: %s", describe_error(error))
            await self.release()
            return False
        return True

    async def _claimed(self) -> bool:
        await self.release()
        connection = await self._store.engine.connect()
        try:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            for setting in _SESSION:
                await connection.exec_driver_sql(f"SET {setting}")
            claimed = bool((await connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({KEY})")).scalar_one())
            if claimed:
                self._pid = (await connection.exec_driver_sql("SELECT pg_backend_pid()")).scalar_one()
        except BaseException:
            await connection.invalidate()
            await connection.close()
            raise
        if claimed:
            self._session = connection
        else:
            await connection.close()
        return claimed


@asynccontextmanager
async def lock_store(store: Store) -> AsyncIterator[StoreLock]:
    """Hold the lock on the store during the block."""
    ownership = StoreLock(store)
    await ownership.acquire()
    try:
        yield ownership
    finally:
        await ownership.release()
