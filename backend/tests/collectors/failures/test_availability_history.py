"""The counted time of each database is stored by month, and each second counts once."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.support import active_database

from shardboard.collectors.failures.availability_history import AvailabilityCollector
from shardboard.collectors.metrics.service_seconds import ServiceSeconds
from shardboard.console import Console
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.failures.availability_history import (
    FINAL_SECONDS,
    SETTLED_SECONDS,
    ServiceSecond,
    ServiceState,
)
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.failures import availability_history
from shardboard.state.failures.outages import Outage

pytestmark = pytest.mark.store

NOVEMBER = round(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
T = NOVEMBER + 86_400
USED = ServiceState.USED


class Counting:
    """Database 1, a console whose clock the test controls, and the seconds that its samples show."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.now = T
        self.start()

    def start(self) -> None:
        """Start a console, which knows no seconds yet."""
        self.service = ServiceSeconds()
        self.collector = AvailabilityCollector(self.console.store, self.service, lambda: self.now)

    def observe(self, *seconds: int, state: ServiceState = USED, has_endpoint: bool = True) -> None:
        """Add complete seconds, relative to T."""
        for t in seconds:
            endpoints: set[tuple[int, int]] = {(1, 1)} if has_endpoint else set()
            self.service.seconds[T + t] = ServiceSecond({1: state}, {1: 0}, endpoints)

    async def count(self, now: int) -> None:
        self.now = T + now
        await self.collector.step()

    async def figures(self) -> list[tuple[str, int, float, float, float]]:
        """Return month, end of the counted time relative to T, and seconds served, failed, and unknown."""
        async with self.console.store.read() as session:
            rows = await availability_history.list_for_bdb(session, 1)
        return [
            (row.month, row.counted_until - T, row.served_ms / 1000, row.failed_ms / 1000, row.unknown_ms / 1000)
            for row in rows
        ]

    async def add_outage(self, last: float, first: float | None, **values: Any) -> None:
        """Add an outage of a primary, in seconds relative to T."""
        noticed = round((T + last) * 1000) + 50
        times = {"noticed_ms": noticed, "noticed_at": datetime.fromtimestamp(noticed / 1000, UTC)}
        times |= {"last_success_ms": round((T + last) * 1000)}
        times |= {"first_success_ms": None if first is None else round((T + first) * 1000)}
        defaults = {"bdb_uid": 1, "reported_by": 1, "address": "10.0.0.2", "port": 20000, "slots": "0-1", "waited": 0}
        defaults |= {"failed": 0, "lost": 0, "is_exact": True, "ahead_ms": 0}
        async with self.console.store.begin() as session:
            session.add(Outage(**(defaults | times | values)))


@pytest.fixture
async def counting(console: Console, agents: FakeAgents, nodes: list[Node]) -> Counting:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).created_at = datetime.fromtimestamp(T - 60, UTC)
    counting = Counting(console)
    await counting.count(0)
    assert await counting.figures() == [("2026-11", 0, 0, 0, 0)], "time before is not counted"
    return counting


async def test_seconds_are_added_once(counting: Counting) -> None:
    counting.observe(*range(20))
    await counting.count(10)
    await counting.count(10)
    assert await counting.figures() == [("2026-11", 5, 5, 0, 0)]
    await counting.add_outage(7.25, 9)
    await counting.count(20)
    assert await counting.figures() == [("2026-11", 15, 13.25, 1.75, 0)]


async def test_a_restarted_console_continues(counting: Counting) -> None:
    """The time without a console is unknown, except for the seconds of which agents still have samples."""
    counting.observe(*range(10))
    await counting.count(15)
    counting.start()
    counting.observe(*range(380, 500))
    await counting.count(500)
    assert await counting.figures() == [("2026-11", 370, 10, 0, 360)], "samples may be late"
    await counting.count(510)
    assert await counting.figures() == [("2026-11", 500, 10 + 120, 0, 370)]
    await counting.add_outage(200, 230)
    await counting.count(510)
    assert await counting.figures() == [("2026-11", 500, 130, 0, 370)], "counted time does not change"


