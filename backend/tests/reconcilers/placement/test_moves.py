"""Moves of shards: killed or cancelled at any step, no partial result is left and the pair keeps its copies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN, Gate, GatedAgents, GatedStore
from backend.tests.reconcilers.placement.fake_engines import ReplicatingAgents
from backend.tests.support import active_database
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement import moves
from shardboard.reconcilers.placement.moves import MoveShards
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.cluster import actions as action_service
from shardboard.services.placement import shard_migration
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

MIN_STEPS = 70
"""Minimum number of steps at which the operation can be killed."""

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture
def agents() -> ReplicatingAgents:
    return ReplicatingAgents()


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(moves, "POLL_SECONDS", 0.01)


@pytest.fixture(params=[True, False], ids=["cluster", "standalone"])
async def shop(console: Console, agents: ReplicatingAgents, nodes: object, request: pytest.FixtureRequest) -> None:
    await create_shop(console, agents, sharding=request.param)


@pytest.fixture
async def cluster_shop(console: Console, agents: ReplicatingAgents, nodes: object) -> None:
    await create_shop(console, agents)


async def create_shop(console: Console, agents: ReplicatingAgents, *, sharding: bool = True) -> None:
    """Create primaries 1, 2, 3 on nodes 1, 2, 3 with replicas 4, 5, 6 on nodes 2, 3, 1. Without cluster mode: 1 and 2 only."""
    count = 3 if sharding else 1
    await active_database.create_active_database(console, agents, count, sharding=sharding)
    agents.primary_of = {count + uid: uid for uid in range(1, count + 1)}
    for node, specs in agents.running.items():
        agents.addresses |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in specs.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test"
) -> AsyncIterator[None]:
    store, agents = store or console.store, agents or console.agents
    loop = ActionLoop(store, console.bus, {ActionName.MIGRATE_SHARDS: MoveShards(store, agents)}, instance)
    removal = RemovalLoop(store, console.bus, agents, Endpoints(store, console.bus, agents).update)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(removal.run())]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


async def migrate(console: Console, uid: int, target: int) -> str:
    async with console.store.begin() as session:
        action, _ = await shard_migration.schedule(session, [uid], target, ADMIN, dry_run=False)
    assert action is not None
    return action.uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        return await session.get_one(Action, uid)


async def is_over(console: Console, uid: str) -> bool:
    return (await read(console, uid)).status not in OPEN_STATUSES


async def no_absent_shards(console: Console) -> bool:
    async with console.store.read() as session:
        return not await shards.list_absent(session)


async def pair(console: Console) -> list[Shard]:
    async with console.store.read() as session:
        return [row for row in await shards.list_for_bdb(session, active_database.BDB) if row.pair == 0]


async def check_pair(console: Console, agents: ReplicatingAgents) -> dict[int, str]:
    """Check that rows, agents and engines agree on pair 0. Return the role by node."""
    rows = await pair(console)
    assert sorted(row.current_role for row in rows) == ["master", "slave"]
    node_of = {uid: node for node, specs in agents.running.items() for uid in specs}
    async with console.store.read() as session:
        assert set(node_of) == {row.uid for row in await shards.list_for_bdb(session, active_database.BDB)}
        bdb = await session.get_one(Bdb, active_database.BDB)
        assert (bdb.status, bdb.action_uid) == ("active", None)
    assert all(node_of[row.uid] == row.node_uid for row in rows)
    primary = next(row.uid for row in rows if row.current_role == "master")
    assert agents.primary_of == {**agents.primary_of, **{row.uid: primary for row in rows if row.uid != primary}}
    assert primary not in agents.primary_of
    return {row.node_uid: row.current_role for row in rows}


async def free_node(console: Console) -> int:
    [free] = {1, 2, 3} - {row.node_uid for row in await pair(console)}
    return free


async def shard_with_role(console: Console, role: str) -> Shard:
    return next(row for row in await pair(console) if row.current_role == role)


@pytest.mark.usefixtures("shop")
async def test_a_move_of_the_previous_release_continues(console: Console, agents: ReplicatingAgents) -> None:
    target = await free_node(console)
    uid = await migrate(console, (await shard_with_role(console, "master")).uid, target)
    await store_as_previous_release(console, uid)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    assert (await read(console, uid)).status == "completed"
    assert (await check_pair(console, agents))[target] == "master"


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("role", ["master", "slave"])
async def test_a_shard_is_moved(console: Console, agents: ReplicatingAgents, role: str) -> None:
    moving, target = await shard_with_role(console, role), await free_node(console)
    uid = await migrate(console, moving.uid, target)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    action = await read(console, uid)
    assert (action.status, action.error, action.progress) == ("completed", "", 100)
    assert (await check_pair(console, agents))[target] == role
    sharded = len(agents.primary_of) > 1
    assert agents.forgotten_ids == ({moving.engine_id} if sharded else set())
    async with console.store.read() as session:
        event_types = [event.type for event in await events.page(session, newest_first=False)]
    assert "shard_moved" in event_types
    assert ("shard_failover" in event_types) == (role == "master")


@pytest.mark.usefixtures("shop")
async def test_killed_at_every_step_a_move_completes(
    console: Console, agents: ReplicatingAgents, sampling: Sampling
) -> None:
    # A step is before or after each call and each transaction.
    for step in sampling.kill_steps(MIN_STEPS, 200):
        moving, target = await shard_with_role(console, "master"), await free_node(console)
        uid = await migrate(console, moving.uid, target)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            completed = await _completes_before_gate(gate, lambda uid=uid: is_over(console, uid))
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).lease_until = None
        async with running(console, instance="test" if step % 2 else "another"):
            await wait_until(lambda uid=uid: is_over(console, uid))
            await wait_until(lambda: no_absent_shards(console))
        action = await read(console, uid)
        assert (action.status, action.error) == ("completed", ""), f"killed at step {step}"
        assert (await check_pair(console, agents))[target] == "master", f"killed at step {step}"
        if completed:
            assert step > MIN_STEPS
            return
    raise AssertionError("the operation never completed")


@pytest.mark.usefixtures("cluster_shop")
@pytest.mark.parametrize("role", ["master", "slave"])
async def test_cancelled_at_every_step_no_partial_result_is_left(
    console: Console, agents: ReplicatingAgents, role: str, sampling: Sampling
) -> None:
    statuses = set()
    for step in sampling.kill_steps(MIN_STEPS, 200):
        moving, target = await shard_with_role(console, role), await free_node(console)
        before = await check_pair(console, agents)
        uid = await migrate(console, moving.uid, target)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            completed = await _completes_before_gate(gate, lambda uid=uid: is_over(console, uid))
            async with console.store.begin() as session:
                action = await session.get_one(Action, uid)
                if action.status in OPEN_STATUSES:  # otherwise, the removal after the action is at the gate
                    await action_service.cancel(session, action, ADMIN)
            gate.opened.set()
            await wait_until(lambda uid=uid: is_over(console, uid))
            await wait_until(lambda: no_absent_shards(console))
        status = (await read(console, uid)).status
        statuses.add(status)
        after = await check_pair(console, agents)
        if status == "cancelled" and target not in after:
            assert after == before, f"cancelled at step {step}"
        elif status != "cancelled":
            assert (status, after[target]) == ("completed", role), f"cancelled at step {step}"
        if completed:
            assert statuses >= ({"cancelled", "completed"} if sampling.thorough else {"completed"})
            return
    raise AssertionError("the operation never completed")


@pytest.mark.usefixtures("cluster_shop")
async def test_a_new_shard_that_does_not_start_is_reported_and_undone(
    console: Console, agents: ReplicatingAgents
) -> None:
    agents.refusals = {7: "port 20000 is in use"}
    uid = await migrate(console, 1, 3)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    action = await read(console, uid)
    assert (action.status, action.error) == ("failed", "Shard redis:7 could not be started: port 20000 is in use.")
    assert (await check_pair(console, agents)) == {1: "master", 2: "slave"}


@pytest.mark.usefixtures("cluster_shop")
async def test_a_node_that_becomes_unreachable_fails_the_move(
    console: Console, agents: ReplicatingAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.stalled = {7}
    uid = await migrate(console, 1, 3)
    async with running(console):
        await wait_until(lambda: 7 in agents.running[3])
        await active_database.set_node_columns(console, 3, agent_status="lost")
        agents.unreachable = {3}
        monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.3))
        await wait_until(lambda: is_over(console, uid))
        assert (await read(console, uid)).status == "failed"
        agents.unreachable = set()
        await active_database.set_node_columns(console, 3, agent_status="connected")
        await wait_until(lambda: no_absent_shards(console))
    assert (await check_pair(console, agents)) == {1: "master", 2: "slave"}


@pytest.mark.usefixtures("cluster_shop")
async def test_full_syncs_of_a_move_respect_the_limit(console: Console, agents: ReplicatingAgents) -> None:
    agents.stalled = {7, 8}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).policy = {"max_slave_full_syncs": 1}
        action, _ = await shard_migration.schedule(session, [1, 5], 3, ADMIN, dry_run=True)
        assert action is None
    async with console.store.begin() as session:
        row = await session.get_one(Shard, 5)
        row.node_uid = 1
        agents.running[1][5] = agents.running[3].pop(5)
        agents.addresses[5] = ("10.0.0.1", row.port)
        action, _ = await shard_migration.schedule(session, [1, 5], 3, ADMIN, dry_run=False)
        assert action is not None
    async with running(console):
        await wait_until(lambda: 7 in agents.running[3])
        steps = await wait_until(lambda: _details(console, action.uid))
        assert steps == ["redis:7 is copying", "waiting"]
        assert 8 not in agents.running[3]
        agents.stalled = set()
        await wait_until(lambda: is_over(console, action.uid))
    assert (await read(console, action.uid)).status == "completed"


async def _details(console: Console, uid: str) -> list[str]:
    steps = (await read(console, uid)).steps
    details = [step.get("detail", "") for step in steps]
    return details if "redis:7 is copying" in details else []


async def _completes_before_gate(gate: Gate, condition: Any) -> bool:
    """Return whether the condition became true before the gate was reached."""
    finished, killed = asyncio.create_task(wait_until(condition)), asyncio.create_task(gate.reached.wait())
    await asyncio.wait((finished, killed), return_when=asyncio.FIRST_COMPLETED)
    completed = finished.done()
    finished.cancel()
    killed.cancel()
    return completed
