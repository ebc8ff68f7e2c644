"""Records of agents and shards that connect, disconnect and change. Agents are fakes; the store is real."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from backend.tests.collectors.samples import sample, shard
from backend.tests.support.real_shards import wait_until

from shardboard.actions import queue
from shardboard.collectors import observations
from shardboard.collectors.cluster import nodes as collector
from shardboard.collectors.cluster.nodes import NodeCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.databases.store_mismatch import StoreMismatch
from shardboard.driver.fake_agents import FACTS, FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.kit.active_clock import ACTIVE
from shardboard.schemas.databases import bdb_fields
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

pytestmark = pytest.mark.store

NOW = 1_700_000_000


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(collector, "LOST_AFTER", 0.15)
    monkeypatch.setattr(collector, "CLOCK_SKEW", float("inf"))  # the samples of these tests date from 2023


@pytest.fixture
async def database(console: Console, nodes: list[Node]) -> None:
    """Active database 1 with primary 1 on node 1 and its replica 2 on node 2."""
    now = datetime.now(UTC)
    common: dict[str, Any] = {"bdb_uid": 1, "pair": 0, "slots": "0-16383"}
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=1,
                name="shop",
                status="active",
                memory_size=10**9,
                port=10001,
                sharding=False,
                shards_count=1,
                replication=True,
                config=dict(bdb_fields.CONFIG_DEFAULTS),
                admin_password="",
                created_at=now,
                changed_at=now,
            )
        )
        for uid, role in ((1, "master"), (2, "slave")):
            session.add(
                Shard(uid=uid, node_uid=uid, role=role, port=20000, bus_port=25000, engine_id=f"{uid:040x}", **common)
            )


@pytest.fixture
def pulses() -> Pulses:
    return Pulses()


@pytest.fixture
async def running(console: Console, nodes: list[Node], pulses: Pulses) -> AsyncIterator[NodeCollector]:
    node_collector = NodeCollector(console.store, console.bus, console.agents, console.live, pulses)
    task = asyncio.create_task(node_collector.run())
    yield node_collector
    task.cancel()
    await asyncio.gather(task, *node_collector._followers.values(), return_exceptions=True)


async def deliver_second(agents: FakeAgents, t: int = NOW) -> None:
    """Deliver second `t` of both shards in normal operation."""
    agents.sample(1, sample(t, {1: shard()}))
    agents.sample(2, sample(t, {2: shard(is_primary=0.0)}))


async def events_of_types(console: Console, *types: str) -> list[Event]:
    """Return the events of these types, oldest first."""
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type in types]


async def shard_row(console: Console, uid: int) -> Shard:
    async with console.store.read() as session:
        row = await shards.by_uid(session, uid)
    assert row is not None
    return row


async def wait_for_status(console: Console, uid: int, status: str) -> Shard:
    """Wait until the shard has this observed status. Return its row."""

    async def find_shard() -> Shard | None:
        row = await shard_row(console, uid)
        return row if row.observed_status == status else None

    row: Shard = await wait_until(find_shard)
    return row


async def agent_status_is(console: Console, expected: str) -> bool:
    """Return whether the agent of node 1 has this status in the store."""
    async with console.store.read() as session:
        node = await nodes.by_uid(session, 1)
    return node is not None and node.agent_status == expected


async def unavailable_since(console: Console) -> datetime | None:
    """Return the time since when node 1 is unavailable."""
    async with console.store.read() as session:
        node = await nodes.by_uid(session, 1)
    assert node is not None
    return node.unavailable_since


@pytest.mark.usefixtures("database", "running")
async def test_reports_about_shards_of_other_nodes_are_ignored(console: Console, agents: FakeAgents) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 1, "ok")
    await wait_for_status(console, 2, "ok")
    agents.sample(2, sample(NOW + 1, {2: shard(is_primary=0.0, loading=1.0)}, died={1: "not its shard"}))
    await wait_for_status(console, 2, "loading")
    assert (await shard_row(console, 1)).observed_status == "ok"
    assert not await events_of_types(console, "shard_down")


@pytest.mark.usefixtures("running")
async def test_a_lost_agent_and_its_return_are_recorded_once(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "LOST_AFTER", 3600)
    start = datetime.now(UTC)
    agents.sample(1, sample(NOW))
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW)
    agents.unreachable = {1}
    call_count = agents.calls.count(("samples", 1))
    agents.sample(1, None)
    await wait_until(
        lambda: agents.calls.count(("samples", 1)) > call_count
    )  # the stream ended, and a new one was refused
    monkeypatch.setattr(collector, "LOST_AFTER", 0)
    await wait_until(lambda: agent_status_is(console, "lost"))
    calls = len(agents.calls)
    await wait_until(lambda: len(agents.calls) > calls + 20)
    lost_since = await unavailable_since(console)
    assert lost_since is not None
    assert start <= lost_since <= datetime.now(UTC)
    [lost] = await events_of_types(console, "node_agent_lost")
    assert (lost.severity, lost.source, lost.node_uid) == ("WARNING", "node", 1)
    assert lost.description == (
        "The agent of node 1 was lost: the agent of node 1 (10.0.0.1:9700) cannot be reached. "
        "Its shards may still be running, but are not monitored."
    )
    agents.unreachable = set()
    agents.sample(1, sample(NOW + 9))
    await wait_until(lambda: agent_status_is(console, "connected"))
    agents.sample(1, sample(NOW + 10))
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 10)
    [connected] = await events_of_types(console, "node_agent_connected")
    assert connected.description == "The agent of node 1 reconnected."
    assert await unavailable_since(console) is None


async def test_an_agent_that_never_connected_is_lost(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    agents.unreachable = {1, 2, 3}
    node_collector = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    task = asyncio.create_task(node_collector.run())

    async def three() -> bool:
        return len(await events_of_types(console, "node_agent_lost")) == 3

    try:
        await wait_until(three)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_lost_agent_is_recorded_once_the_store_is_available_again(
    console: Console, agents: FakeAgents, running: NodeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.sample(1, sample(NOW))
    await wait_until(lambda: agent_status_is(console, "connected"))
    failures, lost = [OSError("no store")], observations.record_agent_lost

    async def failing(session: Any, uid: int, reason: str, silence: float) -> None:
        if failures:
            raise failures.pop()
        await lost(session, uid, reason, silence)

    monkeypatch.setattr(observations, "record_agent_lost", failing)
    agents.sample(1, None)
    agents.unreachable = {1}
    await wait_until(lambda: agent_status_is(console, "lost"))
    assert failures == []


async def test_a_node_that_joins_again_at_another_address_is_followed_there(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    await wait_until(lambda: 1 in running._followers)
    before = running._followers[1]
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 1)
        assert node is not None
        node.agent_port += 1
    await wait_until(lambda: running._followers.get(1, before) is not before)
    await wait_until(before.cancelled)
    assert running._node_refs[1].port == node.agent_port


async def test_a_short_interruption_does_not_mark_an_agent_as_lost(
    console: Console, agents: FakeAgents, running: NodeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "LOST_AFTER", 60)
    agents.sample(1, sample(NOW))
    agents.sample(1, None)
    agents.sample(1, sample(NOW + 1))
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 1)
    assert await events_of_types(console, "node_agent_lost", "node_agent_connected") == []
    assert agents.calls.count(("samples", 1)) == 2


async def test_a_pause_of_the_console_does_not_mark_agents_as_lost(
    console: Console, agents: FakeAgents, running: NodeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "LOST_AFTER", 0.5)
    agents.sample(1, sample(NOW))
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW)
    measuring = asyncio.create_task(ACTIVE.run())
    await asyncio.sleep(0.05)
    agents.sample(1, None)  # the timeout of the stream is the first thing that is noticed afterwards
    agents.sample(1, sample(NOW + 1))
    time.sleep(1.5)  # noqa: ASYNC251 - the pause
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 1)
    assert await events_of_types(console, "node_agent_lost") == []
    measuring.cancel()
    await asyncio.gather(measuring, return_exceptions=True)


async def test_a_node_is_up_again_with_its_next_sample_on_the_same_stream(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    for t in (NOW - 1, NOW):
        agents.sample(1, sample(t))
    # The first sample is always recorded, so wait until it is processed.
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW)
    async with console.store.begin() as session:
        await observations.record_node_down(session, 1, [2, 3])
    await wait_until(lambda: 1 in running._down)
    for t in (NOW + 1, NOW + 2):
        agents.sample(1, sample(t))

    async def recovery_events() -> list[Event]:
        return await events_of_types(console, "node_up")

    [event] = await wait_until(recovery_events)
    assert event.node_uid == 1
    [outage] = await events_of_types(console, "node_failed")
    assert outage.ended_at is not None
    assert outage.details["open"] is False
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 2)
    assert len(await events_of_types(console, "node_up")) == 1


async def test_a_node_marked_down_while_its_agent_is_recorded_is_up_again(
    console: Console, agents: FakeAgents, running: NodeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_seen, found_down = running._record_seen, asyncio.Event()

    async def mark_down_after_recording(node: NodeRef, *, restarted: bool | None) -> None:
        await note_seen(node, restarted=restarted)
        if node.uid == 1 and not found_down.is_set():
            async with console.store.begin() as session:
                await observations.record_node_down(session, 1, [2, 3])
            await wait_until(lambda: 1 in running._down)
            found_down.set()

    monkeypatch.setattr(running, "_record_seen", mark_down_after_recording)
    agents.sample(1, sample(NOW))
    await asyncio.wait_for(found_down.wait(), 60)
    agents.sample(1, sample(NOW + 1))
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 1)

    async def recovery_events() -> list[Event]:
        return await events_of_types(console, "node_up")

    assert len(await wait_until(recovery_events)) == 1


async def test_a_lost_agent_of_a_node_that_is_down_is_not_recorded(
    console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    start = datetime.now(UTC)
    async with console.store.begin() as session:
        await observations.record_node_down(session, 1, [], detected_ms=400)
        await observations.record_node_down(session, 1, [])
        await observations.record_agent_lost(session, 1, "it is gone")
    [lost] = await events_of_types(console, "node_failed", "node_agent_lost")
    node = await unavailable_since(console)
    assert node is not None
    assert start <= node + timedelta(milliseconds=400) <= lost.time


async def test_facts_and_last_seen_are_written_when_a_stream_starts(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, 1)
        assert node is not None
        node.facts, node.last_seen = {}, datetime(2020, 1, 1, tzinfo=UTC)
    agents.sample(1, sample(NOW))

    async def node_row() -> Node | None:
        async with console.store.read() as session:
            node = await nodes.by_uid(session, 1)
        return node if node is not None and node.facts else None

    seen_node = await wait_until(node_row)
    assert seen_node.facts == FACTS.model_dump()
    assert seen_node.last_seen.year > 2020


@pytest.mark.usefixtures("database")
async def test_nodes_are_followed_again_after_a_store_failure(
    console: Console, nodes: list[Node], agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_collector = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    first = asyncio.create_task(node_collector.run())
    await deliver_second(agents)
    await wait_for_status(console, 1, "ok")

    async def store_unavailable(_: object) -> None:
        raise ConnectionRefusedError("no store")

    with monkeypatch.context() as patch:
        patch.setattr(shards, "list_conditions", store_unavailable)
        console.bus.publish("change", ("shard", 1))
        with pytest.raises(ConnectionRefusedError):
            await first
    task = asyncio.create_task(node_collector.run())
    agents.sample(1, sample(NOW + 1, died={1: "killed"}))
    await wait_for_status(console, 1, "down")
    task.cancel()
    await asyncio.gather(task, *node_collector._followers.values(), return_exceptions=True)


@pytest.mark.usefixtures("database")
async def test_observations_are_written(console: Console, agents: FakeAgents, running: NodeCollector) -> None:
    await deliver_second(agents)
    primary, replica = await wait_for_status(console, 1, "ok"), await wait_for_status(console, 2, "ok")
    assert (primary.observed_role, primary.observed_link) == ("master", "")
    assert (replica.observed_role, replica.observed_link) == ("slave", "idle")
    assert primary.observed_pid == 4711
    assert primary.observed_started_at == datetime.fromtimestamp(1000, UTC)
    assert primary.observed_at == datetime.fromtimestamp(NOW, UTC)
    assert primary.desired == "running"


@pytest.mark.usefixtures("database")
async def test_a_newer_observation_of_a_loop_is_kept_until_the_next_second(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    async with console.store.begin() as session:
        row = await shards.by_uid(session, 1)
        assert row is not None
        row.set_role("master", datetime.fromtimestamp(NOW + 0.5, UTC))
    await deliver_second(agents)
    await wait_for_status(console, 2, "ok")
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW)
    assert (await shard_row(console, 1)).observed_pid is None
    await deliver_second(agents, NOW + 1)

    async def is_complete() -> bool:  # the values are the same as in the previous second
        return (await shard_row(console, 1)).observed_pid == 4711

    await wait_until(is_complete)


@pytest.mark.usefixtures("database")
async def test_the_time_of_a_wrong_clock_is_not_used(
    console: Console, agents: FakeAgents, running: NodeCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "CLOCK_SKEW", 2.0)
    await deliver_second(agents)
    row = await wait_for_status(console, 1, "ok")
    assert row.observed_at is not None
    assert abs((datetime.now(UTC) - row.observed_at).total_seconds()) < 60


@pytest.mark.usefixtures("database")
async def test_metrics_of_a_clock_that_is_far_ahead_are_ignored(
    console: Console,
    agents: FakeAgents,
    running: NodeCollector,
    pulses: Pulses,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "CLOCK_SKEW", 60.0)
    now = int(time.time())
    agents.sample(1, sample(now, {1: shard()}, seq=1))
    await wait_until(lambda: console.live.resume_point(1)[1] == 1)
    agents.sample(1, sample(now + 3600, {1: shard(is_primary=0.0)}, seq=2))
    await wait_until(lambda: console.live.resume_point(1)[1] == 2)
    assert console.live._seconds.keys() == {now}
    assert pulses.clocks[1] == pytest.approx(3600, abs=60)

    async def follows() -> bool:  # the state of its shards is used, with the current time
        return (await shard_row(console, 1)).observed_role == "slave"

    await wait_until(follows)
    seen_at = (await shard_row(console, 1)).observed_at
    assert seen_at is not None
    assert seen_at <= datetime.now(UTC)


@pytest.mark.usefixtures("database")
async def test_seconds_without_a_change_write_nothing(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    with console.bus.listen("change") as changes:
        published: set[Any] = set()
        await deliver_second(agents)
        await wait_until(
            lambda: (
                published.update(change for _, change in changes.drain()) or {("shard", 1), ("shard", 2)} <= published
            )
        )
        for t in range(NOW + 1, NOW + 20):
            await deliver_second(agents, t)
        await wait_until(lambda: console.live.resume_point(2)[1] == NOW + 19)
        assert changes.drain() == []


@pytest.mark.usefixtures("database")
async def test_a_dead_shard_is_recorded_once(console: Console, agents: FakeAgents, running: NodeCollector) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 1, "ok")
    for t in range(NOW + 1, NOW + 4):
        agents.sample(1, sample(t, died={1: "killed by signal 9"}))
    dead = await wait_for_status(console, 1, "down")
    await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 3)
    assert (dead.detail, dead.observed_role, dead.observed_pid) == ("killed by signal 9", "master", None)
    [down] = await events_of_types(console, "shard_down")
    assert down.description == ("Shard redis:1 of shop on node 1 (primary) went down: killed by signal 9.")
    assert (down.severity, down.bdb_uid, down.node_uid, down.shard_uid) == ("ERROR", 1, 1, 1)


@pytest.mark.usefixtures("database")
async def test_a_new_console_does_not_record_a_dead_shard_again(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    agents.sample(1, sample(NOW, died={1: "killed"}))
    await wait_for_status(console, 1, "down")
    other = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    task = asyncio.create_task(other.run())
    try:
        await wait_until(lambda: other._followers)
        for t in (NOW + 1, NOW + 2, NOW + 3):
            agents.sample(1, sample(t, died={1: "killed"}))
        await wait_until(lambda: console.live.resume_point(1)[1] == NOW + 3)
        await wait_until(lambda: agents._samples[1].empty())
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(await events_of_types(console, "shard_down")) == 1


@pytest.mark.usefixtures("database")
async def test_repeated_samples_do_not_record_a_failure_again(
    console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard died and was restarted. The next console receives the samples of that time again, and then new ones."""
    monkeypatch.setattr(collector, "CLOCK_SKEW", 2.0)
    now = int(datetime.now(UTC).timestamp())
    async with console.store.begin() as session:
        row = await session.get_one(Shard, 1)
        row.observed_status, row.observed_role = "ok", "master"
        row.observed_at = datetime.fromtimestamp(now - 30, UTC)
    made = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    task = asyncio.create_task(made.run())
    agents.sample(1, sample(now - 60, died={1: "killed"}))
    agents.sample(1, sample(now - 20, {1: shard(pid=9.0)}))
    agents.sample(1, None)
    await wait_until(lambda: console.live.resume_point(1)[1] == now - 20)

    async def is_recorded() -> bool:
        return (await shard_row(console, 1)).observed_pid == 9

    await wait_until(is_recorded)
    assert await events_of_types(console, "shard_down", "shard_up") == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.usefixtures("database")
