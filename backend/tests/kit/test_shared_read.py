"""Tests of reads that several tasks share."""

import asyncio

from shardboard.kit.shared_read import SharedRead


class Reads:
    """A read that waits until the test lets it end."""

    def __init__(self) -> None:
        self.count = 0
        self.open = asyncio.Event()

    async def __call__(self) -> int:
        self.count += 1
        number = self.count
        await self.open.wait()
        return number


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_tasks_that_wait_at_the_same_time_share_a_read() -> None:
    shared = SharedRead(reads := Reads())
    tasks = [asyncio.create_task(shared.get()) for _ in range(100)]
    await turns()
    reads.open.set()
    assert await asyncio.gather(*tasks) == [1] * 100


async def test_read_that_has_started_is_not_used_for_later_calls() -> None:
    shared = SharedRead(reads := Reads())
    first = asyncio.create_task(shared.get())
    await turns()
    later = [asyncio.create_task(shared.get()) for _ in range(10)]
    await turns()
    assert reads.count == 1, "one read at a time"
    reads.open.set()
    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 10
    assert await shared.get() == 3


async def test_cancelled_task_does_not_cancel_the_read() -> None:
    shared = SharedRead(reads := Reads())
    cancelled, other = (asyncio.create_task(shared.get()) for _ in range(2))
    await turns()
    cancelled.cancel()
    await turns()
    reads.open.set()
    assert await other == 1


async def test_closed_read_is_cancelled() -> None:
    shared = SharedRead(reads := Reads())
    first = asyncio.create_task(shared.get())
    await turns()
    waiting = asyncio.create_task(shared.get())
    await turns()
    await shared.close()
    results = await asyncio.gather(first, waiting, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in results)
    assert reads.count == 1
    again = asyncio.create_task(shared.get())
    await turns()
    assert reads.count == 2
    again.cancel()
    await shared.close()


async def test_failure_is_raised_in_all_tasks_and_the_next_read_is_independent() -> None:
    attempts = []

    async def fail_once() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("the store is unavailable")
        return "read"

    shared = SharedRead(fail_once)
    results = await asyncio.gather(shared.get(), shared.get(), return_exceptions=True)
    assert [str(each) for each in results] == ["the store is unavailable"] * 2
    assert await shared.get() == "read"
