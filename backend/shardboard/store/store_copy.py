"""Copy a SQLite store to PostgreSQL.

Rows are copied in batches, in the order of the tables. A transaction of the target contains a batch and the progress, so a copy
that was killed continues after its last batch. At the end, both stores are compared by numbers of rows and checksums. Values are
copied as they are stored: encrypted columns stay encrypted, and JSON stays the same text.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    NullPool,
    Table,
    TypeDecorator,
    func,
    insert,
    inspect,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.types import TypeEngine

from shardboard.store import copy_marker, postgres_url
from shardboard.store.copy_marker import SOURCE, TARGET, marker
from shardboard.store.db import Base, UtcDateTime, alembic_config, create_engine
from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.server_check import READ_ONLY
from shardboard.store.transient_errors import describe_error, is_transient

BATCH_ROWS = 500
OLDEST_VERSION = 14


class CopyError(Exception):
    """The copy is impossible. The message is a sentence."""


@dataclass(frozen=True)
class Summary:
    """Result of a copy."""

    tables: int
    rows: int
    target: str


@dataclass(frozen=True)
class _Fingerprint:
    rows: int
    checksum: int


Report = Callable[[str, str, int, int], None]
"""Receives an activity, the name of a table, the rows that are done, and all rows."""


async def copy_store(source_url: str, target_url: str, console_id: str, lock_key: int, report: Report) -> Summary:
    """Copy the store, or continue an unfinished copy of the same console. Raises CopyError and STORE_ERRORS.

    `lock_key` is the key of the advisory lock that excludes consoles.
    """
    connector = PostgresConnector(postgres_url.parse(make_url(target_url)), console_id)
    async with (
        _opened(create_engine(source_url, None, **_RAW), write=True) as source,
        _opened(create_engine(target_url, connector, {"command_timeout": None}, **_RAW)) as target,
    ):
        moved_to = await source.run_sync(_require_current_source)
        await _lock(target, lock_key)
        resumed = await _prepare(target, target_url, console_id, moved_to)
        copy = _StoreCopy(source, target, report)
        rows = await copy.run(resumed)
        # From here on, no console uses the source; afterwards, consoles may use the target.
        await source.run_sync(copy_marker.write, TARGET, connector.url.description)
        await source.commit()
        await target.run_sync(marker.drop)
        await target.commit()
    return Summary(len(copy.tables), rows, connector.url.description)


def _same(value: Any) -> Any:
    return value


_RAW: Mapping[str, Any] = {"poolclass": NullPool, "json_serializer": _same, "json_deserializer": _same}
"""Options of engines that read and write JSON as text."""


@asynccontextmanager
async def _opened(engine: AsyncEngine, *, write: bool = False) -> AsyncIterator[AsyncConnection]:
    """Yield a connection. With `write`, other processes cannot write to SQLite until its transaction ends."""
    try:
        async with engine.connect() as connection:
            if write:
                await connection.execution_options(write=True)
            yield connection
    finally:
        await engine.dispose()


def _require_current_source(connection: Connection) -> str | None:
    """Return the target to which the store was moved, if it was."""
    head = ScriptDirectory.from_config(alembic_config("")).get_current_head()
    version = None
    if inspect(connection).has_table("alembic_version"):
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version != head:
        raise CopyError(
            "The SQLite store has the schema of another release. Start the console of this release once, and stop it."
        )
    return copy_marker.read(connection, TARGET)


async def _lock(target: AsyncConnection, key: int) -> None:
    """Exclude consoles until the session ends. The lock belongs to the session that writes."""
    if (await target.execute(text(f"SELECT {READ_ONLY}"))).scalar():
        raise CopyError("The PostgreSQL server is read-only. Use the primary.")
    if int((await target.execute(text("SHOW server_version_num"))).scalar_one()) < OLDEST_VERSION * 10_000:
        raise CopyError(f"PostgreSQL {OLDEST_VERSION} or later is required.")
    if not (await target.execute(select(func.pg_try_advisory_lock(key)))).scalar():
        raise CopyError("A console or another copy is using the PostgreSQL database. Stop it.")
    await target.commit()


async def _prepare(target: AsyncConnection, target_url: str, console_id: str, moved_to: str | None) -> bool:
    """Mark an empty target and create its tables. Return whether it contains an unfinished copy of the same console."""
    tables = await target.run_sync(lambda connection: inspect(connection).get_table_names())
    owner = await target.run_sync(copy_marker.read, SOURCE)
    if moved_to is not None and owner != console_id:
        raise CopyError(f"The SQLite store was already moved to {moved_to}.")
    if tables and owner != console_id:
        state = "contains tables" if owner is None else "contains an unfinished copy of another store"
        raise CopyError(f"The PostgreSQL database {state}. Create an empty database.")
    if not tables:
        await target.run_sync(copy_marker.write, SOURCE, console_id)
    await target.commit()
    await target.run_sync(lambda connection: command.upgrade(alembic_config(target_url, connection), "head"))
    await target.commit()
    progress = (await target.execute(select(func.count()).select_from(marker))).scalar_one()
    return bool(progress > 1)


class _StoreCopy:
    def __init__(self, source: AsyncConnection, target: AsyncConnection, report: Report) -> None:
        self.tables = [_raw(table) for table in Base.metadata.sorted_tables]
        self._source, self._target, self._report = source, target, report

    async def run(self, resumed: bool) -> int:
        """Copy all rows and compare the stores. Return the number of rows. A resumed copy whose source has changed since starts
        again.
        """
        if not resumed:
            await self._clear()
        try:
            return await self._copy_and_verify()
        except (IntegrityError, CopyError):
            if not resumed:
                raise
        await self._target.rollback()
        await self._clear()
        return await self._copy_and_verify()

    async def _clear(self) -> None:
        """Remove all rows, also those that revisions have inserted."""
        names = ", ".join(self._target.dialect.identifier_preparer.format_table(table) for table in self.tables)
        await self._target.execute(text(f"TRUNCATE {names}"))
        await self._target.execute(marker.delete().where(marker.c.name != SOURCE))
        await self._target.execute(insert(marker), [{"name": table.name} for table in self.tables])
        await self._target.commit()

    async def _copy_and_verify(self) -> int:
        for table in self.tables:
            await self._copy(table)
        rows = 0
        for table in self.tables:
            await self._set_sequence(table)
            await self._target.commit()  # PostgreSQL ends transactions that are idle while SQLite is read
            expected = await self._fingerprint(self._source, table)
            if await self._fingerprint(self._target, table) != expected:
                raise CopyError(
                    f"The rows of the table {table.name} differ after the copy. The SQLite store is unchanged."
                )
            rows += expected.rows
            await self._target.commit()
            self._report("Verified", table.name, expected.rows, expected.rows)
        return rows

    async def _copy(self, table: Table) -> None:
        query = select(marker.c.value, marker.c.copied).where(marker.c.name == table.name)
        key, copied = (await self._target.execute(query)).one_or_none() or (None, 0)
        await self._target.commit()
        total = (await self._source.execute(select(func.count()).select_from(table))).scalar_one()
        primary_key = list(table.primary_key.columns)
        while rows := await self._batch(table, json.loads(key) if key else None):
            key, copied = json.dumps([rows[-1][column.name] for column in primary_key]), copied + len(rows)
            await self._insert(table, rows)
            done = update(marker).where(marker.c.name == table.name).values(value=key, copied=copied)
            await self._target.execute(done)
            await self._target.commit()
            self._report("Copied", table.name, copied, total)

    async def _insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        try:
            await self._target.execute(insert(table), rows)
        except DBAPIError as error:
            if isinstance(error, IntegrityError) or is_transient(error):
                raise
            message = f"PostgreSQL rejected rows of the table {table.name}: {describe_error(error)}."
            raise CopyError(message) from error

    async def _batch(self, table: Table, after: Sequence[Any] | None) -> list[dict[str, Any]]:
        primary_key = list(table.primary_key.columns)
        query = select(table).order_by(*primary_key).limit(BATCH_ROWS)
        if after is not None:
            query = query.where(tuple_(*primary_key) > tuple_(*after, types=[column.type for column in primary_key]))
        return [dict(row) for row in (await self._source.execute(query)).mappings()]

    async def _set_sequence(self, table: Table) -> None:
        """Continue the uids of the source, including those of deleted rows if SQLite never uses them again."""
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            return
        sequence = (
            await self._target.execute(select(func.pg_get_serial_sequence(table.name, column.name)))
        ).scalar_one()
        if sequence is None:
            return
        highest = (await self._source.execute(select(func.max(column)))).scalar() or 0
        if await self._source.run_sync(lambda connection: inspect(connection).has_table("sqlite_sequence")):
            query = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
            highest = max(highest, (await self._source.execute(query, {"name": table.name})).scalar() or 0)
        await self._target.execute(select(func.setval(sequence, max(highest, 1), highest > 0)))

    async def _fingerprint(self, connection: AsyncConnection, table: Table) -> _Fingerprint:
        """Return number and checksum of the rows, independent of their order: databases sort texts differently."""
        rows, checksum = 0, 0
        async with connection.stream(select(table)) as result:
            async for row in result:
                rows += 1
                digest = hashlib.sha256(repr([_canonical(value) for value in row]).encode()).digest()
                checksum = (checksum + int.from_bytes(digest, "big")) % (1 << 256)
        return _Fingerprint(rows, checksum)


def _canonical(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _raw(table: Table) -> Table:
    """Return the table with the types of the stored values, without encryption and other conversions."""
    columns: list[Column[Any]] = [
        Column(column.name, _raw_type(column.type), primary_key=column.primary_key, autoincrement=column.autoincrement)
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns)


def _raw_type(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    if isinstance(type_, TypeDecorator) and not isinstance(type_, UtcDateTime):
        return type_.impl_instance
    return type_
