"""The console records elections by the engine."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from backend.tests.support import active_database
from backend.tests.support.real_shards import wait_until

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers.failures import elections
from shardboard.reconcilers.failures.elections import MAX_CAUSE_AGE, ElectionLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


def no_gap(_node_uid: int) -> float:
    return float("inf")


async def sweep(console: Console) -> list[Event]:
    await ElectionLoop(console.store, console.bus, no_gap).sweep()
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == "shard_failover"]


async def elect(console: Console, agents: FakeAgents) -> None:
    """Let primary 1 die, and let the engine elect replica 4 as primary."""
    await active_database.kill_shards(console, agents, 1)
    agents.promoted.add(4)
    await active_database.set_observed_state(console, 4, role="master")
    async with console.store.begin() as session:
        down = events.record(session, "shard_down", "", source="shard", shard_uid=1, node_uid=1)
        (await session.get_one(Shard, 4)).observed_at = down.time + timedelta(seconds=9)


async def test_an_election_updates_the_desired_roles_and_is_reported_once(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents)
    assert await sweep(console) == []
    await elect(console, agents)
    [event] = await sweep(console)
    assert {name: event.details[name] for name in ("pair", "lost", "promoted", "bytes_behind", "method")} == {
        "pair": 0,
        "lost": 1,
        "promoted": 4,
        "bytes_behind": None,
        "method": "engine",
    }
    assert event.details["seconds"] == pytest.approx(9, abs=1)
    assert (event.shard_uid, event.node_uid, event.bdb_uid, event.action_uid) == (4, 1, active_database.BDB, None)
    assert event.description == (
        "Replica redis:4 on node 2 took over from redis:1 of shop about 9 s after it was lost, by an election of the "
        "engine, not by the console; its replication lag is unknown."
    )
    assert [(await active_database.get_shard(console, uid)).role for uid in (1, 4)] == ["slave", "master"]
    assert (await active_database.get_shard(console, 1)).current_role == "slave"
    await asyncio.gather(*(sweep(console) for _ in range(4)))
    assert len(await sweep(console)) == 1


async def test_an_election_during_a_failover_is_left_to_the_action(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        session.info["locked"] = True
        action_row = queue.enqueue(
            session, "SMFailover", object_uid=active_database.BDB, description="", originator="", deadline=timedelta(60)
        )
    await elect(console, agents)
    loop = ElectionLoop(console.store, console.bus, no_gap)
    task = asyncio.create_task(loop.run())
    assert await sweep(console) == []
    async with console.store.begin() as session:  # the action failed, but the engine elected a primary
        (await session.get_one(actions.Action, action_row.uid)).status = "failed"

    async def is_replaced() -> bool:
        return (await active_database.get_shard(console, 4)).role == "master"

    await wait_until(is_replaced)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("change", [{"sharding": False}, {"status": "active-change-pending"}, {"status": "pending"}])
async def test_unsharded_and_changing_databases_are_ignored(
    console: Console, agents: FakeAgents, change: dict[str, object]
) -> None:
    await active_database.create_active_database(console, agents)
    await elect(console, agents)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        for name, value in change.items():
            setattr(bdb, name, value)
    assert await sweep(console) == []


@pytest.mark.parametrize("before", ["healthy", "just seen", "hung", "requested", "starved"])
async def test_an_election_without_a_cause_is_reported_as_such(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """The former primary is healthy again as a replica, so its earlier state is what matters."""
    clock = SimpleNamespace(now=datetime.now(UTC))
    monkeypatch.setattr(elections, "datetime", SimpleNamespace(now=lambda _: clock.now))
    await active_database.create_active_database(console, agents)
    gaps = {1: MAX_CAUSE_AGE.total_seconds() + (-1 if before == "starved" else 1)}
    loop = ElectionLoop(console.store, console.bus, lambda node_uid: gaps.get(node_uid, float("inf")))
    if before != "just seen":
        await loop.sweep()
    clock.now += MAX_CAUSE_AGE
    if before == "hung":
        await active_database.set_observed_state(console, 1, status="timeout")
        await loop.sweep()
    if before == "requested":
        async with console.store.begin() as session:
            session.info["locked"] = True
            action_row = queue.enqueue(
                session,
                "SMShardFailover",
                object_uid=active_database.BDB,
                description="",
                originator="",
                deadline=timedelta(60),
            )
        async with console.store.begin() as session:
            action = await session.get_one(actions.Action, action_row.uid)
            action.status, action.finished_at = "failed", datetime.now(UTC)
    await active_database.set_observed_state(console, 1, role="slave")
    await active_database.set_observed_state(console, 4, role="master")
    await loop.sweep()
    async with console.store.read() as session:
        [event] = [each for each in await events.page(session, newest_first=False) if each.type == "shard_failover"]
    assert event.details["has_cause"] is (before != "healthy")
    assert ("although nothing was wrong" in event.description) is (before == "healthy")
