"""Access to the lease of the leading console.

On PostgreSQL, a separate session in autocommit mode reads and renews it, so that no other work of the console delays this. It also
holds a shared advisory lock: a console that migrates the store needs this lock exclusively, as each console of earlier releases
does.

A SQLite store is in the state directory, whose lock admits one process. Its console always leads.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Table, Update, case, func, literal_column, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.dml import ReturningUpdate

from shardboard.domain.cluster.leadership import LEASE_SECONDS, Lease
from shardboard.lifecycle.supervision import StopConsole
from shardboard.state.cluster.consoles import Leadership
from shardboard.store.db import Store
from shardboard.store.server_check import IDENTITY, READ_ONLY, WrongServer
from shardboard.store.stalled_sessions import end_stalled_sessions

T = TypeVar("T")

KEY = 0x5368617264626F72
"""Key of the advisory lock. Advisory locks belong to one database of the server."""
CONNECT_SECONDS = 5.0
QUERY_SECONDS = 0.6
"""Longest duration of a query, after which the session counts as broken."""
CLAIM_SECONDS = 2.0
"""Longest duration of a take-over, which waits for running transactions of the former leader."""
_SESSION = ("lock_timeout = 1000", "statement_timeout = 3000")
_LEASE = cast(Table, Leadership.__table__)
_COLUMNS = [_LEASE.c[name] for name in ("term", "console_id", "renewals", "released", "successor")]
_CREATE = text("""
    INSERT INTO leadership (uid, term, console_id, renewals, released, acquired_at, reason)
    VALUES (1, 0, '', 0, true, CURRENT_TIMESTAMP, '') ON CONFLICT DO NOTHING
