"""Failure detection of nodes. The tests control witnesses and pulses."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from backend.tests.support import active_database
from backend.tests.support.clock import Clock
from backend.tests.support.real_shards import wait_until
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors import observations
from shardboard.collectors.failures import failure_detection as watch
from shardboard.collectors.failures.failure_detection import NodeWatch
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.contract import PULSE_SECONDS, RARE_PULSE_SECONDS
from shardboard.domain.cluster.agent_reach import SILENT_SECONDS
from shardboard.domain.cluster.leadership import LEASE_SECONDS
from shardboard.domain.failures import failure_detection as health
from shardboard.domain.placement.shard_placement import BUS_OFFSET
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef, ProbeTarget
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards

pytestmark = pytest.mark.store

NODE_2 = {("10.0.0.2", 20002), ("10.0.0.2", 20004)}
"""Addresses of primary 2 and replica 4."""


class FakePulses(Pulses):
    """Pulses with the seconds of silence that a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[int, float] = {}
        self.checks = 0

    def silence(self, node_uid: int) -> float:
        self.checks += 1
        return self.seconds.get(node_uid, 0.0)

    def seconds_since_pulse(self, node_uid: int) -> float | None:
        return self.seconds.get(node_uid)


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "TICK_SECONDS", 0.002)
    monkeypatch.setattr(watch, "ROUND_SECONDS", 0.002)


@pytest.fixture
def pulses() -> FakePulses:
    return FakePulses()


@pytest.fixture
async def watching(
    console: Console, agents: FakeAgents, pulses: FakePulses, nodes: list[Node]
) -> AsyncIterator[NodeWatch]:
    await active_database.create_active_database(console, agents)
    node_watch = NodeWatch(console.store, agents, pulses)
    task = asyncio.create_task(node_watch.run())
    yield node_watch
    task.cancel()
    await asyncio.gather(task, *node_watch._inquiries.values(), return_exceptions=True)


