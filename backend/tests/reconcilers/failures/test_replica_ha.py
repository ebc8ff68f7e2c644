"""Rebuilds are requested once, after the grace period, for databases with `slave_ha`. Missing capacity is reported once."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.support import active_database

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.failures.replica_ha import ReplicaHaLoop
from shardboard.reconcilers.placement.switch_back import SwitchBackLoop
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object) -> None:
    """Node 2 has been down for 15 min. Shards 2 and 4 are lost; 5 was promoted in place of 2, and 1 is the primary of 4."""
    await active_database.create_active_database(console, agents)
    await active_database.set_node_columns(console, 2, health="down", agent_status="lost")
    await active_database.set_observed_state(console, 2, 4, status="down", role="slave")
    await active_database.set_observed_state(console, 5, role="master")
    await active_database.set_observed_state(console, 6, role="slave", link="idle")
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "slave_ha": True, "shards_placement": "sparse"}
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
        event = events.record(session, "node_failed", "", source="node", node_uid=2, details={"open": True})
        event.time = datetime.now(UTC) - timedelta(minutes=15)


async def sweep(console: Console, times: int = 1) -> Sequence[Action]:
    await asyncio.gather(*(ReplicaHaLoop(console.store, console.bus).sweep() for _ in range(times)))
    async with console.store.read() as session:
        return [each for each in await actions.list_recent(session) if each.name == ActionName.REPLICA_HA]


async def set_policy(console: Console, **values: Any) -> None:
    async with console.store.begin() as session:
        row = await session.get_one(Cluster, 1)
        row.policy = {**row.policy, **values}


async def event_messages(console: Console, type_: str) -> list[str]:
    async with console.store.read() as session:
        return [each.description for each in await events.page(session, newest_first=False) if each.type == type_]


async def test_a_rebuild_is_requested_once(console: Console) -> None:
    [action] = await sweep(console, 5)
    assert action.description == "Rebuild 2 replicas of shop that were lost with node 2"
    assert [(each["removed"], each["to"]) for each in action.params["moves"]] == [(4, 3), (2, 1)]
    assert action.steps[0]["name"] == "Rebuild redis:4 of shop, lost with node 2, on node 3"
    assert len(await event_messages(console, "replica_ha_started")) == 1


@pytest.mark.parametrize("values", [{"slave_ha": False}, {"slave_ha_grace_period": 1000}])
async def test_the_policy_can_disable_rebuilds(console: Console, values: dict[str, Any]) -> None:
    await set_policy(console, **values)
    assert await sweep(console) == []


async def test_a_database_can_disable_rebuilds(console: Console) -> None:
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, 1)
        bdb.config = {**bdb.config, "slave_ha": False}
    assert await sweep(console) == []


async def test_a_rebuild_waits_for_the_failover_and_other_actions(console: Console) -> None:
    await active_database.set_observed_state(console, 2, 4, status="down", role="master")
    assert await sweep(console) == []
    await active_database.set_observed_state(console, 2, 4, status="down", role="slave")
    async with console.store.begin() as session:
        session.info["locked"] = True
        queue.enqueue(session, "SMx", object_uid=1, description="", originator="", deadline=timedelta(60))
    assert await sweep(console) == []


async def test_missing_capacity_is_reported_once(console: Console) -> None:
    for uid in (1, 3):
        await active_database.set_node_columns(console, uid, config={"max_redis_servers": 2})
    assert await sweep(console) == []
    assert await sweep(console) == []
    assert await event_messages(console, "replica_ha_no_room") == [
        (
            "No other node has the capacity to rebuild replicas lost with node 2: redis:2, redis:4. Their pairs have no "
            "replica until the node returns."
        )
    ]


async def return_moves(console: Console) -> list[list[tuple[int | None, int | None]]]:
    await SwitchBackLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        switch_backs = [each for each in await actions.list_recent(session) if each.name == ActionName.SWITCH_BACK]
    return [[(move["promote"], move["to"]) for move in each.params["moves"]] for each in switch_backs]


async def test_primaries_return_when_all_replicas_are_in_sync(console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Shard, 2)).should_regain_primary = True
    assert await return_moves(console) == [], "the policy is off"
    await set_policy(console, primaries_return=True)
    assert await return_moves(console) == [], "its node is down"
    await active_database.set_node_columns(console, 2, health="up", agent_status="connected")
    await active_database.set_observed_state(console, 2, 4, link="in_progress")
    assert await return_moves(console) == [], "not in sync"
    await active_database.set_observed_state(console, 2, 4, link="idle")
    assert await return_moves(console) == [[(2, None)]]
    assert await return_moves(console) == [[(2, None)]], "once"
