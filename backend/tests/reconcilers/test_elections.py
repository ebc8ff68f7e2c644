"""The engine elects, and the console takes note."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from backend.tests import pairs
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.orders import queue
from shardboard.reconcilers import elections
from shardboard.reconcilers.elections import CAUSE_BEFORE, ElectionLoop
from shardboard.state import actions, events
from shardboard.state.bdbs import Bdb
from shardboard.state.events import Event
from shardboard.state.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


async def sweep(console: Console) -> list[Event]:
    await ElectionLoop(console.store, console.bus).sweep()
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == "shard_failover"]


async def elect(console: Console, agents: FakeAgents) -> None:
    """Primary 1 died, and replica 4 leads since just now."""
    await pairs.die(console, agents, 1)
    agents.promoted.add(4)
    await pairs.observe(console, 4, role="master")
    async with console.store.begin() as session:
        down = events.record(session, "shard_down", "", source="shard", shard_uid=1, node_uid=1)
        (await session.get_one(Shard, 4)).observed_at = down.time + timedelta(seconds=9)


async def test_it_becomes_what_is_wanted_and_is_told_once(console: Console, agents: FakeAgents) -> None:
    await pairs.active(console, agents)
    assert await sweep(console) == []
    await elect(console, agents)
    [event] = await sweep(console)
    assert {name: event.details[name] for name in ("pair", "lost", "heir", "bytes_behind", "method")} == {
        "pair": 0,
        "lost": 1,
        "heir": 4,
        "bytes_behind": None,
        "method": "engine",
    }
    assert event.details["seconds"] == pytest.approx(9, abs=1)
    assert (event.shard_uid, event.node_uid, event.bdb_uid, event.action_uid) == (4, 1, pairs.BDB, None)
    assert event.description == (
        "Replica redis:4 on node 2 took over from redis:1 of shop about 9 s after it was lost, by an election of the "
        "engine, not by the console; its replication lag is unknown."
    )
    assert [(await pairs.row(console, uid)).role for uid in (1, 4)] == ["slave", "master"]
    assert (await pairs.row(console, 1)).current_role == "slave"
    await asyncio.gather(*(sweep(console) for _ in range(4)))
    assert len(await sweep(console)) == 1


async def test_what_an_action_does_is_that_actions_to_tell(console: Console, agents: FakeAgents) -> None:
    await pairs.active(console, agents)
    async with console.store.begin() as session:
        session.info["locked"] = True
        made = queue.start(
            session, "SMFailover", object_uid=pairs.BDB, description="", originator="", deadline=timedelta(60)
        )
    await elect(console, agents)
    loop = ElectionLoop(console.store, console.bus)
    task = asyncio.create_task(loop.run())
    assert await sweep(console) == []
    async with console.store.begin() as session:  # it gave up, and the engine was quicker after all
        (await session.get_one(actions.Action, made.uid)).status = "failed"

    async def taken() -> bool:
        return (await pairs.row(console, 4)).role == "master"

    await until(taken)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("change", [{"sharding": False}, {"status": "active-change-pending"}, {"status": "pending"}])
async def test_other_databases_are_left_alone(console: Console, agents: FakeAgents, change: dict[str, object]) -> None:
    await pairs.active(console, agents)
    await elect(console, agents)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, pairs.BDB)
        for name, value in change.items():
            setattr(bdb, name, value)
    assert await sweep(console) == []


@pytest.mark.parametrize("before", ["well", "just seen", "hung", "ordered"])
async def test_whether_anything_was_wrong_is_told(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """The loser is well again when it follows, so what counts is how it was before."""
    clock = SimpleNamespace(now=datetime.now(UTC))
    monkeypatch.setattr(elections, "datetime", SimpleNamespace(now=lambda _: clock.now))
    await pairs.active(console, agents)
    loop = ElectionLoop(console.store, console.bus)
    if before != "just seen":
        await loop.sweep()
    clock.now += CAUSE_BEFORE
    if before == "hung":
        await pairs.observe(console, 1, status="timeout")
        await loop.sweep()
    if before == "ordered":
        async with console.store.begin() as session:
            session.info["locked"] = True
            made = queue.start(
                session, "SMShardFailover", object_uid=pairs.BDB, description="", originator="", deadline=timedelta(60)
            )
        async with console.store.begin() as session:
            action = await session.get_one(actions.Action, made.uid)
            action.status, action.finished_at = "failed", datetime.now(UTC)
    await pairs.observe(console, 1, role="slave")
    await pairs.observe(console, 4, role="master")
    await loop.sweep()
    async with console.store.read() as session:
        [event] = [each for each in await events.page(session, newest_first=False) if each.type == "shard_failover"]
    assert event.details["has_cause"] is (before != "well")
    assert ("although nothing was wrong" in event.description) is (before == "well")
