"""Resharding: killed or cancelled at any step, every slot has one owner, and the rows agree with the engines."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN, Gate, GatedAgents, GatedStore
from backend.tests.reconcilers.placement.fake_slot_engines import SlotMovingAgents
from backend.tests.support import active_database
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until

from shardboard.console import Console
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.domain.placement import resharding as domain
from shardboard.domain.placement import slots
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement import resharding as reshard
from shardboard.reconcilers.placement import resharding_steps as reshard_steps
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.cluster import actions as action_service
from shardboard.services.databases import bdbs as service
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

MIN_STEPS = 200
"""Minimum number of steps at which the operation can be killed."""

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("shop")]


@pytest.fixture
def agents() -> SlotMovingAgents:
    return SlotMovingAgents()


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(reshard_steps, "RETRY_SECONDS", 0.01)


@pytest.fixture
async def shop(console: Console, agents: SlotMovingAgents, nodes: object) -> None:
    """Primaries 1, 2, 3 with replicas 4, 5, 6, spread over the three nodes."""
    await active_database.create_active_database(console, agents, 3)
    agents.primary_of = {3 + uid: uid for uid in (1, 2, 3)}
    for node, specs in agents.running.items():
        agents.addresses |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in specs.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
        for row in await shards.list_for_bdb(session, active_database.BDB):
            if row.role == "master":
                agents.owners |= dict.fromkeys(slots.each(slots.parse(row.slots)), row.engine_id)


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test"
) -> AsyncIterator[None]:
    store, agents = store or console.store, agents or console.agents
    loop = ActionLoop(store, console.bus, {ActionName.RESHARD_BDB: reshard.Reshard(store, agents)}, instance)
    removal = RemovalLoop(store, console.bus, agents, Endpoints(store, console.bus, agents).update)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(removal.run())]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


async def start_change(console: Console, **changes: Any) -> str:
    async with console.store.begin() as session:
        bdb, _ = await service.update(session, active_database.BDB, changes, ADMIN)
        assert bdb.action_uid is not None
        return bdb.action_uid


async def read(console: Console, uid: str) -> Action:
    async with console.store.read() as session:
        return await session.get_one(Action, uid)


async def is_over(console: Console, uid: str) -> bool:
    return (await read(console, uid)).status not in OPEN_STATUSES


async def no_absent_shards(console: Console) -> bool:
    async with console.store.read() as session:
        return not await shards.list_absent(session)


async def rows(console: Console) -> list[Shard]:
    async with console.store.read() as session:
        return list(await shards.list_for_bdb(session, active_database.BDB))


async def check_slots(console: Console, agents: SlotMovingAgents, context: str = "") -> dict[int, int]:
    """Check that rows and engines agree on all shards and slots. Return the number of slots by pair."""
    current_rows = await rows(console)
    async with console.store.read() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
    assert (bdb.status, bdb.action_uid) == ("active", None), context
    assert bdb.shards_count == len({row.pair for row in current_rows}), context
    assert {uid for specs in agents.running.values() for uid in specs} == {row.uid for row in current_rows}, context
    assert len(current_rows) == 2 * bdb.shards_count, context
    assert not agents.migrating, f"slots are still migrating, {context}"
    pair_of = {row.engine_id: row.pair for row in current_rows}
    owned: dict[int, list[int]] = {row.pair: [] for row in current_rows}
    for slot in range(slots.SLOTS):
        owned[pair_of[agents.owners[slot]]].append(slot)
    assert {row.pair: row.slots for row in current_rows} == {
        pair: slots.render(slots.gather(pair_slots)) for pair, pair_slots in owned.items()
    }
    return {pair: len(pair_slots) for pair, pair_slots in owned.items()}


def is_even(sizes: dict[int, int]) -> bool:
    return max(sizes.values()) - min(sizes.values()) <= 1


async def test_a_reshard_of_the_previous_release_continues(console: Console, agents: SlotMovingAgents) -> None:
    uid = await start_change(console, shards_count=4)
    await store_as_previous_release(console, uid)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
    assert (await read(console, uid)).status == "completed"
    assert is_even(await check_slots(console, agents))


async def test_pairs_are_added(console: Console, agents: SlotMovingAgents) -> None:
    uid = await start_change(console, shards_count=5)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
    action = await read(console, uid)
    assert (action.status, action.error, action.progress) == ("completed", "", 100)
    assert [step["name"] for step in action.steps] == ["Start 4 shards", "Move 6,553 slots", "Confirm the new slot map"]
    sizes = await check_slots(console, agents)
    assert is_even(sizes)
    assert set(sizes) == set(range(5))
    assert all(row.observed_status == "ok" for row in await rows(console))
    new_shards = {row.uid for row in await rows(console) if row.pair > 2}
    assert {argv[2:4] for _, argv in agents.commands if argv[:2] == ("CLUSTER", "MEET")} == set(), (
        "the fake engines need no MEET"
    )
    memory_limits = {
        argv[3] for uid, argv in agents.commands if argv[:3] == ("CONFIG", "SET", "maxmemory") and uid not in new_shards
    }
    assert memory_limits == {str(10**9 // 6), str(10**9 // 10)}, (
        "the old memory limit during the move, then the new one"
    )
    async with console.store.read() as session:
        recent_events = await events.page(session, newest_first=True)
    newest = next(event for event in recent_events if event.type == "bdb_reshard_completed")
    assert newest.description.startswith("Database shop changed from 3 to 5 primaries in ")
    assert newest.details["keys"] == 65530


async def test_pairs_are_removed(console: Console, agents: SlotMovingAgents) -> None:
    agents.removal_delay = 0.1
    removed_ids = {row.engine_id for row in await rows(console) if row.pair > 0}
    uid = await start_change(console, shards_count=1)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    assert (await read(console, uid)).status == "completed"
    assert await check_slots(console, agents) == {0: slots.SLOTS}
    assert agents.forgotten_ids == removed_ids
    memory_limits = [
        argv[3] for uid, argv in agents.commands if uid == 1 and argv[:3] == ("CONFIG", "SET", "maxmemory")
    ]
    assert set(memory_limits) == {str(10**9 // 2)}, "a pair that receives slots gets the memory before the move"


async def test_killed_at_every_step_resharding_completes(
    console: Console, agents: SlotMovingAgents, sampling: Sampling
) -> None:
    for index, step in enumerate(sampling.kill_steps(MIN_STEPS, 400)):
        count = 3 if index % 2 else 5
        uid = await start_change(console, shards_count=count)
        gate = Gate(step)
        async with running(console, agents=GatedAgents(agents, gate), store=GatedStore(console.store, gate)):
            completed = await _completes_before_gate(gate, lambda uid=uid: is_over(console, uid))
        async with console.store.begin() as session:
            (await session.get_one(Action, uid)).lease_until = None
        async with running(console, instance="test" if index % 3 else "another"):
            await wait_until(lambda uid=uid: is_over(console, uid))
            await wait_until(lambda: no_absent_shards(console))
        action = await read(console, uid)
        assert (action.status, action.error) == ("completed", ""), f"killed at step {step}"
        sizes = await check_slots(console, agents, f"killed at step {step}")
        assert is_even(sizes)
        assert len(sizes) == count
        if completed:
            assert step > MIN_STEPS
            return
    raise AssertionError("the operation never completed")


async def test_cancelled_at_every_step_rows_and_engines_agree(
    console: Console, agents: SlotMovingAgents, sampling: Sampling
) -> None:
    outcomes = set()
    for step in sampling.kill_steps(MIN_STEPS, 400):
        before = await check_slots(console, agents)
        count = 3 if len(before) > 3 else 5
        uid = await start_change(console, shards_count=count)
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
        action = await read(console, uid)
        assert action.status in ("cancelled", "completed"), f"cancelled at step {step}: {action.error}"
        sizes = await check_slots(console, agents, f"cancelled at step {step}")
        assert all(sizes.values()), "no pair is left without slots"
        memory_limits = [argv[3] for _, argv in agents.commands if argv[:3] == ("CONFIG", "SET", "maxmemory")]
        assert abs(int(memory_limits[-1]) - 10**9 // (2 * len(sizes))) < 10, (
            "the memory is divided among the existing shards"
        )
        outcomes.add((action.status, len(sizes)))
        if completed:
            assert "completed" in {status for status, _ in outcomes}
            if sampling.thorough:
                assert ("cancelled", 3) in outcomes, "before any slot moved"
                assert ("cancelled", 5) in outcomes
            return
    raise AssertionError("the operation never completed")


@pytest.mark.parametrize("end", ["cancelled", "faster"])
async def test_a_requested_pause_is_kept_unless_the_pace_changes(
    console: Console, agents: SlotMovingAgents, end: str
) -> None:
    agents.pause = 1000.0
    uid = await start_change(console, shards_count=5)

    async def is_pausing() -> bool:
        return bool((await read(console, uid)).params.get("pause_until"))

    async with running(console):
        await wait_until(is_pausing)
        commands_before = len(agents.commands)
        await wait_until(lambda: len(agents.commands) > commands_before + 20)  # the loop continues to poll
        assert [call[0] for call in agents.calls].count("move_slots") == 1
        async with console.store.begin() as session:
            if end == "cancelled":
                await action_service.cancel(session, await session.get_one(Action, uid), ADMIN)
            else:
                cluster = await session.get_one(Cluster, 1)
                cluster.policy = {**cluster.policy, "resharding_pace": "fast"}
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    assert (await read(console, uid)).status == ("cancelled" if end == "cancelled" else "completed")
    await check_slots(console, agents)


async def test_resharding_waits_for_a_lost_primary(console: Console, agents: SlotMovingAgents) -> None:
    agents.batch_size = 200
    uid = await start_change(console, shards_count=4)
    async with running(console):
        await wait_until(lambda: len([call for call in agents.calls if call[0] == "move_slots"]) > 3)
        await active_database.kill_shards(console, agents, 1)
        await wait_until(lambda: waits(console, uid, "the primary of pair 0 is down"))
        agents.died.clear()
        agents.make_primary(4)
        agents.move_all_slots(f"{1:040x}", f"{4:040x}")
        await active_database.set_observed_state(console, 4, role="master")
        await active_database.set_observed_state(console, 1, role="slave", link="idle")
        await wait_until(lambda: is_over(console, uid))
    assert (await read(console, uid)).status == "completed"
    assert is_even(await check_slots(console, agents))


@pytest.mark.parametrize(("pace", "concurrent"), [("gentle", 1), ("fast", 3)])
async def test_batches_run_concurrently_only_at_the_fast_pace(
    console: Console, agents: SlotMovingAgents, pace: str, concurrent: int
) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).policy = {"resharding_pace": pace}
    uid = await start_change(console, shards_count=6)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
    assert is_even(await check_slots(console, agents))
    assert agents.max_concurrent == concurrent


async def test_a_stuck_source_does_not_delay_others(console: Console, agents: SlotMovingAgents) -> None:
    agents.stuck_sources = {1}
    uid = await start_change(console, shards_count=4)
    async with running(console):
        await wait_until(lambda: waits(console, uid, "no reply to MIGRATE"))
        slot_counts = Counter(agents.owners.values())
        assert slot_counts[f"{1:040x}"] == 5461
        assert slot_counts[f"{2:040x}"] == slot_counts[f"{3:040x}"] == 4096, "the other sources have moved their slots"
        agents.stuck_sources = set()
        await wait_until(lambda: is_over(console, uid))
    assert is_even(await check_slots(console, agents))


async def test_a_permanent_failure_ends_the_action_and_can_be_resumed(
    console: Console, agents: SlotMovingAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reshard_steps, "STALL_TIMEOUT", timedelta(seconds=0.3))
    agents.failure = "Target instance replied with error: OOM command not allowed"
    uid = await start_change(console, shards_count=4)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
    action = await read(console, uid)
    assert action.status == "failed"
    assert "OOM command not allowed" in action.error
    sizes = await check_slots(console, agents)
    assert sizes == {0: 5461, 1: 5462, 2: 5461, 3: 0}, (
        "the new pair is kept because it may hold keys of a migrating slot"
    )
    agents.failure = ""
    monkeypatch.setattr(reshard_steps, "STALL_TIMEOUT", timedelta(hours=1))
    async with console.store.begin() as session:
        bdb, _ = await service.revamp(session, active_database.BDB, {}, [], ADMIN)
    async with running(console):
        await wait_until(lambda: is_over(console, bdb.action_uid or ""))
    assert is_even(await check_slots(console, agents))


async def test_a_shard_that_does_not_start_leaves_nothing_behind(console: Console, agents: SlotMovingAgents) -> None:
    agents.refusals[8] = "port 20000 is in use"
    before = await check_slots(console, agents)
    uid = await start_change(console, shards_count=4)
    async with running(console):
        await wait_until(lambda: is_over(console, uid))
        await wait_until(lambda: no_absent_shards(console))
    action = await read(console, uid)
    assert (action.status, action.error) == ("failed", "Shard redis:8: port 20000 is in use.")
    assert await check_slots(console, agents) == before
    assert {pair: domain.count(slots.parse(row.slots)) for row in await rows(console) for pair in [row.pair]} == before


async def waits(console: Console, uid: str, reason: str) -> bool:
    return any(reason in step.get("detail", "") for step in (await read(console, uid)).steps)


async def _completes_before_gate(gate: Gate, ended: Any) -> bool:
    """Return whether the operation ended before the gate was reached."""

    async def ended_or_reached() -> bool:
        return gate.reached.is_set() or await ended()

    await wait_until(ended_or_reached)
    return not gate.reached.is_set()
