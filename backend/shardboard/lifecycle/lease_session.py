"""Access to the lease of the leading console.

On PostgreSQL, a separate session in autocommit mode reads and renews it, so that no other work of the console delays this. It also
holds the advisory locks that show that the console is running, and its release (`lifecycle/store_locks.py`).

A SQLite store is in the state directory, whose lock admits one process. Its console always leads.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import ColumnElement, Table, Update, case, func, literal_column, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.dml import ReturningUpdate

from shardboard.contract.protocol import PROTOCOL
from shardboard.domain.cluster.consoles import LeaderChange
from shardboard.domain.cluster.leadership import LEASE_SECONDS, Lease
from shardboard.lifecycle import store_locks
from shardboard.lifecycle.supervision import StopConsole
from shardboard.state.cluster.consoles import Leadership
from shardboard.store import schema
from shardboard.store.db import Store
from shardboard.store.server_check import IDENTITY, READ_ONLY, WrongServer
from shardboard.store.stalled_sessions import end_stalled_sessions

T = TypeVar("T")

CONNECT_SECONDS = 5.0
QUERY_SECONDS = 0.6
"""Longest duration of a query, after which the session counts as broken."""
MAX_CLOCK_DIFFERENCE = 60.0
"""Largest difference to the clock of PostgreSQL, in seconds, with which a console starts."""
CLAIM_SECONDS = 2.0
"""Longest duration of a take-over, which waits for running transactions of the former leader."""
_SESSION = ("lock_timeout = 1000", "statement_timeout = 3000")
_LEASE = cast(Table, Leadership.__table__)
_COLUMNS = [_LEASE.c[name] for name in ("term", "console_id", "renewals", "released", "successor")]
_READ = select(*_COLUMNS, literal_column(READ_ONLY).label("read_only"), literal_column(schema.NUMBER).label("release"))
_CREATE = text("""
    INSERT INTO leadership (uid, term, console_id, renewals, released, acquired_at, reason)
    VALUES (1, 0, '', 0, true, CURRENT_TIMESTAMP, '') ON CONFLICT DO NOTHING
