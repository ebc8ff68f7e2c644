"""When a node is found to be down, and when not: witnesses and pulses are the test's own."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import pytest
from backend.tests import pairs
from backend.tests.shards import until
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors import observations, watch
from shardboard.collectors.pulse import Pulses
from shardboard.collectors.watch import NodeWatch
from shardboard.console import Console
from shardboard.domain import health
from shardboard.domain.placement import BUS_OFFSET
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef, ProbeTarget
from shardboard.shard_certificates import ShardCertificates
from shardboard.state import bdbs, cluster, events, nodes, shards
from shardboard.state.events import Event
from shardboard.state.nodes import Node

pytestmark = pytest.mark.store

NODE_2 = {("10.0.0.2", 20002), ("10.0.0.2", 20004)}
"""Primary 2 and replica 4."""


class Silence(Pulses):
    """Seconds of silence, as the test sets them."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[int, float] = {}
        self.asked = 0

    def silence(self, node_uid: int) -> float:
        self.asked += 1
        return self.of.get(node_uid, 0.0)

    def unheard(self, node_uid: int) -> float | None:
        return self.of.get(node_uid)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "TICK", 0.002)
    monkeypatch.setattr(watch, "ROUND_SECONDS", 0.002)


@pytest.fixture
def pulses() -> Silence:
    return Silence()


@pytest.fixture
async def watching(
    console: Console, agents: FakeAgents, pulses: Silence, nodes: list[Node]
) -> AsyncIterator[NodeWatch]:
    await pairs.active(console, agents)
    made = NodeWatch(console.store, agents, pulses)
    task = asyncio.create_task(made.run())
    yield made
    task.cancel()
    await asyncio.gather(task, *made._inquiries.values(), return_exceptions=True)


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


async def ticks(pulses: Silence) -> None:
    """Until the watch has read the store anew, and looked at every node several times after that."""
    enough = pulses.asked + 100
    await until(lambda: pulses.asked >= enough)


async def rounds(agents: FakeAgents, count: int, witness: int = 1) -> None:
    """Until a witness was asked that many times more."""
    before = agents.calls.count(("probe", witness))
    await until(lambda: agents.calls.count(("probe", witness)) >= before + count)


