"""Another number of pairs played through: killed or cancelled at any step, every slot has one owner, and the rows say who."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.loops import ADMIN, Gate, GatedAgents, GatedStore
from backend.tests.reconcilers.slot_engines import SlotEngines
from backend.tests.sampling import Sampling
from backend.tests.shards import until

from shardboard.console import Console
from shardboard.domain import reshard as domain
from shardboard.domain import slots
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.removal import RemovalLoop
from shardboard.reconcilers.reshard import action as reshard
from shardboard.reconcilers.reshard import steps as reshard_steps
from shardboard.services import actions as orders
from shardboard.services import bdbs as service
from shardboard.state import actions, events, shards
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster
from shardboard.state.shards import Shard

MIN_STEPS = 200
"""An operation has at least so many steps at which it can be killed."""

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("shop")]


@pytest.fixture
def agents() -> SlotEngines:
    return SlotEngines()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(reshard_steps, "AGAIN_IN", 0.01)


@pytest.fixture
async def shop(console: Console, agents: SlotEngines, nodes: object) -> None:
    """Primaries 1, 2, 3 with replicas 4, 5, 6, spread over the three nodes."""
    await pairs.active(console, agents, 3)
    agents.heads = {3 + uid: uid for uid in (1, 2, 3)}
    for node, held in agents.running.items():
        agents.places |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in held.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
        for row in await shards.of_bdb(session, pairs.BDB):
            if row.role == "master":
                agents.owners |= dict.fromkeys(slots.each(slots.parse(row.slots)), row.engine_id)


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test"
) -> AsyncIterator[None]:
    store, agents = store or console.store, agents or console.agents
    loop = ActionLoop(store, console.bus, {reshard.NAME: reshard.Reshard(store, agents)}, instance)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(RemovalLoop(store, console.bus, agents).run())]
    try:
        yield
    finally:
        working = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *working, return_exceptions=True)


async def order(console: Console, **given: Any) -> str:
    async with console.store.begin() as session:
        bdb, _ = await service.update(session, pairs.BDB, given, ADMIN)
        assert bdb.action_uid is not None
        return bdb.action_uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        return await session.get_one(Action, uid)


async def over(console: Console, uid: str) -> bool:
    return (await read(console, uid)).status not in actions.OPEN


async def clean(console: Console) -> bool:
    async with console.store.read() as session:
        return not await shards.absent(session)


async def rows(console: Console) -> list[Shard]:
    async with console.store.read() as session:
        return list(await shards.of_bdb(session, pairs.BDB))


async def check(console: Console, agents: SlotEngines, why: str = "") -> dict[int, int]:
    """Rows and engines agree on every slot and on who is there. How many slots each pair holds."""
    held = await rows(console)
    async with console.store.read() as session:
        bdb = await session.get_one(Bdb, pairs.BDB)
    assert (bdb.status, bdb.action_uid) == ("active", None), why
    assert bdb.shards_count == len({row.pair for row in held}), why
    assert {uid for specs in agents.running.values() for uid in specs} == {row.uid for row in held}, why
    assert len(held) == 2 * bdb.shards_count, why
    assert not agents.between, f"slots were left open, {why}"
    pair_of = {row.engine_id: row.pair for row in held}
    said: dict[int, list[int]] = {row.pair: [] for row in held}
    for slot in range(slots.SLOTS):
        said[pair_of[agents.owners[slot]]].append(slot)
    assert {row.pair: row.slots for row in held} == {pair: slots.render(slots.gather(of)) for pair, of in said.items()}
    return {pair: len(of) for pair, of in said.items()}


def even(sizes: dict[int, int]) -> bool:
    return max(sizes.values()) - min(sizes.values()) <= 1


async def test_pairs_are_added(console: Console, agents: SlotEngines) -> None:
    uid = await order(console, shards_count=5)
    async with running(console):
        await until(lambda: over(console, uid))
    action = await read(console, uid)
    assert (action.status, action.error, action.progress) == ("completed", "", 100)
    assert [step["name"] for step in action.steps] == ["Start 4 shards", "Move 6,553 slots", "Confirm the new slot map"]
    sizes = await check(console, agents)
    assert even(sizes)
    assert set(sizes) == set(range(5))
    assert all(row.observed_status == "ok" for row in await rows(console))
    fresh = {row.uid for row in await rows(console) if row.pair > 2}
    assert {argv[2:4] for _, argv in agents.commands if argv[:2] == ("CLUSTER", "MEET")} == set(), "all know all here"
    told = {argv[3] for uid, argv in agents.commands if argv[:3] == ("CONFIG", "SET", "maxmemory") and uid not in fresh}
    assert told == {str(10**9 // 6), str(10**9 // 10)}, "the memory of before until it is over, then that of now"
    async with console.store.read() as session:
        told_last = await events.page(session, newest_first=True)
    newest = next(event for event in told_last if event.type == "bdb_reshard_completed")
    assert newest.description.startswith("Database shop changed from 3 to 5 primaries in ")
    assert newest.details["keys"] == 65530


async def test_pairs_are_removed(console: Console, agents: SlotEngines) -> None:
    gone = {row.engine_id for row in await rows(console) if row.pair > 0}
    uid = await order(console, shards_count=1)
    async with running(console):
        await until(lambda: over(console, uid))
        await until(lambda: clean(console))
    assert (await read(console, uid)).status == "completed"
    assert await check(console, agents) == {0: slots.SLOTS}
    assert agents.forgotten == gone
    told = [argv[3] for uid, argv in agents.commands if uid == 1 and argv[:3] == ("CONFIG", "SET", "maxmemory")]
    assert set(told) == {str(10**9 // 2)}, "who shall hold more has the memory from the beginning"


async def test_killed_at_every_step_it_ends_well(console: Console, agents: SlotEngines, sampling: Sampling) -> None:
    for turn, step in enumerate(sampling.kill_steps(MIN_STEPS, 400)):
        count = 3 if turn % 2 else 5
        uid = await order(console, shards_count=count)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            came_through = await _reached_or(gate, lambda uid=uid: over(console, uid))
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).lease_until = None
        async with running(console, instance="test" if turn % 3 else "another"):
            await until(lambda uid=uid: over(console, uid))
            await until(lambda: clean(console))
        action = await read(console, uid)
        assert (action.status, action.error) == ("completed", ""), f"killed at step {step}"
        sizes = await check(console, agents, f"killed at step {step}")
        assert even(sizes)
        assert len(sizes) == count
        if came_through:
            assert step > MIN_STEPS
            return
    raise AssertionError("it never came through")


async def test_cancelled_at_every_step_what_was_reached_is_true(
    console: Console, agents: SlotEngines, sampling: Sampling
) -> None:
    ends = set()
    for step in sampling.kill_steps(MIN_STEPS, 400):
        before = await check(console, agents)
        count = 3 if len(before) > 3 else 5
        uid = await order(console, shards_count=count)
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
        sizes = await check(console, agents, f"cancelled at step {step}")
        assert all(sizes.values()), "nobody stays without slots"
        told = [argv[3] for _, argv in agents.commands if argv[:3] == ("CONFIG", "SET", "maxmemory")]
        assert abs(int(told[-1]) - 10**9 // (2 * len(sizes))) < 10, "the memory is shared by those that there are"
        assert status in ("cancelled", "completed")
        ends.add((status, len(sizes)))
        if came_through:
            assert "completed" in {status for status, _ in ends}
            if sampling.thorough:
                assert ("cancelled", 3) in ends, "before any slot had moved"
                assert ("cancelled", 5) in ends
            return
    raise AssertionError("it never came through")


@pytest.mark.parametrize("end", ["cancelled", "in a hurry"])
async def test_shards_are_left_alone_as_long_as_they_want(console: Console, agents: SlotEngines, end: str) -> None:
    agents.rest = 1000.0
    uid = await order(console, shards_count=5)

    async def resting() -> bool:
        return bool((await read(console, uid)).params.get("rest_until"))

    async with running(console):
        await until(resting)
        looks = len(agents.commands)
        await until(lambda: len(agents.commands) > looks + 20)  # it looks on
        assert [call[0] for call in agents.calls].count("move_slots") == 1
        async with console.store.begin() as session:
            if end == "cancelled":
                await orders.cancel(session, await session.get_one(Action, uid), ADMIN)
            else:
                cluster = await session.get_one(Cluster, 1)
                cluster.policy = {**cluster.policy, "resharding_pace": "fast"}
        await until(lambda: over(console, uid))
        await until(lambda: clean(console))
    assert (await read(console, uid)).status == ("cancelled" if end == "cancelled" else "completed")
    await check(console, agents)


async def test_a_lost_primary_is_waited_for(console: Console, agents: SlotEngines) -> None:
    agents.at_once = 200
    uid = await order(console, shards_count=4)
    async with running(console):
        await until(lambda: len([call for call in agents.calls if call[0] == "move_slots"]) > 3)
        await pairs.die(console, agents, 1)
        await until(lambda: waits(console, uid, "the primary of pair 0 is down"))
        agents.died.clear()
        agents.lead(4)
        agents.hand(f"{1:040x}", f"{4:040x}")
        await pairs.observe(console, 4, role="master")
        await pairs.observe(console, 1, role="slave", link="idle")
        await until(lambda: over(console, uid))
    assert (await read(console, uid)).status == "completed"
    assert even(await check(console, agents))


@pytest.mark.parametrize(("pace", "side_by_side"), [("gentle", 1), ("fast", 3)])
async def test_one_batch_at_a_time_unless_it_shall_be_fast(
    console: Console, agents: SlotEngines, pace: str, side_by_side: int
) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).policy = {"resharding_pace": pace}
    uid = await order(console, shards_count=6)
    async with running(console):
        await until(lambda: over(console, uid))
    assert even(await check(console, agents))
    assert agents.side_by_side == side_by_side


async def test_a_source_that_is_stuck_holds_up_nobody_else(console: Console, agents: SlotEngines) -> None:
    agents.stuck = {1}
    uid = await order(console, shards_count=4)
    async with running(console):
        await until(lambda: waits(console, uid, "no answer to MIGRATE"))
        held = Counter(agents.owners.values())
        assert held[f"{1:040x}"] == 5461
        assert held[f"{2:040x}"] == held[f"{3:040x}"] == 4096, "the others have given theirs meanwhile"
        agents.stuck = set()
        await until(lambda: over(console, uid))
    assert even(await check(console, agents))


async def test_what_stays_in_the_way_ends_it(
    console: Console, agents: SlotEngines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshard_steps, "STALLED", timedelta(seconds=0.3))
    agents.in_the_way = "Target instance replied with error: OOM command not allowed"
    uid = await order(console, shards_count=4)
    async with running(console):
        await until(lambda: over(console, uid))
    action = await read(console, uid)
    assert action.status == "failed"
    assert "OOM command not allowed" in action.error
    sizes = await check(console, agents)
    assert sizes == {0: 5461, 1: 5462, 2: 5461, 3: 0}, "a new pair stays: it may hold keys of a slot that is open"
    agents.in_the_way = ""
    monkeypatch.setattr(reshard_steps, "STALLED", timedelta(hours=1))
    async with console.store.begin() as session:
        bdb, _ = await service.revamp(session, pairs.BDB, {}, [], ADMIN)
    async with running(console):
        await until(lambda: over(console, bdb.action_uid or ""))
    assert even(await check(console, agents))


async def test_a_shard_that_does_not_start_leaves_nothing_behind(console: Console, agents: SlotEngines) -> None:
    agents.refuse[8] = "port 20000 is in use"
    before = await check(console, agents)
    uid = await order(console, shards_count=4)
    async with running(console):
        await until(lambda: over(console, uid))
        await until(lambda: clean(console))
    action = await read(console, uid)
    assert (action.status, action.error) == ("failed", "Shard redis:8: port 20000 is in use.")
    assert await check(console, agents) == before
    assert {pair: domain.count(slots.parse(row.slots)) for row in await rows(console) for pair in [row.pair]} == before


async def waits(console: Console, uid: str, reason: str) -> bool:
    return any(reason in step.get("detail", "") for step in (await read(console, uid)).steps)


async def _reached_or(gate: Gate, ended: Any) -> bool:
    """True when it ended before the gate was reached."""

    async def either() -> bool:
        return gate.reached.is_set() or await ended()

    await until(either)
    return not gate.reached.is_set()
