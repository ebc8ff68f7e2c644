"""Tests that consoles record themselves, and that the leader records lost consoles."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import inf

import pytest
from backend.tests.support.clock import Clock
from backend.tests.support.consoles.statements import prepare_statement
from backend.tests.support.real_shards import wait_until
from sqlalchemy import delete, text

from shardboard.collectors.cluster import consoles as collector
from shardboard.collectors.cluster.consoles import ConsoleFacts, ConsolePresence, ConsoleWatch
from shardboard.domain.cluster.agent_reach import COOL_DOWN_SECONDS, HOLD_SECONDS, ReachComparison
from shardboard.domain.cluster.consoles import LOST_SECONDS, ConsoleStatus, LeaderChange
from shardboard.domain.cluster.store_delay import CLEAR_SECONDS, RAISE_SECONDS, SLOW_MS
from shardboard.kit.bus import Bus
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.state.cluster.consoles import ConsoleRow
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.transient_errors import is_transient

pytestmark = pytest.mark.store

FACTS = ConsoleFacts("a", "a.example.org", "https://a.example.org:9443", "1.0")
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "SEEN_SECONDS", 0.02)
    monkeypatch.setattr(collector, "SINGLE_SEEN_SECONDS", 0.02)


def presence(store: Store) -> ConsolePresence:
    return ConsolePresence(store, FACTS, lambda: 0.0025, lambda: 3)


class Leader:
    """A console that leads and watches the others. `successors` are those to which it has handed over."""

    def __init__(self, store: Store, console_id: str) -> None:
        self.clock = Clock()
        self.agents_reached = 3
        self.successors: list[tuple[str, LeaderChange]] = []
        self.watch = ConsoleWatch(store, console_id, lambda: self.agents_reached, self.hand_over, self.clock)

    async def hand_over(self, successor: str, reason: LeaderChange) -> None:
        self.successors.append((successor, reason))


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
    leader = Leader(store, "b")
    watch, clock = leader.watch, leader.clock
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
    leader = Leader(store, "a")
    watch, clock = leader.watch, leader.clock
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
    leader, console = Leader(store, "b"), presence(store)
    watch, clock = leader.watch, leader.clock
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


async def report(store: Store, uid: str, agents_reached: int, number: int) -> None:
    """Record the sign of life with this number of another console."""
    async with store.begin() as session:
        if (row := await consoles.by_uid(session, uid)) is None:
            row = ConsoleRow(uid=uid, host=f"{uid}.example.org", address="", version="1.0", status="running")
            row.started_at, row.store_delay_ms = START, None
            session.add(row)
        row.agents_reached, row.seen_at = agents_reached, START + timedelta(seconds=number)


async def start_tenure(store: Store, reason: LeaderChange) -> None:
    async with store.begin() as session:
        await session.execute(delete(consoles.Leadership))
        session.add(
            consoles.Leadership(
                uid=1,
                term=1,
                console_id="a",
                renewals=0,
                released=False,
                successor=None,
                acquired_at=START,
                reason=reason,
            )
        )


async def seconds_until_change(store: Store, leader: Leader, others: Mapping[str, int], limit: float) -> float:
    """Return how long the leader keeps the lease while others reach so many agents; infinite if longer than `limit`."""
    start = leader.clock.now
    leader.watch._comparison = ReachComparison(start, await leader.watch._record_change())
    for number in range(int(limit)):
        for uid, reached in others.items():
            await report(store, uid, reached, number)
        await leader.watch.check()
        if leader.successors:
            return leader.clock.now - start
        leader.clock.now += 1
    return inf


async def test_the_leader_hands_over_to_a_console_that_reaches_more_agents(store: Store) -> None:
    leader = Leader(store, "a")
    leader.agents_reached = 1
    await start_tenure(store, LeaderChange.STARTED)
    assert await seconds_until_change(store, leader, {"b": 2, "c": 3}, 20) == HOLD_SECONDS
    assert leader.successors == [("c", LeaderChange.MORE_AGENTS)]
    async with store.read() as session:
        [event] = await events.list_since(session, "leader_change_requested", START)
    assert event.description == (
        "Console c.example.org should become the leader: it reaches 3 agents, and the leader reaches 1."
    )
    assert event.details == {"console": "c", "host": "c.example.org", "agents": 3, "leader_agents": 1}


async def test_the_leader_stays_if_no_other_console_reaches_more_agents(store: Store) -> None:
    leader = Leader(store, "a")
    assert await seconds_until_change(store, leader, {"b": 3, "c": 2}, 3 * HOLD_SECONDS) == inf


async def test_a_console_that_no_longer_reports_does_not_become_the_leader(store: Store) -> None:
    leader = Leader(store, "a")
    leader.agents_reached = 0
    await report(store, "b", 3, 0)
    assert await seconds_until_change(store, leader, {}, 3 * HOLD_SECONDS) == inf
    assert await recorded(store, events.CONSOLE_LOST) == 1


async def test_a_new_leader_stays_for_some_time(store: Store) -> None:
    """Otherwise, two consoles could hand over to each other again and again."""
    await start_tenure(store, LeaderChange.MORE_AGENTS)
    for factor in (1, 2):
        leader = Leader(store, "a")
        leader.agents_reached = 0
        assert await seconds_until_change(store, leader, {"b": 3}, 150) == factor * COOL_DOWN_SECONDS
    async with store.read() as session:
        changes = await events.list_since(session, "leader_changed", START)
    assert [change.details["reason"] for change in changes] == ["more_agents"] * 2
    assert "it reaches more agents than the former leader" in changes[0].description


async def test_a_console_reports_how_many_agents_it_reaches(store: Store) -> None:
    running = asyncio.create_task(presence(store).run())

    async def has_reported() -> bool:
        async with store.read() as session:
            row = await consoles.by_uid(session, "a")
        return row is not None and row.agents_reached == 3

    await wait_until(has_reported)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_slow_queries_of_a_console_raise_an_alarm(store: Store) -> None:
    """The next leader ends the alarm. The single console of a SQLite file has none."""
    leader, number = Leader(store, "a"), 0

    async def check(seconds: float, delay: float) -> list[str]:
        nonlocal number
        number += 1
        await report(store, "b", 3, number)
        async with store.begin() as session:
            row = await consoles.by_uid(session, "b")
            assert row is not None
            row.store_delay_ms = delay
        leader.clock.now += seconds
        await leader.watch.check()
        async with store.read() as session:
            return [each.details["host"] for each in await events.list_open_spans(session, events.CONSOLE_STORE_SLOW)]

    assert await check(1.0, SLOW_MS + 1) == []
    assert await check(RAISE_SECONDS, SLOW_MS + 1) == (["b.example.org"] if store.is_shared else [])
    leader = Leader(store, "a")
    await check(0.0, 1.0)
    assert await check(CLEAR_SECONDS, 1.0) == []
    assert await recorded(store, events.CONSOLE_STORE_SLOW) == (1 if store.is_shared else 0)


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
    leader = Leader(store, "b")
    watch, clock = leader.watch, leader.clock
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
