"""What is done about nodes that are in a database's cluster and not of it, and when nothing is."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from backend.tests import pairs

from shardboard.agent.contract import CommandResult, ShardCommand, ShardSpec
from shardboard.collectors.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef
from shardboard.orders import queue
from shardboard.reconcilers import lasting_alarms, unknown_nodes
from shardboard.reconcilers.unknown_nodes import GONE_SECONDS, UnknownNodesLoop
from shardboard.state import actions, bdbs, cluster, events, shards
from shardboard.state.events import UNKNOWN_NODE, Event
from shardboard.state.nodes import Node

pytestmark = pytest.mark.store_in_all
FOREIGN = "f" * 40
RANGES = ("0-5460", "5461-10922", "10923-16383")


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> UnknownNodesLoop:
    await pairs.active(console, agents)
    async with console.store.begin() as session:
        for row in await shards.of_bdb(session, pairs.BDB):
            row.observed_status = "ok"
    sees(agents)
    made = UnknownNodesLoop(console.store, console.bus, agents)
    await made.sweep()
    agents.commands.clear()
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    told = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(
        lasting_alarms, "asyncio", SimpleNamespace(get_running_loop=lambda: SimpleNamespace(time=lambda: told.now))
    )
    return told


def sees(agents: FakeAgents, *foreign: str, ranges: tuple[str, ...] = RANGES) -> None:
    """What primaries say of their cluster: the three pairs, and lines of others."""
    own = [f"{uid:040x} 10.0.0.{uid}:1@2 master - 0 0 {uid} connected {ranges[uid - 1]}" for uid in (1, 2, 3)]
    own += [f"{uid:040x} 10.0.0.{uid}:1@2 slave {uid - 3:040x} 0 0 {uid} connected" for uid in (4, 5, 6)]
    for uid in range(1, 7):
        agents.told[uid, "CLUSTER NODES"] = "".join(f"{line}\n" for line in (*own, *foreign))


def line(slots: str = "", flags: str = "master", engine_id: str = FOREIGN) -> str:
    return f"{engine_id} 10.9.9.9:7000@17000 {flags} - 0 0 9 connected {slots}".strip()


def forgotten(agents: FakeAgents) -> list[tuple[int, str]]:
    """Which shards were told to forget whom."""
    return sorted((uid, argv[2]) for uid, argv in agents.commands if argv[:2] == ("CLUSTER", "FORGET"))


def given(agents: FakeAgents) -> list[tuple[int, tuple[str, ...]]]:
    return [(uid, argv[2:]) for uid, argv in agents.commands if argv[:2] == ("CLUSTER", "ADDSLOTSRANGE")]


def forgets(agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, ranges: tuple[str, ...]) -> None:
    """The engines forget whom they are told to, and have these slots then."""
    execute = agents._execute

    def told(node: NodeRef, command: ShardCommand) -> CommandResult:
        if command.argv[:2] == ["CLUSTER", "FORGET"]:
            sees(agents, ranges=ranges)
        return execute(node, command)

    monkeypatch.setattr(agents, "_execute", told)


async def alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == UNKNOWN_NODE]


async def test_where_all_are_known_nothing_is_done(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    sees(agents, line(flags="handshake"), line(flags="master,noaddr"))
    await loop.sweep()
    assert {argv for _, argv in agents.commands} == {("CLUSTER", "NODES")}
    assert await alarms(console) == []


async def test_one_is_forgotten_by_all_and_told_until_it_is_gone(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, clock: SimpleNamespace
) -> None:
    sees(agents, line())
    for _ in range(3):
        await loop.sweep()
    assert forgotten(agents) == sorted([(uid, FOREIGN) for uid in range(1, 7)] * 3)
    assert given(agents) == []
    [alarm] = await alarms(console)
    assert (alarm.severity, alarm.source, alarm.bdb_uid, alarm.ended_at) == ("ERROR", "bdb", pairs.BDB, None)
    assert alarm.description == (
        "A node that does not belong to shop was in its cluster: 10.9.9.9:7000@17000, ffffffff…. "
        "The shards were made to forget it. This is repeated if it returns. "
        "Internode traffic is not encrypted, so any client that can reach a shard's bus port can do this."
    )
    sees(agents)
    clock.now += GONE_SECONDS
    await loop.sweep()
    assert (await alarms(console))[0].ended_at is None, "a node that was forgotten can be back after a minute"
    clock.now += 1
    await loop.sweep()
    [alarm] = await alarms(console)
    assert alarm.ended_at is not None
    assert alarm.details["open"] is False


async def test_slots_that_it_took_are_taken_back(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(agents, line("0-99"), ranges=("100-5460", *RANGES[1:]))
    forgets(agents, monkeypatch, ("100-5460", *RANGES[1:]))
    await loop.sweep()
    assert given(agents) == [(1, ("0", "99"))]
    assert (1, ("CLUSTER", "BUMPEPOCH")) in agents.commands
    [alarm] = await alarms(console)
    assert "and owned slots 0–99. " in alarm.description
    assert "Slots 0–99 were reclaimed; their keys were lost." in alarm.description
    assert (alarm.details["slots"], alarm.details["taken_back"]) == ("0-99", "0-99")
    sees(agents, line())
    await loop.sweep()
    assert (await alarms(console))[0].details["slots"] == "0-99", "what it took is told for as long as it is there"


async def test_while_the_database_is_changed_slots_are_left_where_they_are(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who moves slots knows best; the alarm says what was taken, and the next look sees to the rest."""
    sees(agents, line("0-99"), ranges=("100-5460", *RANGES[1:]))
    forgets(agents, monkeypatch, ("100-5460", *RANGES[1:]))
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        action = queue.start(
            session, "SMFailover", object_uid=1, description="", originator="system", deadline=timedelta(seconds=60)
        )
    for _ in range(2):
        await loop.sweep()
        assert (len(forgotten(agents)), given(agents)) == (6, [])
        [alarm] = await alarms(console)
        assert (alarm.details["slots"], alarm.details["taken_back"]) == ("0-99", "")
    async with console.store.begin() as session:
        ended = await actions.by_uid(session, action.uid)
        assert ended is not None
        ended.status = "completed"
    await UnknownNodesLoop(console.store, console.bus, agents).sweep()  # of another console, even
    assert given(agents) == [(1, ("0", "99"))]
    [alarm] = await alarms(console)
    assert (alarm.details["slots"], alarm.details["taken_back"]) == ("0-99", "0-99")
    assert "Slots 0–99 were taken back" in alarm.description


