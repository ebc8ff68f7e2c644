"""The store: engine, sessions, and the only place that commits.

`Store.begin()` is one transaction. Its changes are published on the bus (topic "change") after the commit, so that the event stream
and the loops never see changes that could be rolled back. PostgreSQL announces them to other consoles.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, DateTime, Dialect, MetaData, NullPool, TypeDecorator, event, exc, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Session

from shardboard.kit.bus import Bus
from shardboard.kit.resources import MIGRATIONS
from shardboard.kit.tenure import LostLeadership, current_tenure
from shardboard.store import copy_marker, encrypted_columns, postgres_url, schema
from shardboard.store.change_notifications import notify
from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.schema import Schema
from shardboard.store.server_check import ServerCheck
from shardboard.store.store_key import StoreKeys
from shardboard.store.transient_errors import describe_error

STORE_ERRORS = (exc.DBAPIError, exc.DisconnectionError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""Errors of the database and of the connection to it."""
MIGRATION_LOCK_SECONDS = 60.0
"""Time for transactions of running consoles to end, when this console migrates the store."""
MIGRATION_RETRY_SECONDS = 0.5


class UtcDateTime(TypeDecorator[datetime]):
    """Timezone-aware UTC datetimes on every database (SQLite does not store the timezone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Base class of tables. Changes of rows of a class with `__kind__` are published on the bus."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    __kind__: str | None = None
    __quiet__: frozenset[str] = frozenset()
    """Columns whose changes alone are not published."""


class Store:
    """Opens the database and provides transactions."""

    def __init__(self, url: str, bus: Bus, keys: StoreKeys | None = None, console_id: str | None = None) -> None:
        """`console_id` identifies the console in notifications and in the sessions of PostgreSQL (`application_name`)."""
        self.url = url
        self.bus = bus
        self.console_id = console_id or uuid.uuid4().hex
        self.connector = None if _is_sqlite(url) else _connector(url, self.console_id)
        """Opens connections to PostgreSQL; None on SQLite."""
        self.engine = _engine(url, self.connector)
        self.server = ServerCheck()
        if self.connector is not None:
            self.server.install(self.engine)
        self.keys: StoreKeys | None = None
        if keys is not None:
            self.set_keys(keys)
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        # SQLite has one writer at a time. Its own waiting polls in no order, so that with many writers some could wait forever.
        self._turn = asyncio.Lock() if _is_sqlite(url) else nullcontext()
        self.state_id = 0
        """Uid of the newest committed event: the `cluster-state-id`."""

    @property
    def is_shared(self) -> bool:
        """Whether several consoles can use this store."""
        return not _is_sqlite(self.url)

    def set_keys(self, keys: StoreKeys) -> None:
        """Encrypt and decrypt with these keys from now on. Without keys nothing is encrypted, and encrypted values are not
        readable.
        """
        self.keys = keys
        encrypted_columns.set_keys(self.engine.sync_engine.dialect, keys)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        """Open a transaction. It commits at the end of the block, and rolls back if the block raises."""
        changed: set[tuple[str, Any]] = set()
        async with self._turn, self._sessions() as session:
            session.info["changed"] = changed
            async with session.begin():
                # SQLite: take the write lock immediately; upgrading a read transaction later fails instead of waiting.
                connection = await session.connection(execution_options={"write": True})
                await self._check_tenure(connection)
                yield session
                if self.connector is not None and session.in_transaction():
                    await session.flush()
                    await notify(session, self.console_id, changed)
        self.raise_state_id(max((uid for kind, uid in changed if kind == "event"), default=0))
        for kind, uid in sorted(changed, key=str):
            self.bus.publish("change", (kind, uid))

    def raise_state_id(self, newest_event: int) -> None:
        """Take over the uid of a committed event, of this or another console."""
        self.state_id = max(self.state_id, newest_event)

    async def _check_tenure(self, connection: AsyncConnection) -> None:
        """Raise LostLeadership if the task acts for a leader that may no longer act.

        The lock on the row delays a take-over until the transaction has ended. Renewals do not change its key and are not delayed.
        A SQLite store has one console only.
        """
        if (tenure := current_tenure()) is None:
            return
        tenure.check()
        if self.is_shared:
            query = text(
                "SELECT 1 FROM leadership WHERE term = :term AND console_id = :id AND NOT released FOR KEY SHARE"
            )
            if (await connection.execute(query, {"term": tenure.term, "id": tenure.console_id})).first() is None:
                raise LostLeadership(f"this console is no longer the leader in term {tenure.term}")

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Open a session that is never committed."""
        async with self._sessions() as session:
            yield session

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncSession]:
        """Open a session that is never committed and sees one consistent state of the store while it is open."""
        async with self._sessions() as session:
            level = "SERIALIZABLE" if _is_sqlite(self.url) else "REPEATABLE READ"
            await session.connection(execution_options={"isolation_level": level})
            yield session

    @asynccontextmanager
    async def lock(self, key: int) -> AsyncIterator[None]:
        """Hold a lock that one process at a time can have. No transaction is open, so machines can be called during the block."""
        if _is_sqlite(self.url):  # used by one console
            yield
            return
        engine = self.separate_engine()
        try:
            async with engine.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                await connection.exec_driver_sql(f"SELECT pg_advisory_lock({key})")
                yield
        finally:
            await engine.dispose()

    async def check(self) -> None:
        """Connect once. Raises ValueError with a message if that is impossible, or if no console may use the store."""
        try:
            async with self.engine.connect() as connection:
                await connection.run_sync(copy_marker.require_unmarked)
        except STORE_ERRORS as error:
            raise ValueError(self._unusable(error)) from error

    async def schema(self, connection: AsyncConnection) -> Schema:
        """Return the release of the schema."""
        return await connection.run_sync(self._schema)

    def _schema(self, connection: Connection) -> Schema:
        return schema.read(connection, ScriptDirectory.from_config(alembic_config(self.url)))

    async def migrate(self) -> None:
        """Migrate the schema to the latest revision of this release. An empty database gets the complete schema. Raises ValueError
        with a message if the database refuses that. Does nothing if a newer release has migrated the store.
        """
        deadline = time.monotonic() + MIGRATION_LOCK_SECONDS
        while True:
            try:
                return await self._migrate()
            except STORE_ERRORS as error:
                # Statements of other consoles must not wait behind a migration that itself waits for a long transaction.
                if not _waited_for_lock(error) or time.monotonic() > deadline:
                    raise ValueError(self._unusable(error)) from error
            await asyncio.sleep(MIGRATION_RETRY_SECONDS)

    async def _migrate(self) -> None:
        # A migration may take longer than other statements.
        engine = self.engine if self.connector is None else self.separate_engine(command_timeout=None)
        async with engine.connect() as connection:
            await connection.run_sync(copy_marker.require_unmarked)
            is_known = (await self.schema(connection)).is_known
            await connection.rollback()  # Alembic only commits a transaction that it has started
            if not is_known:
                return
            if self.connector is not None:
                await connection.execute(text("SET lock_timeout = '1s'"))
                await connection.commit()
            await connection.run_sync(lambda sync: command.upgrade(alembic_config(self.url, sync), "head"))
            await connection.run_sync(schema.record)
            await connection.commit()

    async def check_release(self, *, is_migrated: bool = False) -> None:
        """Raise ValueError if the schema is of a release that this one does not support, or with `is_migrated` if this release has
        to migrate it.
        """
        try:
            async with self.engine.connect() as connection:
                current = await self.schema(connection)
        except STORE_ERRORS as error:
            raise ValueError(self._unusable(error)) from error
        if current.refusal:
            raise ValueError(current.refusal)
        if is_migrated and current.is_outdated:
            raise ValueError("The store was not used by this release yet. Start the console of this release first.")

    def _unusable(self, error: BaseException) -> str:
        url = self.connector.url.description if self.connector else self.url
        return f"The store {url} cannot be used: {describe_error(error)}. Check SHARDBOARD_DATABASE_URL."

    def separate_engine(self, **arguments: Any) -> AsyncEngine:
        """Return an engine without a pool, whose sessions may use any server. `arguments` replace those of asyncpg."""
        return create_engine(self.url, self.connector, arguments, poolclass=NullPool)

    async def disconnect(self, keep: asyncpg.Connection | None = None) -> None:
        """Drop all connections, except `keep`, without waiting for the server, which may be frozen."""
        if self.connector is not None:
            self.connector.abort_all(keep)
        await self.engine.dispose()

    async def close(self) -> None:
        await self.engine.dispose()


