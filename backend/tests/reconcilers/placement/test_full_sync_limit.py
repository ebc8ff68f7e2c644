"""The limit of full syncs per node applies within a revival, between actions, and to syncs without an action."""

import asyncio
from datetime import timedelta

import pytest
from backend.tests.reconcilers.failures.test_replica_recovery import actions_of_bdb, is_over, running
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.domain.placement.full_sync_limit import Transfer
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.placement import full_sync_limit
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.actions import Action

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object) -> None:
    await active_database.create_active_database(console, agents)


async def set_sync_limit(console: Console, count: int) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"max_slave_full_syncs": count}


async def start_action(console: Console) -> Action:
    async with console.store.begin() as session:
        session.info["locked"] = True
        action = queue.enqueue(session, "SMx", object_uid=1, description="", originator="", deadline=timedelta(60))
        action.lease_token = "mine"
    return action


async def test_replicas_are_revived_one_at_a_time(console: Console, agents: FakeAgents) -> None:
    await set_sync_limit(console, 1)
    agents.unsynced = {4, 5, 6}
    await active_database.kill_shards(console, agents, 4, 5, 6)  # each on a different node, from a different primary
    in_sync = []
    async with running(console):
        for _ in range(3):
            await wait_until(lambda: set(agents.died) != {4, 5, 6} - set(in_sync))
            [restarted] = {4, 5, 6} - set(agents.died) - set(in_sync)
            await wait_until(lambda: waits(console, 2 - len(in_sync)))
            agents.unsynced.discard(restarted)
            in_sync.append(restarted)
        await wait_until(lambda: is_over(console))
    assert (await actions_of_bdb(console))[0].status == "completed"


async def waits(console: Console, count: int) -> bool:
    [action] = await actions_of_bdb(console)
    detail = action.steps[0].get("detail") if action.steps else None
    return bool(detail == (f"{count} waiting (limit max_slave_full_syncs)" if count else None))


async def test_syncs_of_other_actions_count_until_the_action_ends(console: Console) -> None:
    await set_sync_limit(console, 1)
    first, second = await start_action(console), await start_action(console)
    admissions = await asyncio.gather(
        full_sync_limit.admit_syncs(console.store, first, [Transfer(4, 2, 1)]),
        full_sync_limit.admit_syncs(console.store, second, [Transfer(5, 3, 2)]),
    )
    assert sorted(map(len, admissions)) == [0, 1]
    holder, other = (first, second) if admissions[0] else (second, first)
    waiting = Transfer(5, 3, 2) if admissions[0] else Transfer(4, 2, 1)
    assert await full_sync_limit.admit_syncs(console.store, other, [waiting]) == set()
    async with console.store.begin() as session:
        (await session.get_one(Action, holder.uid)).status = "failed"
    assert await full_sync_limit.admit_syncs(console.store, other, [waiting]) == {waiting.uid}


async def test_a_completed_sync_admits_the_next_one(console: Console) -> None:
    await set_sync_limit(console, 1)
    own_action = await start_action(console)
    assert await full_sync_limit.admit_syncs(console.store, own_action, [Transfer(4, 2, 1), Transfer(5, 2, 3)]) == {4}
    assert await full_sync_limit.admit_syncs(console.store, own_action, [Transfer(5, 2, 3), Transfer(4, 2, 1)]) == {
        4
    }, "the admitted sync continues"
    assert await full_sync_limit.admit_syncs(console.store, own_action, [Transfer(5, 2, 3)]) == {5}


async def test_a_node_can_have_a_higher_limit_than_the_cluster(console: Console) -> None:
    await set_sync_limit(console, 1)
    async with console.store.begin() as session:
        for node in await nodes.list_all(session):
            node.config = {"max_slave_full_syncs": 2 if node.uid < 3 else 0}
    own_action = await start_action(console)
    both = [Transfer(4, 2, 1), Transfer(5, 2, 1), Transfer(6, 2, 3)]
    assert await full_sync_limit.admit_syncs(console.store, own_action, both) == {4, 5}


@pytest.mark.parametrize(("phase", "admitted"), [("waiting", True), ("transfer", False), ("load", False)])
async def test_syncs_without_an_action_count_while_they_copy(console: Console, phase: str, admitted: bool) -> None:
    await set_sync_limit(console, 1)
    details = {"open": True, "primary": 2, "phase": phase}
    async with console.store.begin() as session:
        events.record(session, "resync", "", source="shard", node_uid=3, shard_uid=5, details=details)
    own_action = await start_action(console)
    assert await full_sync_limit.admit_syncs(console.store, own_action, [Transfer(4, 2, 1)]) == (
        {4} if admitted else set()
    )


async def test_an_action_without_its_lease_is_not_admitted(console: Console) -> None:
    await set_sync_limit(console, 1)
    own_action = await start_action(console)
    async with console.store.begin() as session:
        (await session.get_one(Action, own_action.uid)).lease_token = "other"
    assert await full_sync_limit.admit_syncs(console.store, own_action, [Transfer(4, 2, 1)]) == set()
