"""Tests that consoles record themselves, and that the leader records lost consoles."""

import asyncio

import pytest
from backend.tests.support.clock import Clock
from backend.tests.support.real_shards import wait_until

from shardboard.collectors.cluster import consoles as collector
from shardboard.collectors.cluster.consoles import ConsoleFacts, ConsolePresence, ConsoleWatch
from shardboard.domain.cluster.consoles import LOST_SECONDS, ConsoleStatus
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.store.db import Store

pytestmark = pytest.mark.store

FACTS = ConsoleFacts("a", "a.example.org", "https://a.example.org:9443", "1.0")


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "SEEN_SECONDS", 0.02)
    monkeypatch.setattr(collector, "SINGLE_SEEN_SECONDS", 0.02)


def presence(store: Store) -> ConsolePresence:
    return ConsolePresence(store, FACTS, lambda: 0.0025)


async def status(store: Store) -> str | None:
    async with store.read() as session:
        row = await consoles.by_uid(session, "a")
    return row.status if row is not None else None


async def is_running(store: Store) -> bool:
    return await status(store) == ConsoleStatus.RUNNING


async def recorded(store: Store, type_: str) -> int:
    async with store.read() as session:
        return sum(event.type == type_ for event in await events.page(session, newest_first=False))


async def test_a_lost_console_raises_an_alarm_until_it_is_back(store: Store) -> None:
    clock = Clock()
    watch = ConsoleWatch(store, "b", clock)
    running = asyncio.create_task(presence(store).run())
    await wait_until(lambda: is_running(store))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for seconds, expected in ((0.0, "running"), (LOST_SECONDS, "running"), (0.1, "lost")):
        clock.now += seconds
        await watch.check()
        assert await status(store) == expected
    async with store.read() as session:
        [alarm] = await events.list_open_spans(session, events.CONSOLE_LOST)
    assert alarm.details["host"] == "a.example.org"
    running = asyncio.create_task(presence(store).run())
    await wait_until(lambda: is_running(store))
    async with store.read() as session:
        assert not await events.list_open_spans(session, events.CONSOLE_LOST)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await recorded(store, "console_joined") == (2 if store.is_shared else 0)


async def test_the_leader_is_never_lost(store: Store) -> None:
    """Its row is written rarely if the store is a SQLite file."""
    clock = Clock()
    watch = ConsoleWatch(store, "a", clock)
    running = asyncio.create_task(presence(store).run())
    await wait_until(lambda: is_running(store))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for _ in range(2):
        await watch.check()
        clock.now += 2 * LOST_SECONDS
    assert await is_running(store)
    assert not await recorded(store, events.CONSOLE_LOST)


async def test_a_stopped_console_is_not_lost(store: Store) -> None:
    clock = Clock()
    watch, console = ConsoleWatch(store, "b", clock), presence(store)
    running = asyncio.create_task(console.run())
    await wait_until(lambda: is_running(store))
    await watch.check()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await console.record_stop()
    clock.now += 2 * LOST_SECONDS
    await watch.check()
    assert await status(store) == ConsoleStatus.STOPPED
    assert not await recorded(store, events.CONSOLE_LOST)


async def test_a_removed_console_that_still_runs_is_listed_again(store: Store) -> None:
    running = asyncio.create_task(presence(store).run())
    await wait_until(lambda: is_running(store))
    async with store.begin() as session:
        await session.delete(await consoles.by_uid(session, "a"))
    await wait_until(lambda: is_running(store))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
