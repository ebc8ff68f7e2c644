"""Primaries are polled for their hottest slots only on demand, and one poll serves all callers."""

import asyncio

import pytest
from backend.tests.support import active_database
from backend.tests.support.clock import Clock

from shardboard.collectors.metrics.hot_slots import MAX_AGE_SECONDS, HotSlotCache, HotSlotSnapshot
from shardboard.console import Console
from shardboard.contract import SlotCounts
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

pytestmark = pytest.mark.store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slot_polls(console: Console, agents: FakeAgents, nodes: list[Node], clock: Clock) -> HotSlotCache:
    """Polls of a database with primaries 1, 2, 3 on nodes 1, 2, 3."""
    await active_database.create_active_database(console, agents)
    set_counts(agents, 10.0, 1_000_000)
    agents.calls.clear()
    return HotSlotCache(console.store, agents, clock)


def set_counts(agents: FakeAgents, at: float, cpu: int) -> None:
    for uid in (1, 2, 3):
        agents.slot_counts[uid] = SlotCounts(uid=uid, at=at, run_id="a", slots=[(uid, 5, cpu * uid, 10, 20)])


async def poll(slot_polls: HotSlotCache) -> HotSlotSnapshot:
    result = await slot_polls.get(1, "cpu_usec")
    assert result is not None
    return result


async def test_callers_within_a_second_share_one_poll(
    slot_polls: HotSlotCache, agents: FakeAgents, clock: Clock
) -> None:
    first, second = await asyncio.gather(poll(slot_polls), poll(slot_polls))
    clock.now += 0.9
    assert first is second is await poll(slot_polls)
    assert sorted(agents.calls) == [("hot_slots", 1), ("hot_slots", 2), ("hot_slots", 3)]
    assert [reading.shard_uid for reading in first.now] == [1, 2, 3]
    assert first.before == {}


async def test_the_previous_poll_is_kept_for_ten_minutes(
    slot_polls: HotSlotCache, agents: FakeAgents, clock: Clock
) -> None:
    first = await poll(slot_polls)
    clock.now += 5
    set_counts(agents, 15.0, 2_000_000)
    second = await poll(slot_polls)
    assert second.before == {reading.shard_uid: reading for reading in first.now}
    clock.now += MAX_AGE_SECONDS
    assert (await poll(slot_polls)).before == {}


async def test_each_metric_has_its_own_polls(slot_polls: HotSlotCache, agents: FakeAgents) -> None:
    await poll(slot_polls)
    by_keys = await slot_polls.get(1, "key_count")
    assert by_keys is not None
    assert (by_keys.before, len(agents.calls)) == ({}, 6)


async def test_an_unreachable_node_affects_only_its_own_shards(slot_polls: HotSlotCache, agents: FakeAgents) -> None:
    agents.unreachable.add(2)
    result = await poll(slot_polls)
    assert ["cannot be reached" in reading.reason for reading in result.now] == [False, True, False]


async def test_after_a_failover_the_new_primary_is_polled(slot_polls: HotSlotCache, console: Console) -> None:
    await active_database.set_observed_state(console, 1, role="slave")
    await active_database.set_observed_state(console, 4, role="master")
    assert [reading.shard_uid for reading in (await poll(slot_polls)).now] == [2, 3, 4]


async def test_a_cancelled_caller_does_not_cancel_the_shared_poll(slot_polls: HotSlotCache) -> None:
    leaving, staying = asyncio.create_task(poll(slot_polls)), asyncio.create_task(poll(slot_polls))
    await asyncio.sleep(0)
    leaving.cancel()
    assert len((await staying).now) == 3


async def test_unsharded_and_unknown_databases_are_not_polled(
    slot_polls: HotSlotCache, console: Console, agents: FakeAgents
) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).sharding = False
    assert (await poll(slot_polls)).detail == "shop is not sharded, so its keys have no hash slots."
    assert await slot_polls.get(9, "cpu_usec") is None
    assert agents.calls == []