async def test_a_shard_that_does_not_answer_is_not_dead(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 1, "ok")
    agents.sample(1, sample(NOW + 1, missing={1: "it did not reply to INFO within 0.8 s"}))
    busy = await wait_for_status(console, 1, "timeout")
    assert busy.detail == "it did not reply to INFO within 0.8 s"
    agents.sample(1, sample(NOW + 2, {1: shard()}))
    assert (await wait_for_status(console, 1, "ok")).detail == ""
    assert await events_of_types(console, "shard_down", "shard_up", "shard_role_changed") == []


@pytest.mark.usefixtures("database")
async def test_a_restarted_shard_is_recorded(console: Console, agents: FakeAgents, running: NodeCollector) -> None:
    agents.sample(1, sample(NOW, died={1: "killed"}))
    await wait_for_status(console, 1, "down")
    agents.sample(1, sample(NOW + 1, {1: shard(pid=4712.0, started_at=2000.0)}))
    restarted_shard = await wait_for_status(console, 1, "ok")
    assert (restarted_shard.observed_pid, restarted_shard.observed_started_at) == (
        4712,
        datetime.fromtimestamp(2000, UTC),
    )
    [event] = await events_of_types(console, "shard_up")
    assert event.description == "Shard redis:1 of shop on node 1 came up."


