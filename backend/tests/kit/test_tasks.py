"""Tests of tasks that are identified by a key."""

import asyncio

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.kit.tasks import Tasks, run_concurrently


async def forever() -> None:
    await asyncio.Event().wait()


async def immediately() -> None: ...


async def failing() -> None:
    raise OSError("no store")


async def test_only_one_task_per_key() -> None:
    tasks: Tasks[int] = Tasks()
    async with tasks.cancelled_at_exit():
        tasks.start(1, forever())
        tasks.start(2, forever())
        with pytest.raises(ValueError, match="a task for 1 already exists"):
            tasks.start(1, forever())
        assert list(tasks) == [1, 2]


@pytest.mark.parametrize("work", [immediately, failing])
async def test_ended_task_is_removed(work: type[asyncio.Task[None]]) -> None:
    tasks: Tasks[str] = Tasks()
    task = tasks.start("a", work())
    await asyncio.wait([task])
    await wait_until(lambda: "a" not in tasks)


async def test_end_of_a_cancelled_task_keeps_its_successor() -> None:
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


async def test_ending_cancels_all_tasks_and_waits_for_them() -> None:
    tasks: Tasks[int] = Tasks()
    tidied = asyncio.Event()

    async def tidying() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.01)
            tidied.set()

    async with tasks.cancelled_at_exit():
        task = tasks.start(1, tidying())
        await asyncio.sleep(0)
    assert len(tasks) == 0
    assert task.cancelled()
    assert tidied.is_set()


async def test_first_failure_cancels_the_other_tasks_and_timeouts_still_work() -> None:
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await forever()
        finally:
            ended.set()

    with pytest.raises(OSError, match="no store"):
        await run_concurrently([endless(), failing()])
    assert ended.is_set()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await run_concurrently([forever(), immediately()])
    await run_concurrently([immediately(), immediately()])


async def test_concurrent_tasks_are_limited_and_return_their_results_in_order() -> None:
    running = peak = 0

    async def work(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    assert await run_concurrently(map(work, range(10)), limit=3) == [*range(10)]
    assert peak == 3
    with pytest.raises(OSError, match="no store"):
        await run_concurrently([failing(), forever(), forever()], limit=1)
