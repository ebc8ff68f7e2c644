"""Copy a store in use to a SQLite file: one consistent state, whatever database the store uses."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import Integer, Table, delete, func, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncConnection

from shardboard.store import postgres_url
from shardboard.store.db import alembic_config, create_engine
from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.raw_rows import ENGINE_OPTIONS, fingerprint, key_of, opened, raw_tables, read_batch
from shardboard.store.store_copy import CopyError, Report


async def copy_to_sqlite(url: str, file: Path, report: Report) -> None:
    """Copy the store to a new file. The schema must be that of this release. Raises CopyError and STORE_ERRORS."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        _vacuum(Path(address.database or ""), file)
    else:
        await _copy_from_postgres(url, file, report)
    check(file)


def check(file: Path) -> None:
    """Raise CopyError unless the file is an intact SQLite database."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")  # one file instead of three
            problems = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    except sqlite3.DatabaseError as error:
        problems = [str(error)]
    if problems != ["ok"]:
        raise CopyError(f"The copy of the store is damaged: {problems[0]}.")


def count_rows(file: Path) -> tuple[int, int]:
    """Return the number of tables of a SQLite database, and of their rows."""
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = [name.replace('"', '""') for (name,) in connection.execute(query)]
        counts = [connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names]  # noqa: S608
    return len(counts), sum(counts)


def _vacuum(source: Path, file: Path) -> None:
    """Copy a SQLite store. Contents of deleted rows are left out, and consoles can write to the store at the same time."""
    try:
        with closing(sqlite3.connect(source, timeout=10)) as connection:
            connection.execute("VACUUM INTO ?", (str(file),))
    except sqlite3.Error as error:
        raise CopyError(f"The store could not be copied: {error}.") from error


async def _copy_from_postgres(url: str, file: Path, report: Report) -> None:
    connector = PostgresConnector(postgres_url.parse(make_url(url)), "backup")
    target_url = f"sqlite+aiosqlite:///{file}"
    async with (
        opened(
            create_engine(url, connector, {"command_timeout": None}, **ENGINE_OPTIONS),
            isolation_level="REPEATABLE READ",
            postgresql_readonly=True,
        ) as source,
        opened(create_engine(target_url, None, **ENGINE_OPTIONS)) as target,
    ):
        await target.run_sync(lambda connection: command.upgrade(alembic_config(target_url, connection), "head"))
        await target.commit()
        tables = raw_tables()
        for table in reversed(tables):
            await target.execute(delete(table))  # rows that revisions have inserted
        for table in tables:
            await _copy_table(source, target, table, report)
        await _copy_sequences(source, target, tables)
        await target.commit()


async def _copy_table(source: AsyncConnection, target: AsyncConnection, table: Table, report: Report) -> None:
    total, copied, key = (await source.execute(select(func.count()).select_from(table))).scalar_one(), 0, None
    while rows := await read_batch(source, table, key):
        await target.execute(insert(table), rows)
        key, copied = key_of(table, rows[-1]), copied + len(rows)
        report("Copied", table.name, copied, total)
    if await fingerprint(source, table) != await fingerprint(target, table):
        raise CopyError(f"The rows of the table {table.name} differ after the copy.")


async def _copy_sequences(source: AsyncConnection, target: AsyncConnection, tables: Sequence[Table]) -> None:
    """Continue the uids of the source, including those of deleted rows, if SQLite remembers them for the table."""
    counted = set(
        (await target.execute(text("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"))).scalars()
    )
    for table in tables:
        column = table.autoincrement_column
        if table.name not in counted or column is None or not isinstance(column.type, Integer):
            continue
        name: Any = (await source.execute(select(func.pg_get_serial_sequence(table.name, column.name)))).scalar_one()
        if name is None:
            continue
        last = (await source.execute(select(func.pg_sequence_last_value(text(f"'{name}'::regclass"))))).scalar()
        await target.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        query = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)")
        await target.execute(query, {"name": table.name, "seq": last or 0})
