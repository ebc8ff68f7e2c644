"""Tasks by key."""

import asyncio

import pytest
from backend.tests.shards import until

from shardboard.tasks import Tasks, together


async def forever() -> None:
    await asyncio.Event().wait()


async def at_once() -> None: ...


async def failing() -> None:
    raise OSError("no store")


async def test_one_per_key() -> None:
    tasks: Tasks[int] = Tasks()
    async with tasks.ending():
        tasks.start(1, forever())
        tasks.start(2, forever())
        with pytest.raises(ValueError, match="a task for 1 already exists"):
            tasks.start(1, forever())
        assert list(tasks) == [1, 2]


@pytest.mark.parametrize("work", [at_once, failing])
async def test_one_that_ends_is_forgotten(work: type[asyncio.Task[None]]) -> None:
    tasks: Tasks[str] = Tasks()
    ended = tasks.start("a", work())
    await asyncio.wait([ended])
    await until(lambda: "a" not in tasks)


async def test_the_end_of_a_cancelled_one_does_not_forget_its_successor() -> None:
    tasks: Tasks[int] = Tasks()
    first = tasks.start(1, forever())
    tasks.cancel(1)
    second = tasks.start(1, forever())
    await asyncio.wait([first])
    await asyncio.sleep(0)
    assert 1 in tasks
    assert not second.done()
    tasks.cancel(1)
    tasks.cancel(1)


async def test_a_loop_that_is_run_again_starts_with_none() -> None:
    tasks: Tasks[int] = Tasks()
    tidied = asyncio.Event()

    async def tidying() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.01)
            tidied.set()

    async with tasks.ending():
        one = tasks.start(1, tidying())
        await asyncio.sleep(0)
    assert len(tasks) == 0
    assert one.cancelled()
    assert tidied.is_set()


async def test_together_the_first_failure_ends_the_others_and_later_timeouts_work() -> None:
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await forever()
        finally:
            ended.set()

    with pytest.raises(OSError, match="no store"):
        await together([endless(), failing()])
    assert ended.is_set()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await together([forever(), at_once()])
    await together([at_once(), at_once()])
