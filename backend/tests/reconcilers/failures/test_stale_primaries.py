"""A primary that was replaced while it was unreachable becomes a replica of the promoted one."""

import asyncio
from collections.abc import Sequence

import pytest
from backend.tests.support import active_database
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.failures.stale_primaries import DemoteStalePrimaries, StalePrimaryLoop
from shardboard.reconcilers.loop import ActionLoop
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def replace_primary(console: Console) -> None:
    """Promote replica 2, and let primary 1 thaw without noticing the promotion."""
    async with console.store.begin() as session:
        first, second = await session.get_one(Shard, 1), await session.get_one(Shard, 2)
        first.role, second.role = "slave", "master"
    await active_database.set_observed_state(console, 1, 2, role="master")


async def sweep(console: Console) -> Sequence[Action]:
    await StalePrimaryLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        return await actions.list_for_bdb(session, active_database.BDB)


@pytest.mark.parametrize("previous_release", [False, True])
async def test_a_stale_primary_is_demoted(console: Console, agents: FakeAgents, previous_release: bool) -> None:
    await active_database.create_active_database(console, agents, 1, sharding=False)
    assert await sweep(console) == []
    await replace_primary(console)
    [action] = await sweep(console)
    assert (action.name, action.params) == (ActionName.DEMOTE_STALE_PRIMARIES, {"shards": [1]})
    assert len(await sweep(console)) == 1, "once"
    if previous_release:
        await store_as_previous_release(console, action.uid)
    loop = ActionLoop(
        console.store,
        console.bus,
        {ActionName.DEMOTE_STALE_PRIMARIES: DemoteStalePrimaries(console.store, agents)},
        "test",
    )
    task = asyncio.create_task(loop.run())

    async def followed() -> bool:
        return (await active_database.get_shard(console, 1)).observed_role == "slave"

    await wait_until(followed)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert agents.commands[-2:] == [(1, ("REPLICAOF", "10.0.0.2", "20002")), (1, ("CONFIG", "REWRITE"))]
    assert (await active_database.get_shard(console, 1)).observed_link == "link_down", "it has to sync first"
    async with console.store.read() as session:
        [event] = [each for each in await events.page(session, newest_first=False) if each.type == "rival_demoted"]
    assert (event.severity, event.shard_uid) == ("WARNING", 1)
    assert event.description == (
        "Shard redis:1 on node 1 still acted as primary after its replacement: writes that it received in between were lost."
    )
    assert len(await sweep(console)) == 1, "nothing is left to do"


async def test_in_cluster_mode_the_demotion_is_left_to_the_engine(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents, 1, sharding=True)
    await replace_primary(console)
    assert await sweep(console) == []


async def test_the_only_running_primary_is_not_stale(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents, 1, sharding=False)
    await active_database.set_observed_state(console, 2, role="master")
    await active_database.set_observed_state(console, 1, status="down")
    assert await sweep(console) == [], "the recorded primary is down, so the acting one is the only copy"