async def test_two_consoles_count_no_second_twice(counting: Counting) -> None:
    """A former leader that has not noticed the change counts at the same time as the new one."""
    counting.observe(*range(10))
    other = AvailabilityCollector(counting.console.store, counting.service, lambda: counting.now)
    counting.now = T + 15
    await asyncio.gather(*(collector.step() for collector in (counting.collector, other) * 3))
    assert await counting.figures() == [("2026-11", 10, 10, 0, 0)]


async def test_outages_of_a_time_without_console_are_known(counting: Counting) -> None:
    await counting.add_outage(100, 130)
    await counting.count(500)
    assert await counting.figures() == [("2026-11", 500 - FINAL_SECONDS, 0, 30, 340)]


async def test_an_ongoing_outage_counts_until_it_ends(counting: Counting) -> None:
    counting.observe(*range(40), state=ServiceState.UNCLEAR)
    await counting.add_outage(2.5, None)
    await counting.count(20)
    assert await counting.figures() == [("2026-11", 15, 0.5, 12.5, 2)]
    counting.observe(*range(20, 60))
    await counting.count(60)
    assert await counting.figures() == [("2026-11", 55, 0.5, 52.5, 2)]


async def test_months_are_separate_rows(counting: Counting) -> None:
    december = round(datetime(2026, 12, 1, tzinfo=UTC).timestamp()) - T
    counting.start()
    counting.observe(*range(december - 120, december + 10 + SETTLED_SECONDS))
    await counting.count(december + 10 + SETTLED_SECONDS)
    assert await counting.figures() == [
        ("2026-12", december + 10, 10, 0, 0),
        ("2026-11", december, 120, 0, december - 120),
    ]


async def test_stopped_traffic_is_unknown(counting: Counting) -> None:
    counting.observe(*range(20), state=ServiceState.IDLE)
    async with counting.console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "traffic_manually_disabled": True}
    await counting.count(FINAL_SECONDS + 5)
    assert await counting.figures() == [("2026-11", 5, 0, 0, 5)]


async def test_an_outage_ends_when_its_proxy_no_longer_serves_the_database(counting: Counting) -> None:
    """Also if the endpoint is opened again: its proxy has removed the outage and never reports its end."""
    counting.observe(*range(40))
    counting.observe(12, has_endpoint=False)
    await counting.add_outage(2.5, None)
    await counting.count(20)
    assert await counting.figures() == [("2026-11", 15, 5.5, 9.5, 0)]
    counting.start()
    counting.observe(*range(15, 60))
    await counting.count(60)
    assert await counting.figures() == [("2026-11", 55, 45.5, 9.5, 0)]


async def test_time_without_traffic_is_unknown_also_after_it_was_resumed(counting: Counting) -> None:
    changes = {"bdb_stop_traffic_request": 8, "bdb_resume_traffic_request": 14, "bdb_traffic_resumed": 15}
    async with counting.console.store.begin() as session:
        for type_, t in changes.items():
            event = events.record(session, type_, "It happened.", source="bdb", bdb_uid=1)
            event.time = datetime.fromtimestamp(T + t, UTC)
    counting.observe(*range(8))
    counting.observe(*range(8, 15), state=ServiceState.DOWN, has_endpoint=False)
    counting.observe(*range(15, 30))
    await counting.add_outage(2.5, None)
    await counting.count(FINAL_SECONDS + 20)
    assert await counting.figures() == [("2026-11", 30, 2.5 + 15, 5.5, 7)]


async def test_databases_are_counted_from_their_activation(console: Console, counting: Counting) -> None:
    async with console.store.begin() as session:
        await availability_history.delete_for_bdb(session, 1)
        (await session.get_one(Bdb, 1)).status = BdbStatus.PENDING
    await counting.count(10)
    assert await counting.figures() == []


async def test_a_new_database_with_the_same_uid_has_its_own_figures(console: Console, counting: Counting) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).created_at = datetime.fromtimestamp(T + 100, UTC)
    for now in (200, 205):
        await counting.count(now)
    assert await counting.figures() == [("2026-11", 205, 0, 0, 0)]