@pytest.mark.usefixtures("database")
async def test_a_role_change_is_recorded(console: Console, agents: FakeAgents, running: NodeCollector) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 2, "ok")
    agents.sample(2, sample(NOW + 1, {2: shard()}))

    async def changed() -> list[Event]:
        return await events_of_types(console, "shard_role_changed")

    [event] = await wait_until(changed)
    assert event.description == "Shard redis:2 of shop on node 2 became primary of slots 0–16383 in place of redis:1."
    assert (await shard_row(console, 2)).role == "slave", "the collector does not change the desired state"
    assert (await shard_row(console, 2)).observed_role == "master"


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("names", "severity"),
    [
        ([("SMRebalance", "bdb", 1)], "INFO"),
        ([("SMNodeMaintenanceOn", "node", 1)], "INFO"),
        ([("SMRebalance", "bdb", 7)], "WARNING"),
        ([("SMDrill", "node", 1), ("SMBenchmark", "benchmark", 1)], "WARNING"),
        ([("SMRebalance", "bdb", 1), ("SMFailover", "bdb", 1)], "WARNING"),
    ],
    ids=[
        "rebalance",
        "maintenance",
        "of another database",
        "drill and benchmark",
        "a primary is lost at the same time",
    ],
)
async def test_an_intended_role_change_is_not_a_warning(
    console: Console, agents: FakeAgents, running: NodeCollector, names: list[tuple[str, str, int]], severity: str
) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 2, "ok")
    async with console.store.begin() as session:
        await clusters.load_for_update(session)
        for name, kind, uid in names:
            queue.enqueue(
                session,
                name,
                object_type=kind,
                object_uid=uid,
                description="",
                originator="ann",
                deadline=timedelta(minutes=1),
            )
    agents.sample(2, sample(NOW + 1, {2: shard()}))

    async def changed() -> list[Event]:
        return await events_of_types(console, "shard_role_changed")

    [event] = await wait_until(changed)
    assert event.severity == severity