""")


class LeaseSession(Protocol):
    """Reads and changes the lease. All methods raise transient errors of the store."""

    is_outdated: bool
    """Whether a newer release had migrated the store when the lease was read last."""

    async def read(self) -> Lease: ...

    async def claim(self, seen: Lease, reason: str | None) -> Lease | None:
        """Take over if the lease is still as it was seen. Return the new lease; None if it has changed.

        Without a reason, that of the release is kept.
        """

    async def renew(self, term: int) -> Lease | None:
        """Return the lease; None if this console no longer has it. The same applies to the following methods."""

    async def raise_term(self, term: int, raised: int) -> Lease | None: ...

    async def release(self, term: int, successor: str | None, reason: str) -> Lease | None: ...

    async def drop(self) -> None:
        """Close the session. The next call opens a new one."""


class PostgresLeaseSession:
    """Opens its session when it is first used, and again after it was lost."""

    def __init__(self, store: Store, console_id: str, on_new_server: Callable[[], None]) -> None:
        self._store = store
        self._me = console_id
        self._on_new_server = on_new_server
        self._connection: AsyncConnection | None = None
        self._using = asyncio.Lock()
        self._has_joined = False
        """Whether each new session must have the locks of a running console."""
        self.is_outdated = False

    @cached_property
    def _engine(self) -> AsyncEngine:
        return self._store.separate_engine()

    async def read(self) -> Lease:
        async def read(connection: AsyncConnection) -> Lease:
            while True:
                row = (await connection.execute(_READ)).one_or_none()
                if row is None:
                    await connection.execute(_CREATE)
                elif row.read_only:
                    raise WrongServer("the PostgreSQL server is read-only")
                else:
                    self._check_release(row.release)
                    return _lease(row)

        return await self._run(read)

    async def claim(self, seen: Lease, reason: str | None) -> Lease | None:
        async def claim(connection: AsyncConnection) -> Lease | None:
            if seen.console_id not in ("", self._me):
                await end_stalled_sessions(connection, seen.console_id, LEASE_SECONDS)
            return await _change(connection, _claim(seen, self._me, reason))

        return await self._run(claim, CLAIM_SECONDS)

    async def renew(self, term: int) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _renew(term, self._me)))

    async def raise_term(self, term: int, raised: int) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _raise(term, self._me, raised)))

    async def release(self, term: int, successor: str | None, reason: str) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _release(term, self._me, successor, reason)))

    async def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                await connection.invalidate()
                await connection.close()

    async def join(self) -> None:
        """Take the locks of a running console. If this console must migrate the store, also take the lock for that, until `share`.
        Raises StoreLocked, and ValueError if the clock of this machine is wrong.
        """

        async def join(connection: AsyncConnection) -> bool:
            async with store_locks.joining(connection):
                await _check_clock(connection)
                is_outdated = (await self._store.schema(connection)).is_outdated
            if is_outdated:
                await store_locks.start_migration(connection)
            return not is_outdated

        self._has_joined = await self._run(join, CLAIM_SECONDS)

    async def share(self) -> None:
        """Let other consoles join, after the store was migrated."""
        if not self._has_joined:
            self._has_joined = True
            await self._run(store_locks.end_migration)

    def _check_release(self, number: int | None) -> None:
        """Raise StopConsole if a release that this one does not support has migrated the store."""
        if number is not None and not schema.supports(number):
            raise StopConsole(
                f"release {number} uses the store now, and this console is older than the release before it"
            )
        self.is_outdated = number is not None and number > PROTOCOL

    async def leads_to_same_server(self) -> bool:
        """Return whether new sessions lead to the server of this one."""
        async with asyncio.timeout(CONNECT_SECONDS), self._engine.connect() as connection:
            return await _identity(connection) == self._store.server.identity

    async def _run(self, query: Callable[[AsyncConnection], Awaitable[T]], seconds: float | None = None) -> T:
        async with self._using:
            try:
                if self._connection is None:
                    self._connection = await self._connect()
                async with asyncio.timeout(seconds or QUERY_SECONDS):
                    return await query(self._connection)
            except BaseException:
                await self.drop()
                raise

    async def _connect(self) -> AsyncConnection:
        """Open a session at a writable server, and let the pool use only this server."""
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await self._engine.connect()
            try:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                identity = await _identity(connection)
                for setting in _SESSION:
                    await connection.exec_driver_sql(f"SET {setting}")
                if self._has_joined:
                    async with store_locks.joining(connection):
                        if refusal := (await self._store.schema(connection)).refusal:
                            raise StopConsole(refusal)
            except BaseException:
                await connection.invalidate()
                await connection.close()
                raise
        server = self._store.server
        server.suspected.clear()
        if identity != server.identity:
            server.identity = identity
            self._on_new_server()
            raw = await connection.get_raw_connection()
            await self._store.disconnect(keep=raw.driver_connection)  # other connections may lead to another server
        return connection


class LocalLeaseSession:
    """The lease of a SQLite store: the console claims it when it starts, and keeps it."""

    is_outdated = False

    def __init__(self, store: Store, console_id: str) -> None:
        self._store = store
        self._me = console_id
        self._lease: Lease | None = None

    async def read(self) -> Lease:
        async with self._store.begin() as session:
            await session.execute(_CREATE)
            return _lease((await session.execute(select(*_COLUMNS))).one())

    async def claim(self, seen: Lease, reason: str | None) -> Lease | None:
        return await self._write(_claim(seen, self._me, reason))

    async def renew(self, term: int) -> Lease | None:
        return self._lease

    async def raise_term(self, term: int, raised: int) -> Lease | None:
        return await self._write(_raise(term, self._me, raised))

    async def release(self, term: int, successor: str | None, reason: str) -> Lease | None:
        return self._lease

    async def drop(self) -> None:
        """There is no session to close."""

    async def _write(self, statement: ReturningUpdate[Any]) -> Lease | None:
        async with self._store.begin() as session:
            self._lease = await _change(await session.connection(), statement)
        return self._lease


def _claim(seen: Lease, me: str, reason: str | None) -> ReturningUpdate[Any]:
    is_unchanged = (
        _LEASE.c.term == seen.term,
        _LEASE.c.console_id == seen.console_id,
        _LEASE.c.renewals == seen.renewals,
        _LEASE.c.released == seen.released,
    )
    # A requested change of the leader remains requested, unless the former leader has released the lease for it.
    successor = None if seen.released else case((_LEASE.c.successor != me, _LEASE.c.successor), else_=None)
    changes: dict[str, Any] = {
        "term": _LEASE.c.term + 1,
        "console_id": me,
        "renewals": 0,
        "released": False,
        "successor": successor,
    }
    changes |= {"acquired_at": func.current_timestamp(), "reason": _released_reason(seen) if reason is None else reason}
    return update(_LEASE).where(*is_unchanged).values(changes).returning(*_COLUMNS)


def _released_reason(seen: Lease) -> ColumnElement[str]:
    """Return why the leader released the lease. Consoles of the previous release do not write that, and know only two reasons."""
    requested = LeaderChange.HANDED_OVER if seen.successor is not None else LeaderChange.STOPPED
    return case((_LEASE.c.reason == LeaderChange.MORE_AGENTS, _LEASE.c.reason), else_=requested)


def _renew(term: int, me: str) -> ReturningUpdate[Any]:
    return _own(term, me).values(renewals=_LEASE.c.renewals + 1).returning(*_COLUMNS)


def _raise(term: int, me: str, raised: int) -> ReturningUpdate[Any]:
    return _own(term, me).values(term=raised).returning(*_COLUMNS)


def _release(term: int, me: str, successor: str | None, reason: str) -> ReturningUpdate[Any]:
    """Return an update that the next leader's claim completes: `reason` is why that console leads."""
    return _own(term, me).values(released=True, successor=successor, reason=reason).returning(*_COLUMNS)


