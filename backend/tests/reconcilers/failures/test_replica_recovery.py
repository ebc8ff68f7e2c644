"""Dead shards are restarted only as replicas of the current primary of their pair."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import Gate, GatedAgents, GatedStore
from backend.tests.support import active_database
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until

from shardboard.actions import queue
from shardboard.console import Console
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures import replica_recovery
from shardboard.reconcilers.failures.replica_recovery import RecoverReplicas, ReplicaRecoveryLoop
from shardboard.reconcilers.loop import ActionLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)


@pytest.fixture(autouse=True)
async def shop(console: Console, agents: FakeAgents, nodes: object) -> None:
    await active_database.create_active_database(console, agents)


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test"
) -> AsyncIterator[None]:
    store, agents = store or console.store, agents or console.agents
    loop = ActionLoop(store, console.bus, {ActionName.RECOVER_REPLICAS: RecoverReplicas(store, agents)}, instance)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(ReplicaRecoveryLoop(store, console.bus).run())]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


async def actions_of_bdb(console: Console) -> Sequence[Action]:
    async with console.store.read() as session:
        return await actions.list_for_bdb(session, active_database.BDB)


async def sweep(console: Console) -> list[list[int]]:
    """Run the loop once. Return the shards of each action."""
    await ReplicaRecoveryLoop(console.store, console.bus).sweep()
    return [action.params["shards"] for action in await actions_of_bdb(console)]


async def events_of_types(console: Console, *types: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type in types]


async def is_over(console: Console) -> bool:
    action_rows = await actions_of_bdb(console)
    return bool(action_rows) and all(each.status not in OPEN_STATUSES for each in action_rows)


async def elect_replica(console: Console, agents: FakeAgents) -> None:
    """Let primary 1 die and the engine elect replica 4. The desired roles are not updated yet."""
    await active_database.kill_shards(console, agents, 1)
    agents.promoted.add(4)
    await active_database.set_observed_state(console, 4, role="master")


async def test_a_dead_replica_is_restarted(console: Console, agents: FakeAgents) -> None:
    await active_database.kill_shards(console, agents, 4)
    async with running(console):
        await wait_until(lambda: is_over(console))
    [action] = await actions_of_bdb(console)
    assert (action.status, action.description, action.params["shards"]) == (
        "completed",
        "Recover 1 replica of shop",
        [4],
    )
    assert agents.running[2][4].role == "slave"
    [event] = await events_of_types(console, "replica_revived")
    assert (event.shard_uid, event.node_uid, event.action_uid) == (4, 2, action.uid)
    assert event.description.startswith("Shard redis:4 recovered on node 2 as a replica and was in sync after ")
    shard = await active_database.get_shard(console, 4)
    assert (shard.observed_status, shard.observed_role, shard.observed_link) == ("ok", "slave", "idle")


async def test_a_recovery_of_the_previous_release_continues(console: Console, agents: FakeAgents) -> None:
    await active_database.kill_shards(console, agents, 4)
    assert await sweep(console) == [[4]]
    [action] = await actions_of_bdb(console)
    await store_as_previous_release(console, action.uid)
    async with running(console):
        await wait_until(lambda: is_over(console))
    [action] = await actions_of_bdb(console)
    assert (action.name, action.status) == ("SMReviveReplicas", "completed")
    assert agents.running[2][4].role == "slave"


async def test_a_failed_recovery_of_the_previous_release_delays_the_next_one(
    console: Console, agents: FakeAgents
) -> None:
    await active_database.kill_shards(console, agents, 4)
    assert await sweep(console) == [[4]]
    [action] = await actions_of_bdb(console)
    await store_as_previous_release(console, action.uid)
    async with console.store.begin() as session:
        failed = await session.get_one(Action, action.uid)
        failed.status, failed.finished_at = "failed", datetime.now(UTC)
    assert await sweep(console) == [[4]], "not again"


async def test_a_lost_primary_is_restarted_as_a_replica(console: Console, agents: FakeAgents) -> None:
    await elect_replica(console, agents)
    agents.unsynced = {1}
    async with running(console):
        await wait_until(lambda: 1 not in agents.died)
        before = len(agents.commands)
        await wait_until(lambda: len(agents.commands) > before + 4)
        assert await events_of_types(console, "replica_revived") == [], "it runs but is not in sync"
        agents.unsynced = set()
        await wait_until(lambda: is_over(console))
    assert agents.running[1][1].role == "slave"
    assert len(await events_of_types(console, "replica_revived")) == 1
    assert [(await active_database.get_shard(console, uid)).role for uid in (1, 4)] == ["slave", "master"]


async def test_shards_of_a_pair_without_a_primary_stay_down(console: Console, agents: FakeAgents) -> None:
    await active_database.kill_shards(console, agents, 1)
    assert await sweep(console) == [], "its replica is not promoted yet"
    await active_database.kill_shards(console, agents, 4)
    assert await sweep(console) == [], "the pair has no primary"
    await active_database.kill_shards(console, agents, 5)
    assert await sweep(console) == [[5]], "only the other pair"
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert (await actions_of_bdb(console))[0].status == "completed", "a pair without a primary does not block others"
    assert agents.died.keys() == {1, 4}


async def test_no_empty_shard_replaces_a_primary_that_dies_before_the_start(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.1))
    await active_database.kill_shards(console, agents, 4)
    assert await sweep(console) == [[4]]
    await active_database.kill_shards(console, agents, 1)
    before = agents.calls.count(("start", 2))
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert agents.died.keys() == {1, 4}
    assert agents.calls.count(("start", 2)) == before
    [event] = await events_of_types(console, "replica_revival_failed")
    assert event.description == "Some replicas were not recovered: The primary of shard redis:4 is down."


async def test_a_failed_start_is_reported_and_retried_later(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.refusals = {4: "port 20004 is in use"}
    await active_database.kill_shards(console, agents, 4)
    async with running(console):
        await wait_until(lambda: is_over(console))
    [event] = await events_of_types(console, "replica_revival_failed")
    assert (
        event.description
        == "Some replicas were not recovered: Shard redis:4 could not be started: port 20004 is in use."
    )
    assert (event.severity, event.bdb_uid) == ("ERROR", active_database.BDB)
    assert len(await sweep(console)) == 1
    monkeypatch.setattr(replica_recovery, "RETRY_AFTER", timedelta(0))
    agents.refusals = {}
    assert len(await sweep(console)) == 2
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert len(await events_of_types(console, "replica_revived")) == 1


async def test_a_shard_that_is_alive_is_not_removed(console: Console, agents: FakeAgents) -> None:
    """The agent first reported it as dead. An outdated report must not lose data."""

    class LateAgents(FakeAgents):
        async def shards(self, node: Any) -> Any:
            return [
                report.model_copy(update={"state": "died", "detail": "killed"}) for report in await agents.shards(node)
            ]

    late = LateAgents()
    late.running = agents.running
    await active_database.set_observed_state(console, 4, status="down")
    await ReplicaRecoveryLoop(console.store, console.bus).sweep()
    [action] = await actions_of_bdb(console)
    outcome = await RecoverReplicas(console.store, late).step(action)
    assert outcome.unreachable == "shard redis:4 was not removed: it is running"
    assert 4 in agents.running[2]


async def test_a_shard_is_stopped_if_its_database_is_deleted_during_the_start(
    console: Console, agents: FakeAgents
) -> None:
    """The removal loop ran during the start and found no process yet."""

    class SlowAgents(FakeAgents):
        async def start(self, node: Any, request: Any) -> Any:
            async with console.store.begin() as session:
                for row in await shards.list_for_bdb(session, active_database.BDB):
                    row.desired = "absent"
            return await super().start(node, request)

    await active_database.kill_shards(console, agents, 4)
    await sweep(console)
    [action] = await actions_of_bdb(console)
    slow = SlowAgents()
    slow.__dict__.update(agents.__dict__)
    await RecoverReplicas(console.store, slow).step(action)
    assert ("start", 2) in agents.calls
    assert 4 not in agents.running[2]


@pytest.mark.parametrize("columns", [{"health": "down"}, {"agent_status": "lost"}])
async def test_unreachable_nodes_are_waited_for(console: Console, agents: FakeAgents, columns: dict[str, str]) -> None:
    await active_database.kill_shards(console, agents, 4)
    await active_database.set_node_columns(console, 2, **columns)
    assert await sweep(console) == []
    await active_database.set_node_columns(console, 2, health="up", agent_status="connected")
    assert await sweep(console) == [[4]]


async def test_several_consoles_request_one_revival_after_other_actions(console: Console, agents: FakeAgents) -> None:
    async with console.store.begin() as session:
        session.info["locked"] = True
        other = queue.enqueue(
            session, "SMUpdateBDB", object_uid=1, description="", originator="", deadline=timedelta(60)
        )
    await active_database.kill_shards(console, agents, 4)
    await ReplicaRecoveryLoop(console.store, console.bus).sweep()
    assert [action.name for action in await actions_of_bdb(console)] == ["SMUpdateBDB"]
    async with console.store.begin() as session:
        (await session.get_one(Action, other.uid)).status = "completed"
    await asyncio.gather(*(ReplicaRecoveryLoop(console.store, console.bus).sweep() for _ in range(8)))
    assert [action.name for action in await actions_of_bdb(console)].count(ActionName.RECOVER_REPLICAS) == 1


async def test_a_shard_promoted_during_its_revival_is_not_reported_as_replica(
    console: Console, agents: FakeAgents
) -> None:
    agents.unsynced = {4}
    await active_database.kill_shards(console, agents, 4)
    async with running(console):
        await wait_until(lambda: 4 not in agents.died)
        agents.promoted.add(4)
        await active_database.set_observed_state(console, 4, status="ok", role="master")
        await wait_until(lambda: is_over(console))
    assert (await active_database.get_shard(console, 4)).observed_role == "master"
    assert [
        event.shard_uid for event in await events_of_types(console, "replica_revived") if event.shard_uid == 4
    ] == []


async def test_killed_at_every_step_a_revival_completes(
    console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    # A step is before or after each call and each transaction.
    for step in sampling.kill_steps(36, 100):
        async with console.store.begin() as session:
            for action in await actions.list_recent(session):
                await session.delete(action)
        await active_database.kill_shards(console, agents, 4, 5)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            finished, killed = (
                asyncio.create_task(wait_until(lambda: is_over(console))),
                asyncio.create_task(gate.reached.wait()),
            )
            await asyncio.wait((finished, killed), return_when=asyncio.FIRST_COMPLETED)
            completed = finished.done()
            finished.cancel()
            killed.cancel()
        async with console.store.begin() as session:
            for action in await actions.list_recent(session):
                action.lease_until = None
        async with running(console, instance="test" if step % 2 else "another"):
            await wait_until(lambda: is_over(console))
        [action] = await actions_of_bdb(console)
        assert (action.status, action.error) == ("completed", ""), f"killed at step {step}"
        assert not agents.died
        assert {(await active_database.get_shard(console, uid)).observed_status for uid in (4, 5)} == {"ok"}
        if completed:
            assert step > 8
            return
    raise AssertionError("the operation never completed")
