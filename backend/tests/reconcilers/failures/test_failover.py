"""Failovers from the loss to the event: requested once, with the best replica, and resumed after the console is killed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN, Gate, GatedAgents, GatedStore
from backend.tests.support import active_database
from backend.tests.support.case_sampling import Sampling
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until
from sqlalchemy import text

from shardboard.actions import queue
from shardboard.actions.failure_parameters import FailoverParameters, Promotion
from shardboard.console import Console
from shardboard.contract import ShardSpec
from shardboard.domain import backoff
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.driver import planned_failover as machines
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures import failover
from shardboard.reconcilers.failures.failover import Failover, FailoverLoop, RequestedFailover
from shardboard.reconcilers.loop import ActionLoop, Outcome
from shardboard.reconcilers.placement import planned_failover
from shardboard.services.failures import failover as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]

OFFSETS: dict[int, float] = {1: 1000, 2: 2000, 3: 3000}
"""The last sampled replication offsets of the primaries."""


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failover, "VOTE_SECONDS", 0.01)
    monkeypatch.setattr(machines, "VOTE_SECONDS", 0.02)
    monkeypatch.setattr(planned_failover, "RETRY_SCALE", 0.01)
    monkeypatch.setattr(FailoverLoop, "seconds", 0.05)
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)


@pytest.fixture
async def shop(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents)
    agents.offsets = {1: 1000, 2: 2000, 3: 3000, 4: 900, 5: 2000, 6: 3100}


@asynccontextmanager
async def running(
    console: Console, *, agents: Any = None, store: Any = None, instance: str = "test", last_offset: Any = OFFSETS.get
) -> AsyncIterator[None]:
    """Run the loop that requests failovers and the loop that performs them. At the end, they stop as in a killed console."""
    store, agents = store or console.store, agents or console.agents
    steps = {
        ActionName.FAILOVER: Failover(store, agents, last_offset),
        ActionName.SHARD_FAILOVER: RequestedFailover(store, agents, last_offset),
    }
    loop = ActionLoop(store, console.bus, steps, instance)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(FailoverLoop(store, console.bus).run())]
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


async def events_of_types(console: Console, *types: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type in types]


async def is_over(console: Console) -> bool:
    action_rows = await actions_of_bdb(console)
    return bool(action_rows) and all(each.status not in OPEN_STATUSES for each in action_rows)


async def has_failures(console: Console, count: int) -> bool:
    return sum(each.status == "failed" for each in await actions_of_bdb(console)) >= count


async def is_promoted(console: Console, promoted: int) -> bool:
    return (await active_database.get_shard(console, promoted)).role == "master"


def promotions(agents: FakeAgents) -> list[tuple[int, tuple[str, ...]]]:
    return [each for each in agents.commands if "FAILOVER" in each[1] or each[1][0] == "REPLICAOF"]


@pytest.mark.usefixtures("shop")
class TestLostPrimary:
    async def test_a_lost_primary_is_replaced(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1)
        async with running(console):
            await wait_until(lambda: is_over(console))
        [action] = await actions_of_bdb(console)
        assert (action.status, action.description, action.originator) == (
            "completed",
            "Fail over 1 shard of shop",
            "system",
        )
        assert promotions(agents) == [(4, ("CLUSTER", "FAILOVER", "FORCE"))]
        [event] = await events_of_types(console, "shard_failover")
        assert {name: event.details[name] for name in ("pair", "lost", "promoted", "bytes_behind", "method")} == {
            "pair": 0,
            "lost": 1,
            "promoted": 4,
            "bytes_behind": 100,
            "method": "FORCE",
        }
        assert 0 <= event.details["seconds"] < 10
        assert (event.shard_uid, event.node_uid, event.bdb_uid, event.action_uid) == (4, 1, 1, action.uid)
        assert event.description.startswith("Replica redis:4 on node 2 took over from redis:1 of shop ")
        assert event.description.endswith("it lacked 100 bytes that its primary last reported.")
        promoted, lost = await active_database.get_shard(console, 4), await active_database.get_shard(console, 1)
        assert (promoted.role, promoted.observed_role, promoted.observed_link) == ("master", "master", "")
        assert (lost.role, lost.observed_role, lost.observed_status) == ("slave", "slave", "down")

    async def test_all_primaries_of_a_node_are_replaced_at_once(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1, 2)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert promotions(agents) == [
            (4, ("CLUSTER", "FAILOVER", "TAKEOVER")),
            (5, ("CLUSTER", "FAILOVER", "TAKEOVER")),
        ], "two of three primaries are lost, so no majority can vote"
        failover_events = await events_of_types(console, "shard_failover")
        assert [(event.details["promoted"], event.details["bytes_behind"]) for event in failover_events] == [
            (4, 100),
            (5, 0),
        ]
        assert failover_events[1].description.endswith("it had all data that its primary last reported.")

    async def test_primaries_without_a_replica_do_not_count_as_voters(
        self, console: Console, agents: FakeAgents
    ) -> None:
        await active_database.kill_shards(console, agents, 1, 2, 5)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert promotions(agents) == [(4, ("CLUSTER", "FAILOVER", "TAKEOVER"))]

    async def test_a_failover_of_the_previous_release_continues(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1)
        async with console.store.begin() as session:
            await clusters.load_for_update(session)
            action = queue.enqueue(
                session,
                ActionName.FAILOVER,
                object_uid=active_database.BDB,
                description="Fail over 1 shard of shop",
                originator="system",
                deadline=timedelta(minutes=1),
                params=FailoverParameters(chosen=(Promotion(0, 1, 4, 77, "FORCE"),)),
            )
        await store_as_previous_release(console, action.uid)
        async with running(console):
            await wait_until(lambda: is_over(console))
        [event] = await events_of_types(console, "shard_failover")
        assert event.details["bytes_behind"] == 77, "the choice is kept"

    async def test_the_replica_with_the_highest_offset_is_chosen(self, console: Console, agents: FakeAgents) -> None:
        await add_second_replica(console, agents)
        await active_database.kill_shards(console, agents, 1)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert [uid for uid, _ in promotions(agents)] == [7]
        [event] = await events_of_types(console, "shard_failover")
        assert (event.details["promoted"], event.details["bytes_behind"]) == (7, 50)

    async def test_an_unknown_replication_lag_is_reported_as_unknown(
        self, console: Console, agents: FakeAgents
    ) -> None:
        await active_database.kill_shards(console, agents, 1)
        async with running(console, last_offset=lambda uid: None):
            await wait_until(lambda: is_over(console))
        [event] = await events_of_types(console, "shard_failover")
        assert event.details["bytes_behind"] is None
        assert event.description.endswith("its replication lag is unknown.")

    async def test_a_replica_that_loses_the_vote_takes_over(self, console: Console, agents: FakeAgents) -> None:
        """The engine does not start another election within 20 s."""
        agents.votes_refused = {4: 2}
        await active_database.kill_shards(console, agents, 1)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert [argv[-1] for _, argv in promotions(agents)] == ["FORCE", "TAKEOVER", "TAKEOVER"]
        [event] = await events_of_types(console, "shard_failover")
        assert event.details["method"] == "TAKEOVER"

    async def test_without_a_majority_of_nodes_no_replica_takes_over(
        self, console: Console, agents: FakeAgents
    ) -> None:
        for uid in (1, 3):
            await active_database.set_node_columns(console, uid, health="down")
        agents.votes_refused = {4: 2}
        await active_database.kill_shards(console, agents, 1)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert [argv[-1] for _, argv in promotions(agents)] == ["FORCE"] * 3

    async def test_the_faster_of_two_failovers_keeps_its_event(self, console: Console, agents: FakeAgents) -> None:
        agents.votes_refused = {5: 10_000}
        await active_database.kill_shards(console, agents, 1, 2)
        async with running(console):
            await wait_until(lambda: 4 in agents.promoted)
            await active_database.set_observed_state(
                console, 4, role="master"
            )  # a sample reports the promotion before the action ends
            agents.offsets[4] = 10**6
            agents.votes_refused = {}
            await wait_until(lambda: is_over(console))
        failover_events = await events_of_types(console, "shard_failover")
        assert sorted((event.details["promoted"], event.details["bytes_behind"]) for event in failover_events) == [
            (4, 100),
            (5, 0),
        ]
        assert {(await active_database.get_shard(console, uid)).role for uid in (4, 5)} == {"master"}

    async def test_a_primary_without_a_confirmed_death_is_not_replaced(self, console: Console) -> None:
        for status in ("timeout", "unknown", "loading"):
            await active_database.set_observed_state(console, 1, status=status)
            await FailoverLoop(console.store, console.bus).sweep()
            assert await actions_of_bdb(console) == [], status

    async def test_without_a_living_replica_no_failover_is_requested(
        self, console: Console, agents: FakeAgents
    ) -> None:
        await active_database.kill_shards(console, agents, 1, 4)
        await active_database.kill_shards(console, agents, 2)
        await active_database.set_observed_state(console, 5, status="timeout")
        await FailoverLoop(console.store, console.bus).sweep()
        assert await actions_of_bdb(console) == []

    async def test_databases_being_created_or_deleted_are_ignored(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1)
        for status in ("pending", "creation-failed", "delete-pending"):
            async with console.store.begin() as session:
                (await session.get_one(Bdb, active_database.BDB)).status = status
            await FailoverLoop(console.store, console.bus).sweep()
            assert await actions_of_bdb(console) == [], status

    async def test_a_failover_is_requested_once(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1)
        loop = FailoverLoop(console.store, console.bus)
        for _ in range(3):
            await loop.sweep()
        assert len(await actions_of_bdb(console)) == 1

    async def test_two_consoles_request_and_promote_once(self, console: Console, agents: FakeAgents) -> None:
        await active_database.kill_shards(console, agents, 1)
        await asyncio.gather(*(FailoverLoop(console.store, console.bus).sweep() for _ in range(8)))
        assert len(await actions_of_bdb(console)) == 1
        async with running(console), running(console, instance="another"):
            await wait_until(lambda: is_over(console))
        assert len(await actions_of_bdb(console)) == 1
        assert promotions(agents) == [(4, ("CLUSTER", "FAILOVER", "FORCE"))]
        assert len(await events_of_types(console, "shard_failover")) == 1

    async def test_an_action_does_not_end_while_another_is_requested(
        self, console: Console, agents: FakeAgents
    ) -> None:
        """Otherwise, a loop that read the rows before the failover and the action after its end would request it again."""
        if console.store.engine.dialect.name == "sqlite":
            pytest.skip("SQLite has one writer at a time")
        await active_database.kill_shards(console, agents, 1)
        await FailoverLoop(console.store, console.bus).sweep()

        async def ended_or_waits() -> bool:
            async with console.store.read() as session:
                return await is_over(console) or bool(
                    await session.scalar(text("SELECT 1 FROM pg_locks WHERE NOT granted"))
                )

        steps = {ActionName.FAILOVER: Failover(console.store, agents, OFFSETS.get)}
        loop_task = asyncio.create_task(ActionLoop(console.store, console.bus, steps, "test").run())
        async with console.store.begin() as session:
            await clusters.load_for_update(session)
            before = [row.current_role for row in await shards.list_for_bdb(session, active_database.BDB)]
            await wait_until(ended_or_waits)
            [action] = await actions.list_for_bdb(session, active_database.BDB)
            assert action.status in OPEN_STATUSES, (
                f"the decision used the roles before the completed failover: {before}"
            )
        await wait_until(lambda: is_over(console))
        loop_task.cancel()
        await asyncio.gather(loop_task, return_exceptions=True)

    async def test_a_replica_that_dies_during_the_failover_is_not_promoted(
        self, console: Console, agents: FakeAgents
    ) -> None:
        await add_second_replica(console, agents)
        agents.votes_refused = {7: 10_000}
        await active_database.kill_shards(console, agents, 1)
        async with running(console):
            await wait_until(lambda: 7 in [uid for uid, _ in promotions(agents)])
            await active_database.kill_shards(console, agents, 7)
            await wait_until(lambda: is_over(console))
        [event] = await events_of_types(console, "shard_failover")
        assert (event.details["promoted"], event.details["bytes_behind"]) == (4, 100)

    async def test_unreachable_agents_fail_the_failover_with_a_reason(
        self, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(seconds=0.05))
        monkeypatch.setattr(FailoverLoop, "seconds", 60)
        await active_database.kill_shards(console, agents, 1)
        agents.unreachable = {2}
        async with running(console):
            await wait_until(lambda: is_over(console))
        [failed] = await events_of_types(console, "shard_failover_failed")
        assert failed.description == "Failover failed for some primaries: No replica responds."
        assert (await active_database.get_shard(console, 1)).role == "master", "no role was changed"

    async def test_a_failed_failover_is_retried_and_reported_once_per_reason(
        self, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loops, "UNREACHABLE_TIMEOUT", timedelta(0))
        monkeypatch.setattr(backoff, "INITIAL_SECONDS", 0.01)
        await active_database.kill_shards(console, agents, 1)
        agents.unreachable = {2}
        async with running(console):
            await wait_until(lambda: has_failures(console, 4))
            [failed] = await events_of_types(console, "shard_failover_failed")
            assert failed.details["reason"] == "No replica responds."
            assert failed.details["attempts"] >= 3
            # From now on, the next retry is too late for this test.
            monkeypatch.setattr(backoff, "INITIAL_SECONDS", 3600.0)
            monkeypatch.setattr(backoff, "MAX_SECONDS", 3600.0)
            agents.unreachable = set()
            await active_database.kill_shards(
                console, agents, 2
            )  # the situation has changed, so the retry starts at once
            await wait_until(lambda: is_promoted(console, 4))
        assert len(await events_of_types(console, "shard_failover_failed")) == 1

    @pytest.mark.parametrize("info", ["master_link_down_since_seconds:-1", "master_sync_in_progress:1"])
    async def test_a_replica_without_a_complete_data_set_is_not_promoted(
        self, console: Console, agents: FakeAgents, info: str
    ) -> None:
        agents.info[4, "replication"] = f"role:slave\r\nmaster_link_status:down\r\n{info}\r\nslave_repl_offset:9000\r\n"
        await active_database.kill_shards(console, agents, 1)
        outcome = await self.one_step(console, agents)
        assert outcome.unreachable == "no replica responds"
        assert promotions(agents) == []

    async def test_a_minority_of_nodes_promotes_no_replica_without_a_vote(
        self, console: Console, agents: FakeAgents
    ) -> None:
        for node in (1, 2):
            await active_database.set_node_columns(console, node, health="down")
        await active_database.kill_shards(console, agents, 1, 2)
        outcome = await self.one_step(console, agents)
        assert outcome.unreachable == "most nodes are down or unreachable for this console"
        assert promotions(agents) == []

    async def test_an_unreachable_node_does_not_delay_other_failovers(
        self, console: Console, agents: FakeAgents
    ) -> None:
        agents.unreachable = {2}
        await active_database.kill_shards(console, agents, 1, 2)
        async with running(console):
            await wait_until(lambda: 5 in agents.promoted)
            agents.unreachable = set()
            await wait_until(lambda: is_over(console))
        assert {event.details["promoted"] for event in await events_of_types(console, "shard_failover")} == {4, 5}

    async def one_step(self, console: Console, agents: FakeAgents) -> Outcome:
        await FailoverLoop(console.store, console.bus).sweep()
        [action] = await actions_of_bdb(console)
        return await Failover(console.store, agents, OFFSETS.get).step(action)


async def test_a_failover_outside_cluster_mode_uses_replicaof(console: Console, agents: FakeAgents) -> None:
    await active_database.create_active_database(console, agents, 1, sharding=False)
    await active_database.kill_shards(console, agents, 1)
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert promotions(agents) == [(2, ("REPLICAOF", "NO", "ONE"))]
    [event] = await events_of_types(console, "shard_failover")
    assert event.details["method"] == "REPLICAOF"


async def add_second_replica(console: Console, agents: FakeAgents) -> None:
    """Add replica 7 of primary 1 on node 3. It is ahead of replica 4."""
    async with console.store.begin() as session:
        first = await session.get_one(Shard, 4)
        other = Shard(
            uid=7,
            bdb_uid=active_database.BDB,
            node_uid=3,
            pair=0,
            role="slave",
            slots=first.slots,
            port=20007,
            bus_port=25007,
            engine_id=f"{7:040x}",
        )
        other.set_role("slave", datetime.now(UTC))
        session.add(other)
    agents.running[3][7] = ShardSpec(
        uid=7, bdb_uid=active_database.BDB, engine_id=f"{7:040x}", port=20007, bus_port=25007, role="slave"
    )
    agents.offsets[7] = 950


@pytest.mark.usefixtures("shop")
async def test_killed_at_every_step_a_failover_completes(
    console: Console, agents: FakeAgents, sampling: Sampling
) -> None:
    """Each run starts with a new loss. The event is the same at whatever step the console was killed."""
    for step in sampling.kill_steps(16, 100):
        await reset_database(console, agents)
        await active_database.kill_shards(console, agents, 1)
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
        was_promoted = 4 in agents.promoted
        if was_promoted:
            if not await is_over(console):
                await active_database.set_observed_state(
                    console, 4, role="master"
                )  # samples continue while no console performs the action
            agents.offsets[4] = 10**6  # the promoted replica accepts writes
        await expire_leases(console)
        async with running(console, instance="test" if step % 2 else "another", last_offset=lambda uid: None):
            await wait_until(lambda: is_over(console))
        [event] = await events_of_types(console, "shard_failover")
        assert event.details["promoted"] == 4, f"killed at step {step}"
        # The second console has no samples of the lost primary and uses the offset that the first one stored in the action.
        assert event.details["bytes_behind"] in ((100,) if was_promoted else (100, None)), f"killed at step {step}"
        assert (await active_database.get_shard(console, 4)).role == "master"
        if completed:
            assert step > 8
            return
    raise AssertionError("the operation never completed")


async def reset_database(console: Console, agents: FakeAgents) -> None:
    agents.died.clear()
    agents.promoted.clear()
    agents.offsets[4] = 900
    async with console.store.begin() as session:
        for action in await actions.list_recent(session):
            await session.delete(action)
        for event in await events.page(session, newest_first=False):
            await session.delete(event)
        for row in await shards.list_for_bdb(session, active_database.BDB):
            row.role = "master" if row.uid <= 3 else "slave"
            row.set_role(row.role, datetime.now(UTC))


async def expire_leases(console: Console) -> None:
    async with console.store.begin() as session:
        for action in await actions.list_recent(session):
            action.lease_until = None


@pytest.mark.usefixtures("shop")
class TestPlannedFailover:
    async def request(self, console: Console, *uids: int, force: bool = False) -> None:
        async with console.store.begin() as session:
            action = await service.schedule(session, uids, ADMIN, force=force, dry_run=False)
        assert action is not None

    async def test_a_planned_failover_swaps_the_roles(self, console: Console, agents: FakeAgents) -> None:
        await self.request(console, 1, 3)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert promotions(agents) == [(4, ("CLUSTER", "FAILOVER")), (6, ("CLUSTER", "FAILOVER"))]
        failover_events = await events_of_types(console, "shard_failover")
        assert [
            (event.details["lost"], event.details["promoted"], event.details["method"]) for event in failover_events
        ] == [
            (1, 4, "graceful"),
            (3, 6, "graceful"),
        ]
        assert failover_events[0].description.endswith("requested by admin@example.org.")
        assert failover_events[0].severity == "INFO"
        old = await active_database.get_shard(console, 1)
        assert (old.role, old.observed_role, old.observed_status) == ("slave", "slave", "ok")

    async def test_a_forced_failover_does_not_wait_for_the_primary(self, console: Console, agents: FakeAgents) -> None:
        await self.request(console, 1, force=True)
        async with running(console):
            await wait_until(lambda: is_over(console))
        assert promotions(agents) == [(4, ("CLUSTER", "FAILOVER", "FORCE"))]
        [event] = await events_of_types(console, "shard_failover")
        assert event.details["method"] == "FORCE"

    async def test_a_slow_planned_failover_is_reported(self, console: Console, agents: FakeAgents) -> None:
        agents.votes_refused = {4: 1}
        await self.request(console, 1)
        async with running(console):
            await wait_until(lambda: 4 in agents.promoted)
            await active_database.set_observed_state(console, 4, role="master")
            await active_database.set_observed_state(console, 1, role="slave")
            await wait_until(lambda: is_over(console))
        assert len(await events_of_types(console, "shard_failover")) == 1

    async def test_outside_cluster_mode_the_primary_gets_the_command(
        self, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with console.store.begin() as session:
            (await session.get_one(Bdb, active_database.BDB)).sharding = False
        await self.request(console, 1)
        async with running(console):
            await wait_until(lambda: any(argv[0] == "FAILOVER" for _, argv in agents.commands))
        assert (1, ("FAILOVER", "TO", "10.0.0.2", "20004", "TIMEOUT", "400")) in agents.commands

    async def test_outside_cluster_mode_the_command_precedes_the_next_ack(
        self, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(machines, "ACK_SECONDS", 60.0)
        monkeypatch.setattr(machines, "AHEAD_SECONDS", 59.99)
        async with console.store.begin() as session:
            (await session.get_one(Bdb, active_database.BDB)).sharding = False
        primary = (
            "role:master\r\nmaster_repl_offset:1009\r\nslave0:ip=10.0.0.2,port=20004,state=online,offset={},lag=0\r\n"
        )
        agents.info[1, "replication"] = primary.format(900)
        await self.request(console, 1)
        async with running(console):
            await wait_until(lambda: agents.commands.count((1, ("INFO", "replication"))) > 5)
            assert not any(argv[0] == "FAILOVER" for _, argv in agents.commands)
            agents.info[1, "replication"] = primary.format(950)
            await wait_until(lambda: any(argv[0] == "FAILOVER" for _, argv in agents.commands))
