"""Planned failovers: one election at a time, none before it can be won, and each failed one is reported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.reconcilers.loop_helpers import ADMIN
from backend.tests.reconcilers.placement.fake_engines import ReplicatingAgents
from backend.tests.support import active_database
from backend.tests.support.previous_actions import store_as_previous_release
from backend.tests.support.real_shards import wait_until

from shardboard.actions import movement
from shardboard.actions.move_parameters import FailedHandover, HandoverParameters
from shardboard.actions.parameters import write
from shardboard.console import Console
from shardboard.contract import CommandResult, ShardCommand
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.driver import planned_failover as machines
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failures.failover import RequestedFailover
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement import moves, planned_failover, switch_back
from shardboard.reconcilers.placement.moves import MoveShards
from shardboard.services.failures import failover as service
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.usefixtures("nodes", "shop")


class VotingEngines(ReplicatingAgents):
    """Engines whose elections end after a few polls. Two elections at the same time both fail."""

    def __init__(self) -> None:
        super().__init__()
        self.open_elections: dict[int, int] = {}
        """Number of polls until the election ends, by promoted replica."""
        self.failed_elections: list[set[int]] = []
        self.requested: list[int] = []
        self.refused_votes: dict[int, int] = {}
        """Number of elections without votes, by promoted replica."""
        self.has_timeout_setting = True
        """Whether the engine has a setting for the timeout of a manual failover."""
        self.epochs: dict[int, int] = {}
        self.takeovers: list[int] = []
        self.delayed_takeovers: set[int] = set()
        """Replicas whose takeover has no effect yet."""

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        argv = tuple(command.argv)
        if argv[:2] == ("CONFIG", "SET") and not self.has_timeout_setting:
            return CommandResult(uid=command.uid, ok=False, reply="ERR Unknown option")
        if argv == ("CLUSTER", "FAILOVER"):
            self.commands.append((command.uid, argv))
            self.requested.append(command.uid)
            if self.refused_votes.get(command.uid, 0) > 0:
                self.refused_votes[command.uid] -= 1
            else:
                self.open_elections[command.uid] = 2
            if len(self.open_elections) > 1:
                self.failed_elections.append(set(self.open_elections))
                self.open_elections.clear()
            return CommandResult(uid=command.uid, ok=True, reply="OK")
        if argv == ("CLUSTER", "FAILOVER", "TAKEOVER"):
            assert (self.primary_of[command.uid], ("CLIENT", "PAUSE", "3000", "WRITE")) in self.commands, (
                "the primary does not hold writes back"
            )
            self.takeovers.append(command.uid)
            if command.uid in self.delayed_takeovers:
                return CommandResult(uid=command.uid, ok=True, reply="OK")
        if argv == ("INFO", "replication") and command.uid in self.open_elections:
            self.open_elections[command.uid] -= 1
            if not self.open_elections[command.uid]:
                del self.open_elections[command.uid]
                self.make_primary(command.uid)
        return super()._execute(node, command)

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv == ("CLUSTER", "INFO"):
            return f"cluster_state:ok\r\ncluster_current_epoch:{self.epochs.get(spec.uid, 7)}\r\n"
        if argv == ("INFO", "replication") and (values := self.info.get((spec.uid, "replication"))) is not None:
            return values
        return super()._reply(spec, argv)


@pytest.fixture
def agents() -> VotingEngines:
    return VotingEngines()


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(moves, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(machines, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(machines, "VOTE_SECONDS", 0.02)
    monkeypatch.setattr(machines, "CATCH_UP_SECONDS", 0.01)
    monkeypatch.setattr(planned_failover, "RETRY_SCALE", 0.01)


@pytest.fixture
async def shop(console: Console, agents: VotingEngines, nodes: object) -> None:
    await active_database.create_active_database(console, agents)
    agents.primary_of = {3 + uid: uid for uid in (1, 2, 3)}
    for node, specs in agents.running.items():
        agents.addresses |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in specs.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


@asynccontextmanager
async def running(console: Console) -> AsyncIterator[None]:
    steps = {
        ActionName.SHARD_FAILOVER: RequestedFailover(console.store, console.agents, lambda _: None),
        ActionName.SWITCH_BACK: MoveShards(console.store, console.agents),
    }
    loop = ActionLoop(console.store, console.bus, steps, "test")
    task = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        tasks = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *tasks, return_exceptions=True)


async def request_handovers(console: Console) -> None:
    """Request a failover of all primaries, as a user does."""
    async with console.store.begin() as session:
        await service.schedule(session, [1, 2, 3], ADMIN, force=False, dry_run=False)


async def request_moves(console: Console) -> None:
    """Request the same failovers as a list of moves, as maintenance, rebalance and the return of primaries do."""
    async with console.store.begin() as session:
        for uid in (4, 5, 6):
            (await session.get_one(Shard, uid)).should_regain_primary = True
        view = await movement.locked_view(session)
        await switch_back._schedule(session, view, active_database.BDB)


async def is_over(console: Console) -> bool:
    async with console.store.read() as session:
        action_rows = await actions.list_for_bdb(session, active_database.BDB)
    return bool(action_rows) and all(each.status not in OPEN_STATUSES for each in action_rows)


async def action_status(console: Console) -> str:
    async with console.store.read() as session:
        [action] = await actions.list_for_bdb(session, active_database.BDB)
    return action.status


async def events_of_type(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == type_]


async def perform(console: Console, submit: Any) -> None:
    await submit(console)
    async with running(console):
        await wait_until(lambda: is_over(console))
    assert await action_status(console) == "completed"


@pytest.mark.parametrize("submit", [request_handovers, request_moves])
async def test_actions_of_the_previous_release_continue(console: Console, agents: VotingEngines, submit: Any) -> None:
    await submit(console)
    async with console.store.begin() as session:
        [action] = await actions.list_for_bdb(session, active_database.BDB)
        write(action, HandoverParameters(failed_handovers={4: FailedHandover(2, datetime.now(UTC))}))
    await store_as_previous_release(console, action.uid)
    async with running(console):
        await wait_until(lambda: is_over(console))
    async with console.store.read() as session:
        [action] = await actions.list_for_bdb(session, active_database.BDB)
    assert action.status == "completed"
    assert agents.requested[-1] == 4, "the replica that failed before is last"


@pytest.mark.parametrize("submit", [request_handovers, request_moves])
class TestElections:
    async def test_elections_of_a_database_run_one_at_a_time(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        await perform(console, submit)
        assert not agents.failed_elections
        assert sorted(agents.requested) == [4, 5, 6]  # one election each
        assert len(await events_of_type(console, "shard_failover")) == 3

    async def test_an_election_waits_until_the_replica_knows_the_newest_epoch(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        agents.epochs[3] = 9  # a primary that has voted in a newer election
        await submit(console)
        async with running(console):
            await wait_until(lambda: agents.commands.count((6, ("CLUSTER", "INFO"))) > 2)
            assert not agents.requested
            agents.epochs = dict.fromkeys(range(1, 7), 9)
            await wait_until(lambda: is_over(console))
        assert await action_status(console) == "completed"

    async def test_an_election_waits_while_the_replica_lags(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        agents.info[1, "replication"] = "role:master\r\nmaster_repl_offset:900000000\r\n"
        await submit(console)
        async with running(console):
            await wait_until(lambda: len(agents.requested) == 2)
            await wait_until(lambda: agents.commands.count((4, ("INFO", "replication"))) > 4)
            assert 4 not in agents.requested
            del agents.info[1, "replication"]
            await wait_until(lambda: is_over(console))
        assert await action_status(console) == "completed"

    async def test_a_failed_election_is_reported_and_retried_later(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        agents.refused_votes = {4: 2}
        await perform(console, submit)
        assert agents.requested.count(4) == 3
        assert agents.requested[:3] != [4, 4, 4]  # the others do not wait for it
        failures = await events_of_type(console, "shard_handover_failed")
        assert [(each.details["lost"], each.details["promoted"], each.details["attempts"]) for each in failures] == [
            (1, 4, 1),
            (1, 4, 2),
        ]
        assert "votes" in failures[0].details["reason"]
        assert failures[0].severity == "WARNING"

    async def test_the_timeout_of_the_engine_is_lowered_and_restored(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        await perform(console, submit)
        for uid in range(1, 7):
            values = [argv[3] for shard, argv in agents.commands if shard == uid and argv[:2] == ("CONFIG", "SET")]
            assert len(values) == 2
            assert int(values[0]) < 500
            assert values[1] == "5000"

    async def test_a_takeover_ends_the_pause_of_an_engine_without_that_timeout(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        """A takeover is safe only while the primary holds writes back and its replica has all of them."""
        agents.info[1, "replication"] = "role:master\r\nmaster_repl_offset:5\r\n"
        agents.has_timeout_setting, agents.refused_votes = False, {4: 1}
        await submit(console)
        async with running(console):
            await wait_until(lambda: (1, ("CLIENT", "UNPAUSE")) in agents.commands)
            assert not agents.takeovers, "the replica lacks 5 bytes"
            del agents.info[1, "replication"]
            agents.refused_votes = {4: 1}
            await wait_until(lambda: is_over(console))
        assert agents.takeovers == [4]
        assert agents.requested.count(4) == 2
        assert len(await events_of_type(console, "shard_handover_failed")) == 1
        assert len(await events_of_type(console, "shard_failover")) == 3

    async def test_writes_stay_paused_while_a_takeover_may_still_succeed(
        self, console: Console, agents: VotingEngines, submit: Any
    ) -> None:
        agents.has_timeout_setting, agents.refused_votes, agents.delayed_takeovers = False, {4: 1}, {4}
        await submit(console)
        async with running(console):
            await wait_until(lambda: events_of_type(console, "shard_handover_failed"))
            assert agents.takeovers == [4]
            assert (1, ("CLIENT", "UNPAUSE")) not in agents.commands
            agents.delayed_takeovers = set()
            await wait_until(lambda: is_over(console))
