"""Tests of which store errors are transient, with the errors that the store really raises."""

import errno

import asyncpg
import pytest
from sqlalchemy import exc, text

from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.AdminShutdownError("terminating connection"),
        asyncpg.DiskFullError("no space left"),
        asyncpg.DeadlockDetectedError("deadlock detected"),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("cannot switch to state 11; another operation (2) is in progress"),
        asyncpg.InvalidCachedStatementError("cached statement plan is invalid due to a database schema change"),
        ConnectionRefusedError(111, "Connection refused"),
        TimeoutError(),
        OSError(errno.ENOSPC, "No space left on device"),
        exc.TimeoutError("QueuePool limit"),
        exc.OperationalError("SELECT 1", {}, Exception("database is locked")),
        exc.DBAPIError("SELECT 1", {}, Exception("gone"), connection_invalidated=True),
    ],
)
def test_transient_errors(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("a mistake"),
        FileNotFoundError(2, "No such file"),
        PermissionError(13, "Permission denied"),
        asyncpg.UndefinedColumnError("column x does not exist"),
        asyncpg.exceptions._base.DataError("value out of int32 range"),
        exc.IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed")),
        exc.InvalidRequestError("a mistake"),
    ],
)
def test_permanent_errors(error: Exception) -> None:
    assert not is_transient(error)


@pytest.mark.store
@pytest.mark.parametrize("statement", ["SELECT nowhere FROM nodes", "SELEC 1", "SELECT * FROM nowhere"])
async def test_refused_statement_is_a_permanent_error(store: Store, statement: str) -> None:
    with pytest.raises(exc.DBAPIError) as error_info:
        async with store.begin() as session:
            await session.execute(text(statement))
    assert not is_transient(error_info.value)
    assert "nowhere" in describe_error(error_info.value) or "syntax" in describe_error(error_info.value)


@pytest.mark.store
async def test_value_out_of_range_is_a_permanent_error(store: Store) -> None:
    with pytest.raises(Exception) as error_info:  # noqa: PT011 - SQLite's driver raises OverflowError, asyncpg its own error
        async with store.begin() as session:
            await session.get(Node, 1 << 80)
    assert not is_transient(error_info.value)


@pytest.mark.store
async def test_held_lock_is_a_transient_error(store: Store) -> None:
    if store.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL supports concurrent writers")
    other = Store(store.url, store.bus)
    try:
        async with store.begin(), other.engine.connect() as connection:
            await connection.exec_driver_sql("ROLLBACK")
            await connection.exec_driver_sql("PRAGMA busy_timeout=0")
            with pytest.raises(exc.OperationalError) as error_info:
                await connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        await other.close()
    assert is_transient(error_info.value)