""")


class StoreLocked(ConnectionError):
    """Another console is migrating the store, or a console of an earlier release is using it."""


class LeaseSession(Protocol):
    """Reads and changes the lease. All methods raise transient errors of the store."""

    async def read(self) -> Lease: ...

    async def claim(self, seen: Lease, reason: str) -> Lease | None:
        """Take over if the lease is still as it was seen. Return the new lease; None if it has changed."""

    async def renew(self, term: int) -> Lease | None:
        """Return the lease; None if this console no longer has it. The same applies to the following methods."""

    async def raise_term(self, term: int, raised: int) -> Lease | None: ...

    async def release(self, term: int, successor: str | None) -> Lease | None: ...

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
        self.needs_lock = False
        """Whether each new session must have the shared advisory lock."""

    @cached_property
    def _engine(self) -> AsyncEngine:
        return self._store.separate_engine()

    async def read(self) -> Lease:
        async def read(connection: AsyncConnection) -> Lease:
            while True:
                row = (
                    await connection.execute(select(*_COLUMNS, literal_column(READ_ONLY).label("read_only")))
                ).one_or_none()
                if row is None:
                    await connection.execute(_CREATE)
                elif row.read_only:
                    raise WrongServer("the PostgreSQL server is read-only")
                else:
                    return _lease(row)

        return await self._run(read)

    async def claim(self, seen: Lease, reason: str) -> Lease | None:
        async def claim(connection: AsyncConnection) -> Lease | None:
            if seen.console_id not in ("", self._me):
                await end_stalled_sessions(connection, seen.console_id, LEASE_SECONDS)
            return await _change(connection, _claim(seen, self._me, reason))

        return await self._run(claim, CLAIM_SECONDS)

    async def renew(self, term: int) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _renew(term, self._me)))

    async def raise_term(self, term: int, raised: int) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _raise(term, self._me, raised)))

    async def release(self, term: int, successor: str | None) -> Lease | None:
        return await self._run(lambda connection: _change(connection, _release(term, self._me, successor)))

    async def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                await connection.invalidate()
                await connection.close()

    async def try_lock(self, *, exclusive: bool) -> bool:
        """Return whether this session has the advisory lock now."""
        function = "pg_try_advisory_lock" if exclusive else "pg_try_advisory_lock_shared"
        return bool(await self._run(lambda connection: _scalar(connection, f"SELECT {function}({KEY})")))

    async def unlock(self, *, exclusive: bool) -> None:
        function = "pg_advisory_unlock" if exclusive else "pg_advisory_unlock_shared"
        await self._run(lambda connection: _scalar(connection, f"SELECT {function}({KEY})"))

    async def is_migrated(self) -> bool:
        """Return whether the schema has the latest revision."""
        return await self._run(self._store.is_migrated, CLAIM_SECONDS)

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
                if self.needs_lock and not await _scalar(connection, f"SELECT pg_try_advisory_lock_shared({KEY})"):
                    if not await self._store.is_migrated(connection):
                        raise StopConsole("the store was migrated by another release; this console is stopping")
                    raise StoreLocked("another console has locked the store to migrate it")
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

    def __init__(self, store: Store, console_id: str) -> None:
        self._store = store
        self._me = console_id
        self._lease: Lease | None = None

    async def read(self) -> Lease:
        async with self._store.begin() as session:
            await session.execute(_CREATE)
            return _lease((await session.execute(select(*_COLUMNS))).one())

    async def claim(self, seen: Lease, reason: str) -> Lease | None:
        return await self._write(_claim(seen, self._me, reason))

    async def renew(self, term: int) -> Lease | None:
        return self._lease

    async def raise_term(self, term: int, raised: int) -> Lease | None:
        return await self._write(_raise(term, self._me, raised))

    async def release(self, term: int, successor: str | None) -> Lease | None:
        return self._lease

    async def drop(self) -> None:
        """There is no session to close."""

    async def _write(self, statement: ReturningUpdate[Any]) -> Lease | None:
        async with self._store.begin() as session:
            self._lease = await _change(await session.connection(), statement)
        return self._lease


def _claim(seen: Lease, me: str, reason: str) -> ReturningUpdate[Any]:
    is_unchanged = (
        _LEASE.c.term == seen.term,
        _LEASE.c.console_id == seen.console_id,
        _LEASE.c.renewals == seen.renewals,
        _LEASE.c.released == seen.released,
    )
    # A requested change of the leader remains requested, unless the former leader has released the lease for it.
    successor = None if seen.released else case((_LEASE.c.successor != me, _LEASE.c.successor), else_=None)
    changes = {"term": _LEASE.c.term + 1, "console_id": me, "renewals": 0, "released": False, "successor": successor}
    times = {"acquired_at": func.current_timestamp(), "reason": reason}
    return update(_LEASE).where(*is_unchanged).values(changes | times).returning(*_COLUMNS)


def _renew(term: int, me: str) -> ReturningUpdate[Any]:
    return _own(term, me).values(renewals=_LEASE.c.renewals + 1).returning(*_COLUMNS)


def _raise(term: int, me: str, raised: int) -> ReturningUpdate[Any]:
    return _own(term, me).values(term=raised).returning(*_COLUMNS)


def _release(term: int, me: str, successor: str | None) -> ReturningUpdate[Any]:
    return _own(term, me).values(released=True, successor=successor).returning(*_COLUMNS)


def _own(term: int, me: str) -> Update:
    """Return an update of the lease, if this console has it in this term."""
    return update(_LEASE).where(_LEASE.c.term == term, _LEASE.c.console_id == me, ~_LEASE.c.released)


async def _change(connection: AsyncConnection, statement: ReturningUpdate[Any]) -> Lease | None:
    row = (await connection.execute(statement)).one_or_none()
    return _lease(row) if row is not None else None


def _lease(row: Any) -> Lease:
    return Lease(row.term, row.console_id, row.renewals, bool(row.released), row.successor)


async def _scalar(connection: AsyncConnection, statement: str) -> Any:
    return (await connection.exec_driver_sql(statement)).scalar_one()


async def _identity(connection: AsyncConnection) -> str:
    """Return the identity of a server. Raises WrongServer if it is read-only."""
    row = (await connection.exec_driver_sql(f"SELECT {READ_ONLY} AS read_only, {IDENTITY} AS identity")).one()
    if row.read_only:
        raise WrongServer("the PostgreSQL server is read-only")
    return str(row.identity)