async def roll_back(session: AsyncSession) -> None:
    """Roll back a dry run: undo the complete transaction and publish nothing. The session cannot be used afterwards."""
    session.info["changed"].clear()
    session.info.pop("told", None)
    session.info.pop("wrote", None)
    await session.rollback()


def alembic_config(url: str, connection: Any = None) -> Config:
    """Return Alembic's configuration without an ini file. `connection` makes it use an existing connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = url
    config.attributes["connection"] = connection
    return config


@cache
def newest_revision() -> str:
    """Return the revision of the schema of this release."""
    return ScriptDirectory.from_config(alembic_config("")).get_current_head() or ""


def _connector(url: str, console_id: str) -> PostgresConnector:
    return PostgresConnector(postgres_url.parse(make_url(url)), console_id)


def _engine(url: str, connector: PostgresConnector | None = None) -> AsyncEngine:
    # On an overloaded machine all nodes are checked at the same time, and writers must still get a connection.
    return create_engine(url, connector, max_overflow=45, pool_timeout=60)


def create_engine(
    url: str, connector: PostgresConnector | None, arguments: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> AsyncEngine:
    """Return an engine. `arguments` replace those of asyncpg, and `options` those of SQLAlchemy."""
    address, connect_args = make_url(url), dict(arguments)
    if connector is not None:  # the connector knows the server
        address = URL.create(address.drivername)
        connect_args |= {"async_creator_fn": connector.connect, **connector.url.statement_cache}
    engine = create_async_engine(
        address,
        pool_pre_ping=connector is not None,
        connect_args=connect_args,
        hide_parameters=True,  # parameters can contain passwords
        **options,
    )
    if connector is None:
        event.listen(engine.sync_engine, "connect", _tune_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        event.listen(engine.sync_engine, "invalidate", _end_sqlite)
    return engine


def _waited_for_lock(error: BaseException) -> bool:
    return getattr(getattr(error, "orig", None), "sqlstate", None) in ("40P01", "55P03")


def _is_sqlite(url: str) -> bool:
    return make_url(url).get_backend_name() == "sqlite"


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _end_sqlite(connection: Any, _record: Any, _error: BaseException | None) -> None:
    # Closing is not enough: SQLite keeps a connection and its locks while one of its statements is referenced.
    if connection is not None:
        connection.rollback()


def _tune_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transaction handling starts transactions late and breaks isolation, so this module emits BEGIN.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


@event.listens_for(Session, "after_flush")
def _record_changes(session: Session, _context: Any) -> None:
    changed = session.info.get("changed")
    if changed is None:
        return
    for row in (*session.new, *session.dirty, *session.deleted):
        kind = getattr(row, "__kind__", None)
        if kind is not None and (row not in session.dirty or _changed_columns(row) - row.__quiet__):
            changed.add((kind, row.uid))


def _changed_columns(row: Any) -> set[str]:
    return {attribute.key for attribute in inspect(row).attrs if attribute.history.has_changes()}