async def test_of_many_silent_nodes_a_few_shards_are_asked_first(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as one of them answers; when none does, all are asked as ever."""
    monkeypatch.setattr(watch, "CROWD", 0)
    monkeypatch.setattr(watch, "FEW", 1)
    asked: list[int] = []

    async def counted(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        asked.append(len(targets))
        return await FakeAgents.probe(agents, node, targets)

    monkeypatch.setattr(agents, "probe", counted)
    pulses.of = {2: 5.0}
    await rounds(agents, 10, witness=3)
    assert set(asked) == {1}
    assert await health_of(console, 2) == "up"
    agents.silent = set(NODE_2)
    await until(lambda: is_down(console))
    assert set(asked) == {1, 2}
    [outage] = await outages(console)
    assert outage.node_uid == 2


async def test_shards_that_speak_tls_are_asked_so(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[tuple[bool, int]] = set()

    async def heard(node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        asked.update((target.tls, target.port) for target in targets)
        return await FakeAgents.probe(agents, node, targets)

    monkeypatch.setattr(agents, "probe", heard)
    pulses.of = {2: 5.0}
    await rounds(agents, 2, witness=3)
    assert asked == {(False, port) for _, port in NODE_2}
    async with console.store.begin() as session:
        for bdb in await bdbs.every(session):
            bdb.shard_certificates = ShardCertificates.issue().stored()
    asked.clear()
    await until(lambda: {(True, port + BUS_OFFSET) for _, port in NODE_2} <= asked)
    async with console.store.begin() as session:
        for bdb in await bdbs.every(session):
            bdb.sharding = False
    await until(lambda: {(True, port) for _, port in NODE_2} <= asked)


async def test_a_node_that_is_heard_is_not_asked_about(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.of = {2: 0.69}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []


async def test_an_agent_that_is_silent_while_its_shards_answer_is_no_node_down(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    agents.silent = set(list(NODE_2)[:1])  # one of two answers, and that is enough
    pulses.of = {2: float("inf")}
    await rounds(agents, 10)
    assert await health_of(console, 2) == "up"
    assert await outages(console) == []


async def test_two_silent_rounds_are_a_node_down_told_once(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.of = {2: 1.0}
    await until(lambda: is_down(console))
    [event] = await outages(console)
    assert (event.node_uid, event.source, event.severity, event.ended_at) == (2, "node", "ERROR", None)
    lost = [{"bdb_uid": 1, "slots": "5461-10922"}]
    counts = {"primaries": 1, "replicas": 1, "databases": lost}
    assert event.details == {"open": True, "witnesses": [1, 3], "detected_ms": 1000, **counts}
    assert event.description == (
        "Node 2 went down with 1 primary and 1 replica: agents on nodes 1 and 3 reached none of its shards."
    )
    async with console.store.read() as session:
        status = {row.uid: row.observed_status for row in await shards.every(session)}
    assert status == {1: "ok", 2: "down", 3: "ok", 4: "down", 5: "ok", 6: "ok"}
    assert agents.calls.count(("probe", 1)) >= health.SENSITIVITY["high"][1]
    await until(lambda: not watching._inquiries)
    assert len(await outages(console)) == 1


async def test_a_single_sign_of_life_starts_the_count_again(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def every_other(node: object, targets: list[object]) -> list[bool]:
        nonlocal asked
        asked += 1
        return [asked % 4 < 2] * len(targets)  # both witnesses of a round agree: silent, alive, silent, …

    monkeypatch.setattr(agents, "probe", every_other)
    pulses.of = {2: 1.0}
    await until(lambda: asked > 20)
    assert await health_of(console, 2) == "up"


async def test_witnesses_out_of_reach_prove_nothing(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    agents.unreachable = {1, 3}
    pulses.of = {2: 1.0}
    await rounds(agents, 5)
    assert await health_of(console, 2) == "up"
    agents.unreachable = {1}  # one is enough
    await until(lambda: is_down(console))


async def test_a_console_that_hears_nobody_judges_nobody(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    """All agents silent at once: the console was frozen, or is the one that is cut off."""
    agents.silent = set(NODE_2)
    pulses.of = dict.fromkeys((1, 2, 3), 30.0)
    await until(lambda: watching._inquiries)
    await ticks(pulses)
    assert await outages(console) == []


async def test_on_the_only_node_the_console_asks_itself(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    async with console.store.begin() as session:
        for uid in (1, 3):
            await session.delete(await nodes.by_uid(session, uid))
    await ticks(pulses)
    pulses.of = {2: 30.0}
    await ticks(pulses)
    assert await outages(console) == [], "its shards answer the console"
    agents.silent = set(NODE_2)
    await until(lambda: is_down(console))
    [event] = await outages(console)
    assert (event.node_uid, event.details["witnesses"]) == (2, [])
    assert event.description.endswith("the console reached none of its shards.")
    assert not [call for call in agents.calls if call[0] == "probe"]


async def test_shards_that_were_down_before_do_not_bear_witness(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    await pairs.observe(console, 2, 4, status="down")
    agents.silent = set(NODE_2)
    pulses.of = {2: 1.0}
    await ticks(pulses)
    assert await outages(console) == []


async def test_silent_agents_are_no_witnesses(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    agents.silent = set(NODE_2)
    pulses.of = {2: 1.0, 3: 1.0}
    await until(lambda: is_down(console))
    [event] = await outages(console)
    assert event.details["witnesses"] == [1]


async def test_low_sensitivity_waits_longer_and_asks_more(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"failure_detection_sensitivity": "low"}
    agents.silent = set(NODE_2)
    await ticks(pulses)
    pulses.of = {2: 2.9}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []
    pulses.of = {2: 3.1}
    await until(lambda: is_down(console))
    assert agents.calls.count(("probe", 1)) >= health.SENSITIVITY["low"][1]


@pytest.mark.parametrize(("restarted", "patient"), [(False, True), (True, False)])
async def test_a_node_that_stalls_again_and_again_is_given_more_time(
    console: Console,
    agents: FakeAgents,
    pulses: Silence,
    watching: NodeWatch,
    restarted: bool,
    patient: bool,
) -> None:
    async with console.store.begin() as session:
        for _ in range(health.FLAPPING):
            details = {"open": False, "restarted": restarted}
            events.record(session, "node_failed", "", source="node", node_uid=2, details=details)
    agents.silent = set(NODE_2)
    pulses.of = {2: 2.9}
    if patient:
        await ticks(pulses)
        assert [call for call in agents.calls if call[0] == "probe"] == []
        pulses.of = {2: 3.1}
    await until(lambda: is_down(console))
    assert (agents.calls.count(("probe", 1)) >= health.SENSITIVITY["low"][1]) == patient


async def test_a_node_that_is_heard_again_while_it_is_asked_about_is_not_down(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds_asked = 0

    async def late(node: object, targets: list[object]) -> list[bool]:
        nonlocal rounds_asked
        rounds_asked += 1
        if rounds_asked > 2:  # the second round
            pulses.of = {}
        return [False] * len(targets)

    monkeypatch.setattr(agents, "probe", late)
    pulses.of = {2: 1.0}
    await until(lambda: rounds_asked >= 4 and not watching._inquiries)
    assert await outages(console) == []


async def test_of_a_silent_node_without_shards_that_ran_nothing_is_asked_over_and_over(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a large database is made many nodes are silent for a moment, and the store has other things to do."""
    begun = 0

    async def counted(session: AsyncSession) -> Counter[int]:
        nonlocal begun
        begun += 1
        return Counter()

    monkeypatch.setattr(observations, "stalls", counted)
    async with console.store.begin() as session:
        for shard in await shards.of_node(session, 2):
            shard.observed_status = "unknown"
    pulses.of = {2: 5.0}
    await ticks(pulses)
    assert begun == 1
    agents.silent = set(NODE_2)
    async with console.store.begin() as session:
        for shard in await shards.of_node(session, 2):
            shard.observed_status = "ok"
    await until(lambda: is_down(console))


async def test_shards_of_a_database_that_is_being_made_bear_no_witness(
    console: Console, agents: FakeAgents, pulses: Silence, watching: NodeWatch
) -> None:
    """Until it serves they may be too busy with each other to answer."""
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.status = "pending"
    agents.silent = set(NODE_2)
    pulses.of = {2: 5.0}
    await ticks(pulses)
    assert [call for call in agents.calls if call[0] == "probe"] == []
    async with console.store.begin() as session:
        row = await bdbs.by_uid(session, 1)
        assert row is not None
        row.status = "active"
    await until(lambda: is_down(console))


class TestPulses:
    def test_a_broken_stream_counts_more_than_silence(self) -> None:
        pulses = Pulses()
        pulses.heard(1)
        assert pulses.silence(1) < 1
        pulses.broke(1)
        assert pulses.silence(1) == float("inf")
        pulses.heard(1)
        assert pulses.silence(1) < 1

    def test_time_in_which_the_console_could_not_read_is_no_silence(self) -> None:
        pulses = Pulses()
        pulses.heard(1)
        pulses._heard[1] -= 5
        pulses.excuse(4.5)
        assert 0.5 <= pulses.silence(1) < 1
        assert (pulses.unheard(1) or 0) >= 5, "reports state the real time"
        pulses.excuse(100)
        assert 0 <= pulses.silence(1) < 0.5, "more than the whole silence cannot be excused"
        pulses.heard(1)
        pulses._heard[1] -= 5
        assert pulses.silence(1) >= 5, "a new silence counts"
        pulses.broke(1)
        pulses.excuse(1)
        assert pulses.silence(1) == float("inf")

    def test_nodes_get_time_for_their_first_contact(self) -> None:
        assert Pulses().silence(1) < 0
        pulses = Pulses()
        pulses.broke(1)
        assert pulses.silence(1) < 0, "it was never there to break"
