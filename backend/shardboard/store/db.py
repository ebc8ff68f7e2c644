"""The store: engine, sessions, and the only place that commits.

`Store.begin()` is one transaction. Its changes are published on the bus (topic "change") after the commit, so that the event stream
and the loops never see changes that could be rolled back.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, DateTime, Dialect, MetaData, NullPool, TypeDecorator, event, exc, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Session

from shardboard.kit.bus import Bus
from shardboard.kit.resources import MIGRATIONS
from shardboard.store import encrypted_columns, postgres_url
from shardboard.store.server_check import ServerCheck
from shardboard.store.store_key import StoreKeys
from shardboard.store.transient_errors import describe_error

STORE_ERRORS = (exc.DBAPIError, exc.DisconnectionError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""Errors of the database and of the connection to it."""


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

    def __init__(self, url: str, bus: Bus, keys: StoreKeys | None = None) -> None:
        self.url = url
        self.bus = bus
        self.engine = _engine(url)
        self.server = ServerCheck()
        if not _is_sqlite(url):
            self.server.install(self.engine)
        if keys is not None:
            self.set_keys(keys)
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        # SQLite has one writer at a time. Its own waiting polls in no order, so that with many writers some could wait forever.
        self._turn = asyncio.Lock() if _is_sqlite(url) else nullcontext()
        self.state_id = 0
        """Uid of the newest committed event: the `cluster-state-id`."""

    def set_keys(self, keys: StoreKeys) -> None:
        """Encrypt and decrypt with these keys from now on. Without keys nothing is encrypted, and encrypted values are not
        readable.
        """
        encrypted_columns.set_keys(self.engine.sync_engine.dialect, keys)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        """Open a transaction. It commits at the end of the block, and rolls back if the block raises."""
        changed: set[tuple[str, Any]] = set()
        async with self._turn, self._sessions() as session:
            session.info["changed"] = changed
            async with session.begin():
                # SQLite: take the write lock immediately; upgrading a read transaction later fails instead of waiting.
                await session.connection(execution_options={"write": True})
                yield session
        self.state_id = max([self.state_id, *(uid for kind, uid in changed if kind == "event")])
        for kind, uid in sorted(changed, key=str):
            self.bus.publish("change", (kind, uid))

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

    async def check(self) -> None:
        """Connect once. Raises ValueError with a message if that is impossible."""
        try:
            async with self.engine.connect() as connection:
                await connection.exec_driver_sql("SELECT 1")
        except STORE_ERRORS as error:
            raise ValueError(self._unusable(error)) from error

    async def migrate(self) -> None:
        """Migrate the schema to the latest revision. An empty database gets the complete schema. Raises ValueError with a message
        if the database refuses that.
        """
        try:
            async with self.engine.connect() as connection:
                await connection.run_sync(lambda sync: command.upgrade(alembic_config(self.url, sync), "head"))
        except STORE_ERRORS as error:
            raise ValueError(self._unusable(error)) from error

    def _unusable(self, error: BaseException) -> str:
        url = make_url(self.url).set(query={}).render_as_string(hide_password=True)
        return f"The store {url} cannot be used: {describe_error(error)}. Check SHARDBOARD_DATABASE_URL."

    def separate_engine(self) -> AsyncEngine:
        """Return an engine without a pool, whose sessions may use any server."""
        return _create_engine(self.url, poolclass=NullPool)

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


def _engine(url: str) -> AsyncEngine:
    # On an overloaded machine all nodes are checked at the same time, and writers must still get a connection.
    return _create_engine(url, max_overflow=45, pool_timeout=60)


def _create_engine(url: str, **pool: Any) -> AsyncEngine:
    sqlite = _is_sqlite(url)
    address, arguments = (make_url(url), {}) if sqlite else postgres_url.split(make_url(url))
    engine = create_async_engine(
        address,
        pool_pre_ping=not sqlite,
        connect_args=dict(arguments),
        hide_parameters=True,  # parameters can contain passwords
        **pool,
    )
    if sqlite:
        event.listen(engine.sync_engine, "connect", _tune_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
        event.listen(engine.sync_engine, "invalidate", _end_sqlite)
    return engine


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
