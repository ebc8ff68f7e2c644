"""Copy a SQLite store to PostgreSQL.

Rows are copied in batches, in the order of the tables. A transaction of the target contains a batch and the progress, so a copy
that was killed continues after its last batch. At the end, both stores are compared by numbers of rows and checksums. Values are
copied as they are stored: encrypted columns stay encrypted, and JSON stays the same text.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alembic import command
from sqlalchemy import (
    Connection,
    Integer,
    Table,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from shardboard.store import copy_marker, postgres_url
from shardboard.store.copy_marker import SOURCE, TARGET, marker
from shardboard.store.db import alembic_config, create_engine, newest_revision
from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.raw_rows import ENGINE_OPTIONS, fingerprint, key_of, opened, raw_tables, read_batch
from shardboard.store.server_check import READ_ONLY
from shardboard.store.transient_errors import describe_error, is_transient

OLDEST_VERSION = 14


class CopyError(Exception):
    """The copy is impossible. The message is a sentence."""


@dataclass(frozen=True)
class Summary:
    """Result of a copy."""

    tables: int
    rows: int
    target: str


Report = Callable[[str, str, int, int], None]
"""Receives an activity, the name of a table, the rows that are done, and all rows."""


async def copy_store(source_url: str, target_url: str, console_id: str, lock_key: int, report: Report) -> Summary:
    """Copy the store, or continue an unfinished copy of the same console. Raises CopyError and STORE_ERRORS.

    `lock_key` is the key of the advisory lock that excludes consoles.
    """
    connector = PostgresConnector(postgres_url.parse(make_url(target_url)), console_id)
    async with (
        opened(create_engine(source_url, None, **ENGINE_OPTIONS), write=True) as source,
        opened(create_engine(target_url, connector, {"command_timeout": None}, **ENGINE_OPTIONS)) as target,
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


def _require_current_source(connection: Connection) -> str | None:
    """Return the target to which the store was moved, if it was."""
    version = None
    if inspect(connection).has_table("alembic_version"):
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version != newest_revision():
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
        self.tables = raw_tables()
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
            expected = await fingerprint(self._source, table)
            if await fingerprint(self._target, table) != expected:
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
        while rows := await read_batch(self._source, table, json.loads(key) if key else None):
            key, copied = json.dumps(key_of(table, rows[-1])), copied + len(rows)
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
