"""Rows as a database stores them, for copies to another database: encrypted columns stay encrypted, JSON stays the same text."""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, MetaData, NullPool, Table, TypeDecorator, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.types import TypeEngine

from shardboard.store.db import Base, UtcDateTime

BATCH_ROWS = 500


def _same(value: Any) -> Any:
    return value


ENGINE_OPTIONS: Mapping[str, Any] = {"poolclass": NullPool, "json_serializer": _same, "json_deserializer": _same}
"""Options of engines that read and write JSON as text."""


@dataclass(frozen=True)
class Fingerprint:
    rows: int
    checksum: int


def raw_tables() -> list[Table]:
    """Return all tables with the types of the stored values. A table follows those to which it refers."""
    return [_raw(table) for table in Base.metadata.sorted_tables]


@asynccontextmanager
async def opened(engine: AsyncEngine, **options: Any) -> AsyncIterator[AsyncConnection]:
    """Yield a connection with these execution options, and dispose of the engine. With `write`, other processes cannot write to
    SQLite until the transaction of the connection ends.
    """
    try:
        async with engine.connect() as connection:
            if options:
                await connection.execution_options(**options)
            yield connection
    finally:
        await engine.dispose()


async def read_batch(connection: AsyncConnection, table: Table, after: Sequence[Any] | None) -> list[dict[str, Any]]:
    """Return the next rows in the order of the primary key, after the row with that key."""
    primary_key = list(table.primary_key.columns)
    query = select(table).order_by(*primary_key).limit(BATCH_ROWS)
    if after is not None:
        query = query.where(tuple_(*primary_key) > tuple_(*after, types=[column.type for column in primary_key]))
    return [dict(row) for row in (await connection.execute(query)).mappings()]


def key_of(table: Table, row: Mapping[str, Any]) -> list[Any]:
    """Return the primary key of a row."""
    return [row[column.name] for column in table.primary_key.columns]


async def fingerprint(connection: AsyncConnection, table: Table) -> Fingerprint:
    """Return number and checksum of the rows, independent of their order: databases sort texts differently."""
    rows, checksum = 0, 0
    async with connection.stream(select(table)) as result:
        async for row in result:
            rows += 1
            digest = hashlib.sha256(repr([_canonical(value) for value in row]).encode()).digest()
            checksum = (checksum + int.from_bytes(digest, "big")) % (1 << 256)
    return Fingerprint(rows, checksum)


def _canonical(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _raw(table: Table) -> Table:
    columns: list[Column[Any]] = [
        Column(column.name, _raw_type(column.type), primary_key=column.primary_key, autoincrement=column.autoincrement)
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns)


def _raw_type(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """Return the type of the stored values, without encryption and other conversions."""
    if isinstance(type_, TypeDecorator) and not isinstance(type_, UtcDateTime):
        return type_.impl_instance
    return type_