@pytest.mark.usefixtures("database")
async def test_a_primary_with_a_failed_cluster_state_is_recorded(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 1, "ok")
    for t, down, link in ((NOW + 1, 1.0, "cluster_down"), (NOW + 2, 0.0, "")):
        agents.sample(1, sample(t, {1: shard(cluster_down=down)}))

        async def has_link(link: str = link) -> bool:
            return (await shard_row(console, 1)).observed_link == link

        await wait_until(has_link)


@pytest.mark.usefixtures("database")
async def test_a_lost_and_restored_replication_link_is_recorded(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    await deliver_second(agents)
    await wait_for_status(console, 2, "ok")
    for t, link in ((NOW + 1, 0.0), (NOW + 2, 0.0), (NOW + 3, 1.0)):
        agents.sample(2, sample(t, {2: shard(is_primary=0.0, link_up=link)}))

    async def both_events() -> list[Event]:
        link_events = await events_of_types(console, "replica_link_down", "replica_in_sync")
        return link_events if len(link_events) >= 2 else []

    assert [event.description for event in await wait_until(both_events)] == [
        "Shard redis:2 of shop on node 2 lost the link to its primary.",
        "Shard redis:2 of shop on node 2 was in sync with its primary.",
    ]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("status", ["pending", "delete-pending", "creation-failed"])
async def test_databases_being_created_or_deleted_record_no_shard_events(
    console: Console, agents: FakeAgents, running: NodeCollector, status: str
) -> None:
    async with console.store.begin() as session:
        bdb = await session.get(Bdb, 1)
        assert bdb is not None
        bdb.status = status
    agents.sample(1, sample(NOW, died={1: "killed"}))
    await wait_for_status(console, 1, "down")
    assert await events_of_types(console, "shard_down") == []


@pytest.mark.usefixtures("database")
async def test_unknown_shards_are_ignored(console: Console, agents: FakeAgents, running: NodeCollector) -> None:
    agents.sample(1, sample(NOW, {1: shard(), 77: shard()}, died={78: "killed"}))
    await wait_for_status(console, 1, "ok")
    assert await events_of_types(console, "shard_down") == []


@pytest.mark.usefixtures("database")
async def test_old_samples_of_missing_shards_are_ignored(console: Console, agents: FakeAgents) -> None:
    """The agent's samples from before the loss are read after the shard was found missing."""
    async with console.store.begin() as session:
        (await session.get_one(Bdb, 1)).store_mismatch = StoreMismatch(missing=(1,)).stored()
        (await session.get_one(Shard, 1)).observed_status = "down"
    made = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    task = asyncio.create_task(made.run())
    agents.sample(1, sample(NOW, {1: shard()}))
    agents.sample(1, None)
    await wait_until(lambda: agents.calls.count(("samples", 1)) == 2)  # the first sample was processed
    assert (await shard_row(console, 1)).observed_status == "down"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_nodes_that_join_or_leave_are_noticed_at_once(
    console: Console, agents: FakeAgents, running: NodeCollector
) -> None:
    await wait_until(lambda: set(running._followers) == {1, 2, 3})
    async with console.store.begin() as session:
        third = await nodes.by_uid(session, 3)
        assert third is not None
        session.add(
            Node(
                uid=4,
                addr="10.0.0.4",
                agent_port=9700,
                agent_status="connected",
                last_seen=third.last_seen,
                joined_at=third.joined_at,
                facts=third.facts,
            )
        )
        await session.delete(third)
    async with asyncio.timeout(4.5):  # without a change, the collector polls every 5 s
        await wait_until(lambda: set(running._followers) == {1, 2, 4})


@pytest.mark.usefixtures("database")
async def test_another_console_than_the_leader_only_observes(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    """When it leads, the same samples are recorded."""
    leads = False
    node_collector = NodeCollector(
        console.store, console.bus, agents, console.live, pulses, lambda: nullcontext() if leads else None
    )
    task = asyncio.create_task(node_collector.run())
    await deliver_second(agents)
    await wait_until(lambda: console.live.resume_point(2)[1] == NOW and pulses.silence(1) < 60)
    await deliver_second(agents, NOW + 1)
    await wait_until(lambda: console.live.resume_point(1)[1] == console.live.resume_point(2)[1] == NOW + 1)
    assert (await shard_row(console, 1)).observed_at is None
    assert ("facts", 1) not in agents.calls
    assert agents.rare_pulses[1]
    leads = True
    console.bus.publish("leader")
    await wait_until(lambda: agents.calls.count(("samples", 1)) == 2)
    assert not agents.rare_pulses[1]
    await deliver_second(agents, NOW + 2)
    await wait_until(lambda: ("facts", 1) in agents.calls)
    await wait_for_status(console, 1, "ok")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.usefixtures("nodes")
async def test_a_new_leader_records_the_agents_that_it_reaches_without_waiting_for_samples(
    console: Console, agents: FakeAgents
) -> None:
    """The former leader recorded them as lost."""
    leads = False
    pulses = Pulses(clock=lambda: 0.0)
    node_collector = NodeCollector(
        console.store, console.bus, agents, console.live, pulses, lambda: nullcontext() if leads else None
    )
    async with console.store.begin() as session:
        for uid in (1, 2):
            await observations.record_agent_lost(session, uid, "its agent cannot be reached", 10.0)
    task = asyncio.create_task(node_collector.run())
    await deliver_second(agents)
    await wait_until(lambda: all(console.live.resume_point(uid)[1] == NOW for uid in (1, 2)))
    agents.unreachable.add(2)
    leads = True
    console.bus.publish("leader")
    await wait_until(lambda: agent_status_is(console, AgentStatus.CONNECTED))
    async with console.store.read() as session:
        unreachable = await nodes.by_uid(session, 2)
    assert unreachable is not None
    assert unreachable.agent_status == AgentStatus.LOST
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_stopping_the_collector_stops_every_follower(
    console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    node_collector = NodeCollector(console.store, console.bus, agents, console.live, Pulses())
    task = asyncio.create_task(node_collector.run())
    await wait_until(lambda: len(node_collector._followers) == 3)
    followers = list(node_collector._followers.values())
    task.cancel()
    await asyncio.gather(task, *followers, return_exceptions=True)
    assert all(follower.cancelled() for follower in followers)
