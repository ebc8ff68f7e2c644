"""Handling of nodes that do not belong to the cluster of a database."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from backend.tests.support import active_database

from shardboard.actions import queue
from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.contract import CommandResult, ShardCommand, ShardSpec
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.reconcilers import persistent_alarms
from shardboard.reconcilers.databases import unknown_nodes
from shardboard.reconcilers.databases.unknown_nodes import GONE_SECONDS, UnknownNodesLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNKNOWN_NODE, Event
from shardboard.state.cluster import actions, cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards

pytestmark = pytest.mark.store_in_all
FOREIGN = "f" * 40
RANGES = ("0-5460", "5461-10922", "10923-16383")


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> UnknownNodesLoop:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        for row in await shards.list_for_bdb(session, active_database.BDB):
            row.observed_status = "ok"
    set_cluster_nodes(agents)
    unknown_nodes_loop = UnknownNodesLoop(console.store, console.bus, agents)
    await unknown_nodes_loop.sweep()
    agents.commands.clear()
    return unknown_nodes_loop


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock_state = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(
        persistent_alarms,
        "asyncio",
        SimpleNamespace(get_running_loop=lambda: SimpleNamespace(time=lambda: clock_state.now)),
    )
    return clock_state


def set_cluster_nodes(agents: FakeAgents, *foreign: str, ranges: tuple[str, ...] = RANGES) -> None:
    """Set what shards report as CLUSTER NODES: the three pairs and the foreign lines."""
    own = [f"{uid:040x} 10.0.0.{uid}:1@2 master - 0 0 {uid} connected {ranges[uid - 1]}" for uid in (1, 2, 3)]
    own += [f"{uid:040x} 10.0.0.{uid}:1@2 slave {uid - 3:040x} 0 0 {uid} connected" for uid in (4, 5, 6)]
    for uid in range(1, 7):
        agents.replies[uid, "CLUSTER NODES"] = "".join(f"{line}\n" for line in (*own, *foreign))


def node_line(slots: str = "", flags: str = "master", engine_id: str = FOREIGN) -> str:
    return f"{engine_id} 10.9.9.9:7000@17000 {flags} - 0 0 9 connected {slots}".strip()


def forget_commands(agents: FakeAgents) -> list[tuple[int, str]]:
    """Return (shard uid, engine id) of each CLUSTER FORGET command."""
    return sorted((uid, argv[2]) for uid, argv in agents.commands if argv[:2] == ("CLUSTER", "FORGET"))


def added_slots(agents: FakeAgents) -> list[tuple[int, tuple[str, ...]]]:
    return [(uid, argv[2:]) for uid, argv in agents.commands if argv[:2] == ("CLUSTER", "ADDSLOTSRANGE")]


def change_slots_on_forget(agents: FakeAgents, monkeypatch: pytest.MonkeyPatch, ranges: tuple[str, ...]) -> None:
    """Let a CLUSTER FORGET command change the slot ranges of the primaries to `ranges`."""
    execute = agents._execute

    def set_nodes_on_forget(node: NodeRef, command: ShardCommand) -> CommandResult:
        if command.argv[:2] == ["CLUSTER", "FORGET"]:
            set_cluster_nodes(agents, ranges=ranges)
        return execute(node, command)

    monkeypatch.setattr(agents, "_execute", set_nodes_on_forget)


async def alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == UNKNOWN_NODE]


async def test_nothing_happens_if_all_nodes_are_known(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    set_cluster_nodes(agents, node_line(flags="handshake"), node_line(flags="master,noaddr"))
    await loop.sweep()
    assert {argv for _, argv in agents.commands} == {("CLUSTER", "NODES")}
    assert await alarms(console) == []


async def test_an_unknown_node_is_forgotten_and_keeps_an_alarm_open(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, clock: SimpleNamespace
) -> None:
    set_cluster_nodes(agents, node_line())
    for _ in range(3):
        await loop.sweep()
    assert forget_commands(agents) == sorted([(uid, FOREIGN) for uid in range(1, 7)] * 3)
    assert added_slots(agents) == []
    [alarm] = await alarms(console)
    assert (alarm.severity, alarm.source, alarm.bdb_uid, alarm.ended_at) == ("ERROR", "bdb", active_database.BDB, None)
    assert alarm.description == (
        "A node that does not belong to shop was in its cluster: 10.9.9.9:7000@17000, ffffffff…. "
        "It was removed from all shards (CLUSTER FORGET), and will be removed again if it returns. "
        "Internode traffic is not encrypted, so any client that can reach a shard's bus port can do this."
    )
    set_cluster_nodes(agents)
    clock.now += GONE_SECONDS
    await loop.sweep()
    assert (await alarms(console))[0].ended_at is None, "a forgotten node can return after a minute"
    clock.now += 1
    await loop.sweep()
    [alarm] = await alarms(console)
    assert alarm.ended_at is not None
    assert alarm.details["open"] is False


async def test_slots_of_an_unknown_node_are_taken_back(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster_nodes(agents, node_line("0-99"), ranges=("100-5460", *RANGES[1:]))
    change_slots_on_forget(agents, monkeypatch, ("100-5460", *RANGES[1:]))
    await loop.sweep()
    assert added_slots(agents) == [(1, ("0", "99"))]
    assert (1, ("CLUSTER", "BUMPEPOCH")) in agents.commands
    [alarm] = await alarms(console)
    assert "and owned slots 0–99. " in alarm.description
    assert "Slots 0–99 were reclaimed; their keys were lost." in alarm.description
    assert (alarm.details["slots"], alarm.details["reclaimed"]) == ("0-99", "0-99")
    set_cluster_nodes(agents, node_line())
    await loop.sweep()
    assert (await alarms(console))[0].details["slots"] == "0-99", (
        "the slots that it took are reported while it is present"
    )


async def test_slots_are_not_taken_back_during_an_action(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The action may move these slots. The alarm reports what was taken, and the next poll takes it back."""
    set_cluster_nodes(agents, node_line("0-99"), ranges=("100-5460", *RANGES[1:]))
    change_slots_on_forget(agents, monkeypatch, ("100-5460", *RANGES[1:]))
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        action = queue.enqueue(
            session, "SMFailover", object_uid=1, description="", originator="system", deadline=timedelta(seconds=60)
        )
    for _ in range(2):
        await loop.sweep()
        assert (len(forget_commands(agents)), added_slots(agents)) == (6, [])
        [alarm] = await alarms(console)
        assert (alarm.details["slots"], alarm.details["reclaimed"]) == ("0-99", "")
    async with console.store.begin() as session:
        ended_action = await actions.by_uid(session, action.uid)
        assert ended_action is not None
        ended_action.status = "completed"
    await UnknownNodesLoop(console.store, console.bus, agents).sweep()  # this also works for another console
    assert added_slots(agents) == [(1, ("0", "99"))]
    [alarm] = await alarms(console)
    assert (alarm.details["slots"], alarm.details["reclaimed"]) == ("0-99", "0-99")
    assert "Slots 0–99 were reclaimed" in alarm.description


