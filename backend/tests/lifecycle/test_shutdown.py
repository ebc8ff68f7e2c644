"""Tests of the limit of the time in which the console ends."""

import asyncio
from contextlib import suppress

import pytest

from shardboard.lifecycle import shutdown


async def wait_for(released: asyncio.Event) -> None:
    while not released.is_set():
        with suppress(asyncio.CancelledError):
            await released.wait()


async def test_tasks_that_do_not_end_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    released, ended = asyncio.Event(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(wait_for(released), name="lead")
    await asyncio.sleep(0)
    task.cancel()
    shutdown.limit(0.01, ended.set_result)
    assert await ended == shutdown.FAILURE
    [line] = [record.getMessage() for record in caplog.records if "lead" in record.getMessage()]
    assert line.startswith("shutdown: task lead has not ended after 0.01 s: wait_for:")
    assert "> Event.wait:" in line
    released.set()
    await task
