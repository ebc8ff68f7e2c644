"""Outages that proxies report are stored once, even if reports are repeated or arrive out of order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.collectors.samples import outage, sample

from shardboard.collectors.failures import outages as collectors
from shardboard.collectors.failures.outages import NodeClock, OutageCollector
from shardboard.console import Console
from shardboard.driver.interfaces import Outage
from shardboard.schemas.databases import bdb_fields
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.state.failures import outages

pytestmark = pytest.mark.store

T = 1_700_000_000_000


@pytest.fixture
async def collector(console: Console, nodes: list[Node]) -> OutageCollector:
    """Collector for database 1, which has a primary on node 2 at port 20000."""
    now = datetime.fromtimestamp(T / 1000 - 60, UTC)
    bdb = Bdb(
        uid=1,
        name="shop",
        status="active",
        memory_size=10**9,
        port=10001,
        sharding=True,
        shards_count=3,
        replication=True,
        config=dict(bdb_fields.CONFIG_DEFAULTS),
        admin_password="",
        created_at=now,
        changed_at=now,
    )
    shard = Shard(
        uid=7,
        bdb_uid=1,
        node_uid=2,
        pair=0,
        role="master",
        slots="0-5460",
        port=20000,
        bus_port=25000,
        engine_id="7" * 40,
    )
    async with console.store.begin() as session:
        session.add_all([bdb, shard])
    return OutageCollector(console.store)


async def stored(console: Console) -> list[tuple[Any, ...]]:
    async with console.store.read() as session:
        rows = await outages.list_for_node(
            session, 2, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), shard_uid=None, limit=100
        )
    return [(row.reported_by, row.shard_uid, row.noticed_ms, row.first_success_ms, row.waited) for row in rows]


async def take(collector: OutageCollector, node: int, *reported: Outage, ahead: int | None = 0) -> None:
    await collector.store(node, sample(1, outages=list(reported)), ahead)


async def test_an_outage_is_stored_at_its_start_and_updated(console: Console, collector: OutageCollector) -> None:
    start, end = outage(T), outage(T, first_success_ms=T + 600, waited=4, is_exact=True)
    await take(collector, 1, start)
    assert await stored(console) == [(1, 7, T, None, 0)]
    await take(collector, 1, start, end)
    await take(collector, 3, outage(T + 5, first_success_ms=T + 610))
    assert await stored(console) == [(1, 7, T, T + 600, 4), (3, 7, T + 5, T + 610, 0)]
    async with console.store.read() as session:
        assert [row.is_exact for row in await outages.list_reported_by(session, 1, T)] == [True]


async def test_a_repeated_report_writes_nothing(console: Console, collector: OutageCollector) -> None:
    start, end = outage(T), outage(T, first_success_ms=T + 600)
    await take(collector, 1, end)
    with console.bus.listen("change") as changes:
        await take(collector, 1, end, start)
        assert changes.drain() == []
        await take(collector, 1, outage(T + 9_000))
        assert [kind for _, (kind, _) in changes.drain()] == ["outage"]
    assert [first for _, _, _, first, _ in await stored(console)] == [T + 600, None]


async def test_outages_of_deleted_databases_are_not_stored(console: Console, collector: OutageCollector) -> None:
    """This includes outages of a database whose uid was assigned to a new one."""
    await take(collector, 1, outage(T, uid=2), outage(T - 61_000))
    assert await stored(console) == []


async def test_an_outage_is_stored_with_the_time_of_the_console(console: Console, collector: OutageCollector) -> None:
    await take(collector, 1, outage(T), ahead=1_500)
    await take(collector, 3, outage(T), ahead=None)
    async with console.store.read() as session:
        rows = [await outages.by_uid(session, uid) for uid in (1, 2)]
    noticed_at = datetime.fromtimestamp(T / 1000, UTC)
    assert [row and row.noticed_at for row in rows] == [noticed_at - timedelta(seconds=1.5), noticed_at]
    assert [row and row.last_success_ms for row in rows] == [T - 10, T - 10], "durations are measured by one clock"


async def test_an_outage_at_an_unknown_address_is_stored(console: Console, collector: OutageCollector) -> None:
    await take(collector, 1, outage(T, address="10.0.0.99"), outage(T, port=20001))
    async with console.store.read() as session:
        rows = [await outages.by_uid(session, uid) for uid in (1, 2)]
    assert [(row and row.node_uid, row and row.shard_uid) for row in rows] == [(None, None), (2, None)]


def test_clock_offsets_are_measured_from_prompt_samples() -> None:
    clock = NodeClock()
    clock.add(-90.0)
    assert clock.ahead_ms is None, "a sample from the ring of the agent is too old to measure the clock"
    clock.mark_caught_up()
    clock.add(0.38)
    clock.mark_caught_up()
    clock.add(0.4)
    clock.add(5.0)
    clock.mark_caught_up()
    clock.add(1e300)
    assert clock.ahead_ms == 400


async def test_a_node_that_reports_too_many_new_outages_only_updates_known_ones(
    console: Console, collector: OutageCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(collector, "_clock", lambda: now)
    monkeypatch.setattr(collectors, "MAX_NEW", 2.0)
    await take(collector, 1, outage(T), outage(T + 1))
    await take(collector, 1, outage(T, waited=4), outage(T + 2))
    assert sorted(await stored(console)) == [(1, 7, T, None, 4), (1, 7, T + 1, None, 0)]
    await take(collector, 3, outage(T + 3))
    now += 1
    await take(collector, 1, outage(T + 4))
    assert sorted(row[:3] for row in await stored(console)) == [(1, 7, T), (1, 7, T + 1), (1, 7, T + 4), (3, 7, T + 3)]