async def test_a_node_that_an_agent_runs_is_left_alone(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    """A store that was restored from an older copy does not contain its newest shards, which hold data."""
    agents.running[2][77] = ShardSpec(uid=77, bdb_uid=1, engine_id=FOREIGN, port=20077, bus_port=25077, role="master")
    set_cluster_nodes(agents, node_line("0-99"), ranges=("100-5460", *RANGES[1:]))
    await loop.sweep()
    assert (forget_commands(agents), added_slots(agents)) == ([], [])
    [alarm] = await alarms(console)
    assert (
        "It was not removed: the agent of node 2 runs it, and this store, which may be an older copy"
        in alarm.description
    )


async def test_a_node_that_was_present_at_the_first_poll_is_left_alone(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    """It may be a shard that an older copy of the store does not contain, on a node that it does not contain either."""
    set_cluster_nodes(agents, node_line("0-99"), ranges=("100-5460", *RANGES[1:]))
    unknown_nodes_loop = UnknownNodesLoop(console.store, console.bus, agents)
    for _ in range(2):
        await unknown_nodes_loop.sweep()
        assert (forget_commands(agents), added_slots(agents)) == ([], [])
    [alarm] = await alarms(console)
    assert "It was not removed: it was a member before this console started, and this store may be" in alarm.description
    set_cluster_nodes(agents)
    await unknown_nodes_loop.sweep()
    set_cluster_nodes(agents, node_line())
    await unknown_nodes_loop.sweep()
    assert len(forget_commands(agents)) == 6, "it disappeared and returned"


async def test_a_node_in_a_new_database_is_forgotten_at_the_first_poll(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    unknown_nodes_loop = UnknownNodesLoop(console.store, console.bus, agents)
    for status in ("pending", "active"):
        async with console.store.begin() as session:
            bdb = await bdbs.by_uid(session, 1)
            assert bdb is not None
            bdb.status = status
        set_cluster_nodes(agents, node_line())
        await unknown_nodes_loop.sweep()
    assert len(forget_commands(agents)) == 6


async def test_a_shard_that_does_not_answer_confirms_nothing(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    unknown_nodes_loop = UnknownNodesLoop(console.store, console.bus, agents)
    agents.unreachable = {1, 2, 3}
    await unknown_nodes_loop.sweep()
    agents.unreachable = {3}
    set_cluster_nodes(agents, node_line())
    await unknown_nodes_loop.sweep()
    assert forget_commands(agents) == [], "no shard had confirmed that it was absent before"
    await loop.sweep()
    assert {uid for uid, _ in forget_commands(agents)} == {1, 2, 4, 6}, "an unreachable shard does not prevent this"


@pytest.mark.parametrize("dead", [node_line(flags="slave,fail"), node_line().replace(" connected", " disconnected")])
async def test_a_dead_node_without_slots_is_ignored(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, dead: str
) -> None:
    """It is a removed shard that an unreachable shard could not forget and may still see as alive."""
    set_cluster_nodes(agents, dead)
    await loop.sweep()
    assert (forget_commands(agents), await alarms(console)) == ([], [])


async def test_a_shard_started_after_the_store_was_read_is_known(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster_nodes(agents, node_line())
    find = unknown_nodes.unknown_nodes.find

    async def slow(*arguments: object) -> object:
        unknown = await find(*arguments)  # type: ignore[arg-type]
        async with console.store.begin() as session:
            [row] = [each for each in await shards.list_for_bdb(session, 1) if each.uid == 6]
            row.engine_id = FOREIGN
        return unknown

    monkeypatch.setattr(unknown_nodes.unknown_nodes, "find", slow)
    await loop.sweep()
    assert (forget_commands(agents), await alarms(console)) == ([], [])


async def test_the_alarm_text_depends_on_encryption(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, 1)
        assert bdb is not None
        bdb.shard_certificates = {"ca": ""}
    set_cluster_nodes(agents, node_line())
    await loop.sweep()
    assert (await alarms(console))[0].description.endswith("Its operator has private keys of this database.")


async def test_another_console_continues_the_alarm(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop, clock: SimpleNamespace
) -> None:
    set_cluster_nodes(agents, node_line())
    await loop.sweep()
    next_console = UnknownNodesLoop(console.store, console.bus, agents)
    await next_console.sweep()
    assert len(await alarms(console)) == 1
    set_cluster_nodes(agents)
    last_console = UnknownNodesLoop(console.store, console.bus, agents)
    await last_console.sweep()
    clock.now += GONE_SECONDS + 1
    await last_console.sweep()
    [alarm] = await alarms(console)
    assert alarm.ended_at is not None


async def test_the_alarm_collector_leaves_the_alarm_open(
    console: Console, agents: FakeAgents, loop: UnknownNodesLoop
) -> None:
    set_cluster_nodes(agents, node_line())
    await loop.sweep()
    collector = AlarmCollector(console.store, console.bus, console.live, Pulses(), agents, dict)
    await collector.load_open_alarms()
    await collector.evaluate(0.0)
    assert (await alarms(console))[0].ended_at is None
