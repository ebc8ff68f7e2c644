"""Movements played through: killed or cancelled at any step, nothing half-made is left and the pair keeps its copies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.engines import Engines
from backend.tests.reconcilers.loops import ADMIN, Gate, GatedAgents, GatedStore
from backend.tests.sampling import Sampling
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.movement import moves
from shardboard.reconcilers.movement.moves import Relocate
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.services import actions as orders
from shardboard.services import migrations
from shardboard.state import actions, events, shards
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster
from shardboard.state.shards import Shard

MIN_STEPS = 70
"""An operation has at least so many steps at which it can be killed."""

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@pytest.fixture
def agents() -> Engines:
    return Engines()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(moves, "PACE", 0.01)


@pytest.fixture(params=[True, False], ids=["cluster", "alone"])
async def shop(console: Console, agents: Engines, nodes: object, request: pytest.FixtureRequest) -> None:
    await begin(console, agents, sharding=request.param)


@pytest.fixture
async def cluster_shop(console: Console, agents: Engines, nodes: object) -> None:
    await begin(console, agents)


async def begin(console: Console, agents: Engines, *, sharding: bool = True) -> None:
    """Primaries 1, 2, 3 on nodes 1, 2, 3 with replicas 4, 5, 6 on nodes 2, 3, 1; outside cluster mode only 1 and 2."""
    count = 3 if sharding else 1
    await pairs.active(console, agents, count, sharding=sharding)
    agents.heads = {count + uid: uid for uid in range(1, count + 1)}
    for node, held in agents.running.items():
        agents.places |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in held.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test"
) -> AsyncIterator[None]:
    store, agents = store or console.store, agents or console.agents
    loop = ActionLoop(store, console.bus, {moves.MIGRATE: Relocate(store, agents)}, instance)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(RemovalLoop(store, console.bus, agents).run())]
    try:
        yield
    finally:
        working = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *working, return_exceptions=True)


async def migrate(console: Console, uid: int, target: int) -> str:
    async with console.store.begin() as session:
        action, _ = await migrations.order(session, [uid], target, ADMIN, dry_run=False)
    assert action is not None
    return action.uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        return await session.get_one(Action, uid)


async def over(console: Console, uid: str) -> bool:
    return (await read(console, uid)).status not in actions.OPEN


async def clean(console: Console) -> bool:
    async with console.store.read() as session:
        return not await shards.absent(session)


async def pair(console: Console) -> list[Shard]:
    async with console.store.read() as session:
        return [row for row in await shards.of_bdb(session, pairs.BDB) if row.pair == 0]


async def check(console: Console, agents: Engines) -> dict[int, str]:
    """Rows, agents and engines say the same of pair 0: role by node."""
    rows = await pair(console)
    assert sorted(row.current_role for row in rows) == ["master", "slave"]
    held = {uid: node for node, specs in agents.running.items() for uid in specs}
    async with console.store.read() as session:
        assert set(held) == {row.uid for row in await shards.of_bdb(session, pairs.BDB)}
        bdb = await session.get_one(Bdb, pairs.BDB)
        assert (bdb.status, bdb.action_uid) == ("active", None)
    assert all(held[row.uid] == row.node_uid for row in rows)
    leader = next(row.uid for row in rows if row.current_role == "master")
    assert agents.heads == {**agents.heads, **{row.uid: leader for row in rows if row.uid != leader}}
    assert leader not in agents.heads
    return {row.node_uid: row.current_role for row in rows}


async def free_node(console: Console) -> int:
    [free] = {1, 2, 3} - {row.node_uid for row in await pair(console)}
    return free


async def of_role(console: Console, role: str) -> Shard:
    return next(row for row in await pair(console) if row.current_role == role)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("role", ["master", "slave"])
async def test_a_shard_moves(console: Console, agents: Engines, role: str) -> None:
    moving, target = await of_role(console, role), await free_node(console)
    uid = await migrate(console, moving.uid, target)
    async with running(console):
        await until(lambda: over(console, uid))
        await until(lambda: clean(console))
    action = await read(console, uid)
    assert (action.status, action.error, action.progress) == ("completed", "", 100)
    assert (await check(console, agents))[target] == role
    sharded = len(agents.heads) > 1
    assert agents.forgotten == ({moving.engine_id} if sharded else set())
    async with console.store.read() as session:
        told = [event.type for event in await events.page(session, newest_first=False)]
    assert "shard_moved" in told
    assert ("shard_failover" in told) == (role == "master")


@pytest.mark.usefixtures("shop")
async def test_killed_at_every_step_it_ends_well(console: Console, agents: Engines, sampling: Sampling) -> None:
    for step in sampling.kill_steps(
        MIN_STEPS, 200
    ):  # before every call and every transaction; behind one is before the next
        moving, target = await of_role(console, "master"), await free_node(console)
        uid = await migrate(console, moving.uid, target)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            came_through = await _reached_or(gate, lambda uid=uid: over(console, uid))
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).lease_until = None
        async with running(console, instance="test" if step % 2 else "another"):
            await until(lambda uid=uid: over(console, uid))
            await until(lambda: clean(console))
        action = await read(console, uid)
        assert (action.status, action.error) == ("completed", ""), f"killed at step {step}"
        assert (await check(console, agents))[target] == "master", f"killed at step {step}"
        if came_through:
            assert step > MIN_STEPS
            return
    raise AssertionError("it never came through")


@pytest.mark.usefixtures("cluster_shop")
@pytest.mark.parametrize("role", ["master", "slave"])
async def test_cancelled_at_every_step_nothing_half_made_is_left(
    console: Console, agents: Engines, role: str, sampling: Sampling
) -> None:
    ends = set()
    for step in sampling.kill_steps(MIN_STEPS, 200):
        moving, target = await of_role(console, role), await free_node(console)
        before = await check(console, agents)
        uid = await migrate(console, moving.uid, target)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            came_through = await _reached_or(gate, lambda uid=uid: over(console, uid))
            async with console.store.begin() as session:
                action = await session.get_one(Action, uid)
                if action.status in actions.OPEN:  # else it is the removal after it that stands at the gate
                    await orders.cancel(session, action, ADMIN)
            gate.opened.set()
            await until(lambda uid=uid: over(console, uid))
            await until(lambda: clean(console))
        status = (await read(console, uid)).status
        ends.add(status)
        after = await check(console, agents)
        if status == "cancelled" and target not in after:
            assert after == before, f"cancelled at step {step}"
        elif status != "cancelled":
            assert (status, after[target]) == ("completed", role), f"cancelled at step {step}"
        if came_through:
            assert ends >= ({"cancelled", "completed"} if sampling.thorough else {"completed"})
            return
    raise AssertionError("it never came through")


@pytest.mark.usefixtures("cluster_shop")
async def test_a_newcomer_that_does_not_start_is_told_and_undone(console: Console, agents: Engines) -> None:
    agents.refuse = {7: "port 20000 is in use"}
    uid = await migrate(console, 1, 3)
    async with running(console):
        await until(lambda: over(console, uid))
        await until(lambda: clean(console))
    action = await read(console, uid)
    assert (action.status, action.error) == ("failed", "Shard redis:7 could not be started: port 20000 is in use.")
    assert (await check(console, agents)) == {1: "master", 2: "slave"}


@pytest.mark.usefixtures("cluster_shop")
async def test_a_node_that_goes_away_meanwhile_ends_it(
    console: Console, agents: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.held_back = {7}
    uid = await migrate(console, 1, 3)
    async with running(console):
        await until(lambda: 7 in agents.running[3])
        await pairs.node_is(console, 3, agent_status="lost")
        agents.unreachable = {3}
        monkeypatch.setattr(loops, "PATIENCE", timedelta(seconds=0.3))
        await until(lambda: over(console, uid))
        assert (await read(console, uid)).status == "failed"
        agents.unreachable = set()
        await pairs.node_is(console, 3, agent_status="connected")
        await until(lambda: clean(console))
    assert (await check(console, agents)) == {1: "master", 2: "slave"}


@pytest.mark.usefixtures("cluster_shop")
async def test_copies_take_turns(console: Console, agents: Engines) -> None:
    agents.held_back = {7, 8}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).policy = {"max_slave_full_syncs": 1}
        action, _ = await migrations.order(session, [1, 5], 3, ADMIN, dry_run=True)
        assert action is None
    async with console.store.begin() as session:
        row = await session.get_one(Shard, 5)
        row.node_uid = 1
        agents.running[1][5] = agents.running[3].pop(5)
        agents.places[5] = ("10.0.0.1", row.port)
        action, _ = await migrations.order(session, [1, 5], 3, ADMIN, dry_run=False)
        assert action is not None
    async with running(console):
        await until(lambda: 7 in agents.running[3])
        steps = await until(lambda: _details(console, action.uid))
        assert steps == ["redis:7 is copying", "waiting"]
        assert 8 not in agents.running[3]
        agents.held_back = set()
        await until(lambda: over(console, action.uid))
    assert (await read(console, action.uid)).status == "completed"


async def _details(console: Console, uid: str) -> list[str]:
    steps = (await read(console, uid)).steps
    details = [step.get("detail", "") for step in steps]
    return details if "redis:7 is copying" in details else []


async def _reached_or(gate: Gate, condition: Any) -> bool:
    """Whether the condition came true before the gate was reached."""
    finished, killed = asyncio.create_task(until(condition)), asyncio.create_task(gate.reached.wait())
    await asyncio.wait((finished, killed), return_when=asyncio.FIRST_COMPLETED)
    came_through = finished.done()
    finished.cancel()
    killed.cancel()
    return came_through