async def outages(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [event for event in await events.page(session, newest_first=False) if event.type == "node_failed"]


async def health_of(console: Console, uid: int) -> str:
    async with console.store.read() as session:
        node = await nodes.by_uid(session, uid)
    assert node is not None
    return node.health


async def is_down(console: Console, uid: int = 2) -> bool:
    return await health_of(console, uid) == "down"


async def ticks(pulses: FakePulses) -> None:
    """Wait until the watch has read the store again and then checked every node several times."""
    target_checks = pulses.checks + 100
    await wait_until(lambda: pulses.checks >= target_checks)


async def rounds(agents: FakeAgents, count: int, witness: int = 1) -> None:
    """Wait until a witness was asked for this many more probes."""
    before = agents.calls.count(("probe", witness))
    await wait_until(lambda: agents.calls.count(("probe", witness)) >= before + count)


async def test_only_a_few_shards_are_probed_first_if_many_nodes_are_silent(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If none of the few answers, all are probed."""
    monkeypatch.setattr(watch, "MAX_SUSPECTS", 0)
    monkeypatch.setattr(watch, "CROWD_PROBE_SHARDS", 1)
    probed: list[int] = []

    async def counted(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        probed.append(len(targets))
        return await FakeAgents.probe(agents, node, targets)

    monkeypatch.setattr(agents, "probe", counted)
    pulses.seconds = {2: 5.0}
    await rounds(agents, 10, witness=3)
    assert set(probed) == {1}
    assert await health_of(console, 2) == "up"
    agents.silent = set(NODE_2)
    await wait_until(lambda: is_down(console))
    assert set(probed) == {1, 2}
    [outage] = await outages(console)
    assert outage.node_uid == 2


async def test_shards_with_tls_are_probed_with_tls(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed: set[tuple[bool, int]] = set()

    async def record_targets(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        probed.update((target.tls, target.port) for target in targets)
        return await FakeAgents.probe(agents, node, targets)

    monkeypatch.setattr(agents, "probe", record_targets)
    pulses.seconds = {2: 5.0}
    await rounds(agents, 2, witness=3)
    assert probed == {(False, port) for _, port in NODE_2}
    async with console.store.begin() as session:
        for bdb in await bdbs.list_all(session):
            bdb.shard_certificates = ShardCertificates.issue().stored()
    probed.clear()
    await wait_until(lambda: {(True, port + BUS_OFFSET) for _, port in NODE_2} <= probed)
    async with console.store.begin() as session:
        for bdb in await bdbs.list_all(session):
            bdb.sharding = False
    await wait_until(lambda: {(True, port) for _, port in NODE_2} <= probed)


async def test_a_node_with_recent_samples_is_not_probed(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 0.69}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []


async def test_a_silent_agent_with_responding_shards_is_not_a_node_down(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    agents.silent = set(list(NODE_2)[:1])  # one of two shards answers, which is enough
    pulses.seconds = {2: float("inf")}
    await rounds(agents, 10)
    assert await health_of(console, 2) == "up"
    assert await outages(console) == []


async def test_a_node_is_down_once_after_two_silent_rounds(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 1.0}
    await wait_until(lambda: is_down(console))
    [event] = await outages(console)
    assert (event.node_uid, event.source, event.severity, event.ended_at) == (2, "node", "ERROR", None)
    details = [{"bdb_uid": 1, "slots": "5461-10922"}]
    counts = {"primaries": 1, "replicas": 1, "databases": details}
    lost = [
        {"uid": 2, "bdb_uid": 1, "pair": 1, "role": "master"},
        {"uid": 4, "bdb_uid": 1, "pair": 0, "role": "slave"},
    ]
    assert event.details == {
        "open": True,
        "witnesses": [1, 3],
        "detected_ms": 1000,
        **counts,
        "lost_shards": lost,
    }
    assert event.description == (
        "Node 2 went down with 1 primary and 1 replica: agents on nodes 1 and 3 reached none of its shards."
    )
    async with console.store.read() as session:
        status = {row.uid: row.observed_status for row in await shards.list_all(session)}
    assert status == {1: "ok", 2: "down", 3: "ok", 4: "down", 5: "ok", 6: "ok"}
    assert agents.calls.count(("probe", 1)) >= health.SENSITIVITY["high"][1]
    await wait_until(lambda: not watching._inquiries)
    assert len(await outages(console)) == 1


async def test_one_successful_probe_restarts_the_count_of_rounds(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe_count = 0

    async def every_other(node: object, targets: list[object]) -> list[bool]:
        nonlocal probe_count
        probe_count += 1
        return [probe_count % 4 < 2] * len(targets)  # both witnesses of a round agree: silent, alive, silent, …

    monkeypatch.setattr(agents, "probe", every_other)
    pulses.seconds = {2: 1.0}
    await wait_until(lambda: probe_count > 20)
    assert await health_of(console, 2) == "up"


async def test_unreachable_witnesses_are_not_counted(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    agents.unreachable = {1, 3}
    pulses.seconds = {2: 1.0}
    await rounds(agents, 5)
    assert await health_of(console, 2) == "up"
    agents.unreachable = {1}  # the console itself is the second witness
    await wait_until(lambda: is_down(console))


@pytest.mark.parametrize("unreachable", [set(), {1}])
async def test_a_single_witness_does_not_decide(
    console: Console,
    agents: FakeAgents,
    pulses: FakePulses,
    watching: NodeWatch,
    monkeypatch: pytest.MonkeyPatch,
    unreachable: set[int],
) -> None:
    """Agent 3 reports that no shard responds, and the other agent is silent or unreachable. The console reaches the shards."""

    async def report_silence(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        await FakeAgents.probe(agents, node, targets)
        return [False] * len(targets)

    monkeypatch.setattr(agents, "probe", report_silence)
    agents.unreachable = unreachable
    pulses.seconds = {2: 1.0} if unreachable else {1: 1.0, 2: 1.0}
    await rounds(agents, 10, witness=3)
    assert await outages(console) == []
    agents.silent = set(NODE_2)
    await wait_until(lambda: is_down(console))
    assert await health_of(console, 1) == "up"


async def test_a_crowd_needs_more_than_one_witness_that_a_node_is_alive(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agent 3, which is queried first, reports that all shards respond to a partial probe."""
    monkeypatch.setattr(watch, "MAX_SUSPECTS", 0)
    monkeypatch.setattr(watch, "CROWD_PROBE_SHARDS", 1)
    agents.silent = set(NODE_2)

    async def pretend(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        replies = await FakeAgents.probe(agents, node, targets)
        return [True] * len(targets) if node.uid == 3 and len(targets) == 1 else replies

    monkeypatch.setattr(agents, "probe", pretend)
    pulses.seconds = {2: 1.0}
    await wait_until(lambda: is_down(console))


async def test_a_console_without_any_samples_marks_no_node_as_down(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    """If all agents are silent at once, the console was frozen or is cut off itself."""
    agents.silent = set(NODE_2)
    pulses.seconds = dict.fromkeys((1, 2, 3), 30.0)
    await wait_until(lambda: watching._inquiries)
    await ticks(pulses)
    assert await outages(console) == []


async def test_without_other_nodes_the_console_probes_the_shards(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    async with console.store.begin() as session:
        for uid in (1, 3):
            await session.delete(await nodes.by_uid(session, uid))
    await ticks(pulses)
    pulses.seconds = {2: 30.0}
    await ticks(pulses)
    assert await outages(console) == [], "its shards still answer the console"
    agents.silent = set(NODE_2)
    await wait_until(lambda: is_down(console))
    [event] = await outages(console)
    assert (event.node_uid, event.details["witnesses"]) == (2, [])
    assert event.description.endswith("the console reached none of its shards.")
    assert not [call for call in agents.calls if call[0] == "probe"]


async def test_shards_that_were_already_down_are_not_probed(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    await active_database.set_observed_state(console, 2, 4, status="down")
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 1.0}
    await ticks(pulses)
    assert await outages(console) == []


async def test_silent_agents_are_not_witnesses(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 1.0, 3: 1.0}
    await wait_until(lambda: is_down(console))
    [event] = await outages(console)
    assert event.details["witnesses"] == [1]


async def test_low_sensitivity_waits_longer_and_probes_more_often(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"failure_detection_sensitivity": "low"}
    agents.silent = set(NODE_2)
    await ticks(pulses)
    pulses.seconds = {2: 2.9}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []
    pulses.seconds = {2: 3.1}
    await wait_until(lambda: is_down(console))
    assert agents.calls.count(("probe", 1)) >= health.SENSITIVITY["low"][1]


@pytest.mark.parametrize(("restarted", "gets_more_time"), [(False, True), (True, False)])
async def test_a_node_that_stalls_repeatedly_gets_more_time(
    console: Console,
    agents: FakeAgents,
    pulses: FakePulses,
    watching: NodeWatch,
    restarted: bool,
    gets_more_time: bool,
) -> None:
    async with console.store.begin() as session:
        for _ in range(health.FLAPPING):
            details = {"open": False, "restarted": restarted}
            events.record(session, "node_failed", "", source="node", node_uid=2, details=details)
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 2.9}
    if gets_more_time:
        await ticks(pulses)
        assert [call for call in agents.calls if call[0] == "probe"] == []
        pulses.seconds = {2: 3.1}
    await wait_until(lambda: is_down(console))
    assert (agents.calls.count(("probe", 1)) >= health.SENSITIVITY["low"][1]) == gets_more_time


async def test_a_node_that_sends_samples_during_the_probes_is_not_down(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_count = 0

    async def recover_in_second_round(node: object, targets: list[object]) -> list[bool]:
        nonlocal round_count
        round_count += 1
        if round_count > 2:  # the second round
            pulses.seconds = {}
        return [False] * len(targets)

    monkeypatch.setattr(agents, "probe", recover_in_second_round)
    pulses.seconds = {2: 1.0}
    await wait_until(lambda: round_count >= 4 and not watching._inquiries)
    assert await outages(console) == []


async def test_a_silent_node_without_running_shards_is_checked_once(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a large database is created, many nodes are silent for a moment, and the store must not get extra queries."""
    counted_stalls = 0

    async def counted(session: AsyncSession) -> Counter[int]:
        nonlocal counted_stalls
        counted_stalls += 1
        return Counter()

    monkeypatch.setattr(observations, "recent_stalls", counted)
    async with console.store.begin() as session:
        for shard in await shards.list_for_node(session, 2):
            shard.observed_status = "unknown"
    pulses.seconds = {2: 5.0}
    await ticks(pulses)
    assert counted_stalls == 1
    agents.silent = set(NODE_2)
    async with console.store.begin() as session:
        for shard in await shards.list_for_node(session, 2):
            shard.observed_status = "ok"
    await wait_until(lambda: is_down(console))


async def test_shards_of_a_pending_database_are_not_probed(
    console: Console, agents: FakeAgents, pulses: FakePulses, watching: NodeWatch
) -> None:
    """Shards that are forming a cluster may be too busy to answer."""
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.status = "pending"
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 5.0}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.status = "active"
    await wait_until(lambda: is_down(console))


async def test_verdict_from_before_a_pause_is_discarded(
    console: Console,
    agents: FakeAgents,
    pulses: FakePulses,
    watching: NodeWatch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The console is paused during the first rounds. The second ones decide."""
    clock = SimpleNamespace(pauses=0)
    monkeypatch.setattr(watch, "ACTIVE", clock)
    check_count = 0
    verdicts = NodeWatch._verdicts

    async def paused(*arguments: Any) -> Any:
        nonlocal check_count
        result = await verdicts(*arguments)
        check_count += 1
        if check_count == 1:
            assert "silent" in result
            clock.pauses += 1
        return result

    monkeypatch.setattr(NodeWatch, "_verdicts", paused)
    agents.silent = set(NODE_2)
    pulses.seconds = {2: 5.0}
    await wait_until(lambda: is_down(console))
    assert check_count == 2


class TestPulses:
    def test_a_broken_stream_is_infinite_silence(self) -> None:
        pulses = Pulses()
        pulses.record_pulse(1)
        assert pulses.silence(1) < 1
        pulses.record_stream_end(1)
        assert pulses.silence(1) == float("inf")
        pulses.record_pulse(1)
        assert pulses.silence(1) < 1

    def test_nodes_that_were_heard_from_are_reached(self) -> None:
        clock = Clock()
        pulses = Pulses(clock)
        for node_uid in (1, 2, 3):
            pulses.record_pulse(node_uid)
        clock.now += SILENT_SECONDS
        pulses.record_pulse(1)
        pulses.record_stream_end(2)
        assert pulses.count_reached() == 2
        clock.now += 0.1
        assert pulses.count_reached() == 1

    def test_rare_pulses_postpone_silence(self) -> None:
        """A node that fails together with the leader is silent when the next leader starts. A node between two samples is not."""
        clock = Clock()
        pulses = Pulses(clock)
        pulses.record_pulse(1, is_rare=True)
        clock.now += RARE_PULSE_SECONDS
        assert pulses.silence(1) == pytest.approx(PULSE_SECONDS)
        clock.now += LEASE_SECONDS
        assert pulses.silence(1) > health.SENSITIVITY["high"][0]

    def test_time_when_the_console_could_not_read_is_not_silence(self) -> None:
        times = [0.0]
        pulses = Pulses(lambda: times[0])
        pulses.record_pulse(1)
        pulses._last_pulses[1] = 0.0, time.monotonic() - 5
        times[0] = 0.5
        assert pulses.silence(1) == 0.5
        assert (pulses.seconds_since_pulse(1) or 0) >= 5, "the unadjusted time is reported"
        times[0] = 3.0
        assert pulses.silence(1) == 3.0
        pulses.record_stream_end(1)
        assert pulses.silence(1) == float("inf")

    def test_a_node_gets_time_for_its_first_sample(self) -> None:
        assert Pulses().silence(1) < 0
        pulses = Pulses()
        pulses.record_stream_end(1)
        assert pulses.silence(1) < 0, "it never had a stream that could break"
