"""Planned handovers: one election at a time, none before it can be won, and each that fails is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from backend.tests import pairs
from backend.tests.reconcilers.engines import Engines
from backend.tests.reconcilers.loops import ADMIN
from backend.tests.shards import until

from shardboard.agent.contract import CommandResult, ShardCommand
from shardboard.console import Console
from shardboard.driver import handover as machines
from shardboard.driver.ports import NodeRef
from shardboard.orders import movement
from shardboard.orders import primaries_return as orders
from shardboard.reconcilers import failover, handovers, primaries_return
from shardboard.reconcilers import loop as loops
from shardboard.reconcilers.failover import Handover
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.movement import moves
from shardboard.reconcilers.movement.moves import Relocate
from shardboard.services import failovers as service
from shardboard.state import actions, events
from shardboard.state.cluster import Cluster
from shardboard.state.events import Event
from shardboard.state.shards import Shard

pytestmark = pytest.mark.usefixtures("nodes", "shop")


class Voters(Engines):
    """Engines whose elections take a few looks. Who asks for votes while another one's election is open spoils both."""

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[int, int] = {}
        """By promoted replica, how many looks its election still takes."""
        self.spoilt: list[set[int]] = []
        self.asked: list[int] = []
        self.refusals: dict[int, int] = {}
        """By promoted replica, how many of its elections get no votes."""
        self.configurable = True
        """Whether the engine knows a limit for a handover."""
        self.epochs: dict[int, int] = {}
        self.taken: list[int] = []
        self.late: set[int] = set()
        """Replicas that were told to take over, and are not seen to."""

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        argv = tuple(command.argv)
        if argv[:2] == ("CONFIG", "SET") and not self.configurable:
            return CommandResult(uid=command.uid, ok=False, reply="ERR Unknown option")
        if argv == ("CLUSTER", "FAILOVER"):
            self.commands.append((command.uid, argv))
            self.asked.append(command.uid)
            if self.refusals.get(command.uid, 0) > 0:
                self.refusals[command.uid] -= 1
            else:
                self.open[command.uid] = 2
            if len(self.open) > 1:
                self.spoilt.append(set(self.open))
                self.open.clear()
            return CommandResult(uid=command.uid, ok=True, reply="OK")
        if argv == ("CLUSTER", "FAILOVER", "TAKEOVER"):
            assert (self.heads[command.uid], ("CLIENT", "PAUSE", "3000", "WRITE")) in self.commands, "writes go on"
            self.taken.append(command.uid)
            if command.uid in self.late:
                return CommandResult(uid=command.uid, ok=True, reply="OK")
        if argv == ("INFO", "replication") and command.uid in self.open:
            self.open[command.uid] -= 1
            if not self.open[command.uid]:
                del self.open[command.uid]
                self.lead(command.uid)
        return super()._execute(node, command)

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv == ("CLUSTER", "INFO"):
            return f"cluster_state:ok\r\ncluster_current_epoch:{self.epochs.get(spec.uid, 7)}\r\n"
        if argv == ("INFO", "replication") and (told := self.info.get((spec.uid, "replication"))) is not None:
            return told
        return super()._reply(spec, argv)


@pytest.fixture
def agents() -> Voters:
    return Voters()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(moves, "PACE", 0.01)
    monkeypatch.setattr(machines, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(machines, "VOTE_SECONDS", 0.02)
    monkeypatch.setattr(machines, "CATCH_UP_SECONDS", 0.01)
    monkeypatch.setattr(handovers, "AGAIN_SCALE", 0.01)


@pytest.fixture
async def shop(console: Console, agents: Voters, nodes: object) -> None:
    await pairs.active(console, agents)
    agents.heads = {3 + uid: uid for uid in (1, 2, 3)}
    for node, held in agents.running.items():
        agents.places |= {uid: (f"10.0.0.{node}", spec.port) for uid, spec in held.items()}
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7


@asynccontextmanager
async def running(console: Console) -> AsyncIterator[None]:
    steps = {
        failover.HANDOVER: Handover(console.store, console.agents, lambda _: None),
        orders.NAME: Relocate(console.store, console.agents),
    }
    loop = ActionLoop(console.store, console.bus, steps, "test")
    task = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        working = list(loop._tasks.values())
        task.cancel()
        await asyncio.gather(task, *working, return_exceptions=True)


async def ask(console: Console) -> None:
    """All leads, handed over by one order of a person."""
    async with console.store.begin() as session:
        await service.order(session, [1, 2, 3], ADMIN, force=False, dry_run=False)


async def plan(console: Console) -> None:
    """The same as a list of moves, as maintenance, rebalance and the return of primaries make it."""
    async with console.store.begin() as session:
        for uid in (4, 5, 6):
            (await session.get_one(Shard, uid)).leads_again = True
        view = await movement.locked_view(session)
        await primaries_return._order(session, view, pairs.BDB)


async def over(console: Console) -> bool:
    async with console.store.read() as session:
        made = await actions.of_bdb(session, pairs.BDB)
    return bool(made) and all(each.status not in actions.OPEN for each in made)


async def status(console: Console) -> str:
    async with console.store.read() as session:
        [made] = await actions.of_bdb(session, pairs.BDB)
    return made.status


async def told(console: Console, type_: str) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == type_]


