"""Batches are written one after another, and each item is written or fails."""

import asyncio
from collections.abc import Sequence

import pytest

from shardboard.kit.batches import Batches


class Writer:
    def __init__(self) -> None:
        self.permits = asyncio.Semaphore(0)
        """One for each write that may end."""
        self.batches: list[list[int]] = []
        self.error: Exception | None = None

    def allow(self, writes: int) -> None:
        for _ in range(writes):
            self.permits.release()

    async def write(self, items: Sequence[int]) -> None:
        self.batches.append([*items])
        await self.permits.acquire()
        if self.error is not None:
            raise self.error


async def start(batches: Batches[int], *items: int) -> list[asyncio.Task[None]]:
    """Return tasks that add these items, after each of them has run."""
    tasks = [asyncio.create_task(batches.add(item)) for item in items]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_items_that_arrive_during_a_write_are_written_together() -> None:
    writer = Writer()
    batches = Batches(writer.write)
    first = await start(batches, 1)
    others = await start(batches, 2, 3, 4)
    assert writer.batches == [[1]]
    writer.allow(3)
    await asyncio.gather(*first, *others)
    assert writer.batches == [[1], [2, 3, 4]]
    await batches.add(5)
    assert writer.batches[-1] == [5]


async def test_a_failure_concerns_all_items_of_the_batch_only() -> None:
    writer = Writer()
    batches = Batches(writer.write)
    first = await start(batches, 1)
    others = await start(batches, 2, 3)
    writer.allow(1)
    await asyncio.gather(*first)
    writer.error = OSError("no store")
    writer.allow(1)
    assert [str(each) for each in await asyncio.gather(*others, return_exceptions=True)] == ["no store"] * 2
    writer.error = None
    writer.allow(1)
    await batches.add(4)


async def test_items_of_a_cancelled_write_are_written_again() -> None:
    writer = Writer()
    batches = Batches(writer.write)
    first = await start(batches, 1)
    second, third = await start(batches, 2, 3)
    writer.allow(1)
    await asyncio.gather(*first)
    await start(batches)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    writer.allow(1)
    await third
    assert writer.batches == [[1], [2, 3], [3]]


async def test_the_lock_is_held_during_a_write() -> None:
    lock, writer = asyncio.Lock(), Writer()
    batches = Batches(writer.write, lock)
    await lock.acquire()
    tasks = await start(batches, 1, 2)
    assert writer.batches == []
    lock.release()
    writer.allow(1)
    await asyncio.gather(*tasks)
    assert writer.batches == [[1, 2]]
