"""A loop survives a store that is away for a moment; any other failure ends it, and the console with it."""

import asyncio

import asyncpg
import pytest
from sqlalchemy.exc import OperationalError

from shardboard import app


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.CannotConnectNowError("the database system is starting up"),
        asyncpg.InterfaceError("connection is closed"),
        ConnectionRefusedError(111, "Connection refused"),
        OperationalError("SELECT 1", {}, Exception("database is locked")),
    ],
)
async def test_it_starts_again(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_: float) -> None:
        return

    monkeypatch.setattr(asyncio, "sleep", at_once)
    runs = 0

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise error

    await app._kept_running(loop)
    assert runs == 3


async def test_a_mistake_ends_it() -> None:
    async def loop() -> None:
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        await app._kept_running(loop)