async def test_what_an_agent_runs_is_left_alone(console: Console, agents: FakeAgents, loop: UnknownNodesLoop) -> None:
    """A store that was restored from an older copy does not know its newest shards, which hold data."""
    agents.running[2][77] = ShardSpec(uid=77, bdb_uid=1, engine_id=FOREIGN, port=20077, bus_port=25077, role="master")
    sees(agents, line("0-99"), ranges=("100-5460", *RANGES[1:]))
    await loop.sweep()
    assert (forgotten(agents), given(agents)) == ([], [])
    [alarm] = await alarms(console)
    assert (
        "It was not removed: the agent of node 2 runs it, and this store, which may be an older copy"
        in alarm.description
    )


async def test_what_was_there_at_the_first_look_is_left_alone(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    """It may be a shard on a node of which an older copy of the store knows neither."""
    sees(agents, line("0-99"), ranges=("100-5460", *RANGES[1:]))
    started = UnknownNodesLoop(console.store, console.bus, agents)
    for _ in range(2):
        await started.sweep()
        assert (forgotten(agents), given(agents)) == ([], [])
    [alarm] = await alarms(console)
    assert "It was not removed: it was a member before this console started, and this store may be" in alarm.description
    sees(agents)
    await started.sweep()
    sees(agents, line())
    await started.sweep()
    assert len(forgotten(agents)) == 6, "it was gone, and came back"


async def test_in_a_database_that_was_seen_in_the_making_nobody_else_has_been(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    started = UnknownNodesLoop(console.store, console.bus, agents)
    for status in ("pending", "active"):
        async with console.store.begin() as session:
            bdb = await bdbs.by_uid(session, 1)
            assert bdb is not None
            bdb.status = status
        sees(agents, line())
        await started.sweep()
    assert len(forgotten(agents)) == 6


async def test_of_who_does_not_answer_nothing_is_known(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    started = UnknownNodesLoop(console.store, console.bus, agents)
    agents.unreachable = {1, 2, 3}
    await started.sweep()
    agents.unreachable = {3}
    sees(agents, line())
    await started.sweep()
    assert forgotten(agents) == [], "nobody had said that it was not there before"
    await loop.sweep()
    assert {uid for uid, _ in forgotten(agents)} == {1, 2, 4, 6}, "who is out of reach keeps nobody from it"


@pytest.mark.parametrize("dead", [line(flags="slave,fail"), line().replace(" connected", " disconnected")])
async def test_a_dead_one_without_slots_is_nobody_to_worry_about(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, dead: str
) -> None:
    """A shard that was removed while somebody could not be told, who may not believe yet that it is dead."""
    sees(agents, dead)
    await loop.sweep()
    assert (forgotten(agents), await alarms(console)) == ([], [])


async def test_a_shard_that_was_started_since_the_store_was_read_is_none(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    sees(agents, line())
    find = unknown_nodes.unknown_nodes.find

    async def slow(*arguments: object) -> object:
        found = await find(*arguments)  # type: ignore[arg-type]
        async with console.store.begin() as session:
            [row] = [each for each in await shards.of_bdb(session, 1) if each.uid == 6]
            row.engine_id = FOREIGN
        return found

    monkeypatch.setattr(unknown_nodes.unknown_nodes, "find", slow)
    await loop.sweep()
    assert (forgotten(agents), await alarms(console)) == ([], [])


async def test_it_says_what_encryption_means_for_it(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        assert bdb is not None
        bdb.shard_certificates = {"ca": ""}
    sees(agents, line())
    await loop.sweep()
    assert (await alarms(console))[0].description.endswith("Its operator has private keys of this database.")


async def test_another_console_goes_on_with_it(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, clock: SimpleNamespace
) -> None:
    sees(agents, line())
    await loop.sweep()
    next_one = UnknownNodesLoop(console.store, console.bus, agents)
    await next_one.sweep()
    assert len(await alarms(console)) == 1
    sees(agents)
    last = UnknownNodesLoop(console.store, console.bus, agents)
    await last.sweep()
    clock.now += GONE_SECONDS + 1
    await last.sweep()
    [alarm] = await alarms(console)
    assert alarm.ended_at is not None


async def test_who_looks_for_other_alarms_leaves_it_open(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    sees(agents, line())
    await loop.sweep()
    collector = AlarmCollector(console.store, console.bus, console.live, Pulses(), agents, dict)
    await collector.resume()
    await collector.look(0.0)
    assert (await alarms(console))[0].ended_at is None
