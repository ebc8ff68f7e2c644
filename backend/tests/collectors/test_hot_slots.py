"""Primaries are asked which slots take most only when somebody wants to know, and then once for all."""

import asyncio

import pytest
from backend.tests import pairs

from shardboard.agent.contract import SlotCounts
from shardboard.collectors.hot_slots import FORGOTTEN_SECONDS, Look, SlotLooks
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.state.bdbs import Bdb
from shardboard.state.nodes import Node

pytestmark = pytest.mark.store


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def looks(console: Console, agents: FakeAgents, nodes: list[Node], clock: Clock) -> SlotLooks:
    """Primaries 1, 2, 3 on nodes 1, 2, 3."""
    await pairs.active(console, agents)
    count(agents, 10.0, 1_000_000)
    agents.calls.clear()
    return SlotLooks(console.store, agents, clock)


def count(agents: FakeAgents, at: float, cpu: int) -> None:
    for uid in (1, 2, 3):
        agents.slot_counts[uid] = SlotCounts(uid=uid, at=at, run_id="a", slots=[(uid, 5, cpu * uid, 10, 20)])


async def taken(looks: SlotLooks) -> Look:
    look = await looks.look(1, "cpu_usec")
    assert look is not None
    return look


async def test_readers_at_once_share_one_look_and_so_do_those_within_a_second(
    looks: SlotLooks, agents: FakeAgents, clock: Clock
) -> None:
    first, second = await asyncio.gather(taken(looks), taken(looks))
    clock.now += 0.9
    assert first is second is await taken(looks)
    assert sorted(agents.calls) == [("hot_slots", 1), ("hot_slots", 2), ("hot_slots", 3)]
    assert [told.shard_uid for told in first.now] == [1, 2, 3]
    assert first.before == {}


async def test_the_look_before_is_kept_for_ten_minutes(looks: SlotLooks, agents: FakeAgents, clock: Clock) -> None:
    first = await taken(looks)
    clock.now += 5
    count(agents, 15.0, 2_000_000)
    second = await taken(looks)
    assert second.before == {told.shard_uid: told for told in first.now}
    clock.now += FORGOTTEN_SECONDS
    assert (await taken(looks)).before == {}


async def test_other_metrics_are_other_looks(looks: SlotLooks, agents: FakeAgents) -> None:
    await taken(looks)
    by_keys = await looks.look(1, "key_count")
    assert by_keys is not None
    assert (by_keys.before, len(agents.calls)) == ({}, 6)


async def test_a_node_that_cannot_be_reached_is_the_silence_of_its_shards_only(
    looks: SlotLooks, agents: FakeAgents
) -> None:
    agents.unreachable.add(2)
    look = await taken(looks)
    assert ["cannot be reached" in told.reason for told in look.now] == [False, True, False]


async def test_after_a_failover_the_new_primary_is_asked(looks: SlotLooks, console: Console) -> None:
    await pairs.observe(console, 1, role="slave")
    await pairs.observe(console, 4, role="master")
    assert [told.shard_uid for told in (await taken(looks)).now] == [2, 3, 4]


async def test_who_goes_away_does_not_take_the_look_from_others(looks: SlotLooks) -> None:
    leaving, staying = asyncio.create_task(taken(looks)), asyncio.create_task(taken(looks))
    await asyncio.sleep(0)
    leaving.cancel()
    assert len((await staying).now) == 3


async def test_a_database_without_slots_and_one_that_does_not_exist(
    looks: SlotLooks, console: Console, agents: FakeAgents
) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).sharding = False
    assert (await taken(looks)).detail == "shop is not sharded, so its keys have no hash slots."
    assert await looks.look(9, "cpu_usec") is None
    assert agents.calls == []