def _own(term: int, me: str) -> Update:
    """Return an update of the lease, if this console has it in this term."""
    return update(_LEASE).where(_LEASE.c.term == term, _LEASE.c.console_id == me, ~_LEASE.c.released)


async def _change(connection: AsyncConnection, statement: ReturningUpdate[Any]) -> Lease | None:
    row = (await connection.execute(statement)).one_or_none()
    return _lease(row) if row is not None else None


def _lease(row: Any) -> Lease:
    return Lease(row.term, row.console_id, row.renewals, bool(row.released), row.successor)


async def _check_clock(connection: AsyncConnection) -> None:
    """Raise ValueError if this console would give deadlines and expiries another meaning than other consoles do."""
    before = time.time()
    difference = await store_locks.scalar(connection, "SELECT extract(epoch FROM clock_timestamp())::float8") - before
    if not -MAX_CLOCK_DIFFERENCE < difference < MAX_CLOCK_DIFFERENCE + time.time() - before:
        side = "behind" if difference > 0 else "ahead of"
        raise ValueError(
            f"The clock of this machine is {abs(difference):.0f} s {side} the clock of PostgreSQL. Nothing was changed. "
            "Synchronize both clocks, for example with NTP."
        )


async def _identity(connection: AsyncConnection) -> str:
    """Return the identity of a server. Raises WrongServer if it is read-only."""
    row = (await connection.exec_driver_sql(f"SELECT {READ_ONLY} AS read_only, {IDENTITY} AS identity")).one()
    if row.read_only:
        raise WrongServer("the PostgreSQL server is read-only")
    return str(row.identity)
