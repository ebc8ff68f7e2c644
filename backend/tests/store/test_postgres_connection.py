"""Tests of connections to PostgreSQL that are aborted while they are being opened."""

import asyncio
import gc
from typing import Any

from sqlalchemy import make_url

from shardboard.store.postgres_connection import PostgresConnector
from shardboard.store.postgres_url import parse

STEPS = 40
"""More steps of the event loop than a connection needs until the server must respond."""


async def test_connections_that_are_cancelled_at_any_step_report_no_error() -> None:
    """The task is cancelled before it waits for the result of the part that fails."""
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connector = PostgresConnector(parse(make_url(f"postgresql+asyncpg://user:x@127.0.0.1:{port}/store")), "test")
    for steps in range(STEPS):
        task = asyncio.create_task(connector.connect())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
    server.close()
    del task
    gc.collect()
    assert reports == []
