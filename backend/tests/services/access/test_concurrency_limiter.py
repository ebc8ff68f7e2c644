"""Tests of the concurrency limit, of which one client network can use only a part."""

import asyncio

import pytest

from shardboard.errors import Unavailable
from shardboard.services.access.concurrency_limiter import ConcurrencyLimiter


async def test_concurrency_and_queue_of_one_network_are_limited() -> None:
    limiter, ended = ConcurrencyLimiter(places=3, of_one=2, waiting=4, waiting_of_one=2), asyncio.Event()
    inside: list[str] = []

    async def work(network: str) -> None:
        async with limiter.slot(network):
            inside.append(network)
            await ended.wait()

    tasks = [asyncio.create_task(work("a")) for _ in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await tasks[4]
    assert inside == ["a", "a"]
    other = asyncio.create_task(work("b"))
    await asyncio.sleep(0)
    assert inside == ["a", "a", "b"]
    ended.set()
    await asyncio.gather(*tasks[:4], other)
    assert inside == ["a", "a", "b", "a", "a"]


async def test_cancelled_waiter_does_not_block_others() -> None:
    limiter, ended = ConcurrencyLimiter(places=1, of_one=1, waiting=4, waiting_of_one=2), asyncio.Event()

    async def work(network: str) -> str:
        async with limiter.slot(network):
            await ended.wait()
        return network

    first = asyncio.create_task(work("a"))
    tasks = [asyncio.create_task(work(network)) for network in ("a", "b", "c")]
    await asyncio.sleep(0)
    for task in tasks[:2]:
        task.cancel()
    ended.set()
    assert (await first, await tasks[2]) == ("a", "c")
    assert await work("a") == "a"
