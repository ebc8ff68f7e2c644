"""Tests that consoles record themselves, and that the leader records lost consoles."""

import asyncio

import pytest
from backend.tests.support.clock import Clock
from backend.tests.support.consoles.statements import prepare_statement
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.collectors.cluster import consoles as collector
from shardboard.collectors.cluster.consoles import ConsoleFacts, ConsolePresence, ConsoleWatch
from shardboard.domain.cluster.consoles import LOST_SECONDS, ConsoleStatus
from shardboard.kit.bus import Bus
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.transient_errors import is_transient

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


async def test_transactions_of_a_lost_console_are_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, their locks would block the other consoles until it is back."""
    if not store.is_shared:
        pytest.skip("a SQLite store has one console")
    monkeypatch.setattr(collector, "LOST_SECONDS", 0.0)
    clock = Clock()
    watch = ConsoleWatch(store, "b", clock)
    running = asyncio.create_task(presence(store).run())
    await wait_until(lambda: is_running(store))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    lost = Store(store.url, Bus(), console_id="a")
    with pytest.raises(STORE_ERRORS) as failure:
        await stop_in_transaction(lost, watch, clock)
    assert is_transient(failure.value)
    assert await status(store) == "lost"
    await lost.close()


async def stop_in_transaction(lost: Store, watch: ConsoleWatch, clock: Clock) -> None:
    async with lost.begin() as session:
        await session.execute(text("SELECT 1"))
        await prepare_statement(session)
        for _ in range(2):
            await watch.check()
            clock.now += 1
        await session.execute(text("SELECT 1"))