async def perform(console: Console, order: Any) -> None:
    await order(console)
    async with running(console):
        await until(lambda: over(console))
    assert await status(console) == "completed"


@pytest.mark.parametrize("order", [ask, plan])
class TestOneAtATime:
    async def test_elections_of_a_database_follow_each_other(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        await perform(console, order)
        assert not agents.spoilt
        assert sorted(agents.asked) == [4, 5, 6]  # each once
        assert len(await told(console, "shard_failover")) == 3

    async def test_none_is_asked_for_before_its_replica_knows_the_newest_election(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        agents.epochs[3] = 9  # a primary that has voted since
        await order(console)
        async with running(console):
            await until(lambda: agents.commands.count((6, ("CLUSTER", "INFO"))) > 2)
            assert not agents.asked
            agents.epochs = dict.fromkeys(range(1, 7), 9)
            await until(lambda: over(console))
        assert await status(console) == "completed"

    async def test_none_is_asked_for_while_the_replica_is_far_behind(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        agents.info[1, "replication"] = "role:master\r\nmaster_repl_offset:900000000\r\n"
        await order(console)
        async with running(console):
            await until(lambda: len(agents.asked) == 2)
            await until(lambda: agents.commands.count((4, ("INFO", "replication"))) > 4)
            assert 4 not in agents.asked
            del agents.info[1, "replication"]
            await until(lambda: over(console))
        assert await status(console) == "completed"

    async def test_one_that_fails_is_told_and_tried_again_later(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        agents.refusals = {4: 2}
        await perform(console, order)
        assert agents.asked.count(4) == 3
        assert agents.asked[:3] != [4, 4, 4]  # the others do not wait for it
        failed = await told(console, "shard_handover_failed")
        assert [(each.details["lost"], each.details["heir"], each.details["tries"]) for each in failed] == [
            (1, 4, 1),
            (1, 4, 2),
        ]
        assert "votes" in failed[0].details["reason"]
        assert failed[0].severity == "WARNING"

    async def test_the_engine_is_given_a_limit_for_it_and_its_own_back(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        await perform(console, order)
        for uid in range(1, 7):
            told = [argv[3] for who, argv in agents.commands if who == uid and argv[:2] == ("CONFIG", "SET")]
            assert len(told) == 2
            assert int(told[0]) < 500
            assert told[1] == "5000"

    async def test_an_engine_without_that_limit_is_told_to_end_what_it_holds_up(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        """Only while the primary holds writes back, and its replica has all of them: then nothing can be lost."""
        agents.info[1, "replication"] = "role:master\r\nmaster_repl_offset:5\r\n"
        agents.configurable, agents.refusals = False, {4: 1}
        await order(console)
        async with running(console):
            await until(lambda: (1, ("CLIENT", "UNPAUSE")) in agents.commands)
            assert not agents.taken, "it lacks 5 bytes"
            del agents.info[1, "replication"]
            agents.refusals = {4: 1}
            await until(lambda: over(console))
        assert agents.taken == [4]
        assert agents.asked.count(4) == 2
        assert len(await told(console, "shard_handover_failed")) == 1
        assert len(await told(console, "shard_failover")) == 3

    async def test_the_primary_of_a_promoted_replica_that_may_yet_lead_goes_on_holding_writes_back(
        self, console: Console, agents: Voters, order: Any
    ) -> None:
        agents.configurable, agents.refusals, agents.late = False, {4: 1}, {4}
        await order(console)
        async with running(console):
            await until(lambda: told(console, "shard_handover_failed"))
            assert agents.taken == [4]
            assert (1, ("CLIENT", "UNPAUSE")) not in agents.commands
            agents.late = set()
            await until(lambda: over(console))
