"""Alarms about epochs and elections that no action explains."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from backend.tests.support import active_database

from shardboard.actions import queue
from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import persistent_alarms
from shardboard.reconcilers.failures.epochs import OPEN_SECONDS, SETTLE_TIME, EpochLoop
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNEXPECTED_EPOCH, UNKNOWN_NODE, Event
from shardboard.state.cluster import actions, cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> EpochLoop:
    """The loop, after its first poll."""
    await active_database.create_active_database(console, agents)
    set_epochs(agents, 1, 2, 3)
    epoch_loop = EpochLoop(console.store, agents)
    await epoch_loop.sweep()
    return epoch_loop


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock_state = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(
        persistent_alarms,
        "asyncio",
        SimpleNamespace(get_running_loop=lambda: SimpleNamespace(time=lambda: clock_state.now)),
    )
    return clock_state


def set_epochs(agents: FakeAgents, *own: int, newest: int | None = None, state: str = "ok") -> None:
    """Set the epochs that the primaries report."""
    for uid, epoch in enumerate(own, 1):
        agents.replies[uid, "CLUSTER INFO"] = (
            f"cluster_state:{state}\r\ncluster_current_epoch:{newest or max(own)}\r\ncluster_my_epoch:{epoch}\r\n"
        )


async def alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == UNEXPECTED_EPOCH]


async def start_action(console: Console, object_type: str, object_uid: int) -> str:
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        action = queue.enqueue(
            session,
            "SMReshardBDB",
            object_type=object_type,
            object_uid=object_uid,
            description="",
            originator="system",
            deadline=timedelta(seconds=60),
        )
        return action.uid


async def end_action(console: Console, uid: str, ago: timedelta) -> None:
    async with console.store.begin() as session:
        action = await actions.by_uid(session, uid)
        assert action is not None
        action.status, action.finished_at = "completed", datetime.now(UTC) - ago


async def raise_epoch(loop: EpochLoop, agents: FakeAgents) -> None:
    """Raise the epoch of primary 2 and poll twice."""
    set_epochs(agents, 1, 9, 3)
    await loop.sweep()
    await loop.sweep()


async def test_a_raised_epoch_keeps_an_alarm_open_for_a_while(
    console: Console, agents: FakeAgents, loop: EpochLoop, clock: SimpleNamespace
) -> None:
    await raise_epoch(loop, agents)
    [alarm] = await alarms(console)
    assert (alarm.severity, alarm.source, alarm.bdb_uid, alarm.ended_at) == ("ERROR", "bdb", active_database.BDB, None)
    assert alarm.description == (
        "Unexpected changes to shop: the epoch of redis:2 increased from 2 to 9. The cause can be a client with the "
        "database's admin password, or with access to a shard's bus port, which is not encrypted."
    )
    assert alarm.details["increases"] == [{"shard_uid": 2, "before": 2, "after": 9}]
    set_epochs(agents, 12, 9, 3)
    await loop.sweep()
    await loop.sweep()
    [alarm] = await alarms(console)
    assert "redis:2 increased from 2 to 9; the epoch of redis:1 increased from 1 to 12. " in alarm.description
    clock.now += OPEN_SECONDS
    await loop.sweep()
    assert (await alarms(console))[0].ended_at is None
    clock.now += 1
    await loop.sweep()
    [alarm] = await alarms(console)
    assert (alarm.ended_at is not None, alarm.details["open"]) == (True, False)


@pytest.mark.parametrize(("object_type", "object_uid"), [("bdb", active_database.BDB), ("node", 1)])
async def test_an_epoch_that_an_action_raised_is_no_alarm(
    console: Console, agents: FakeAgents, loop: EpochLoop, object_type: str, object_uid: int
) -> None:
    uid = await start_action(console, object_type, object_uid)
    await raise_epoch(loop, agents)
    await end_action(console, uid, SETTLE_TIME / 2)
    set_epochs(agents, 1, 10, 3)
    await loop.sweep()
    await loop.sweep()
    assert await alarms(console) == []
    await end_action(console, uid, SETTLE_TIME * 2)
    await loop.sweep()
    set_epochs(agents, 1, 11, 3)
    await loop.sweep()
    await loop.sweep()
    assert [alarm.details["increases"] for alarm in await alarms(console)] == [
        [{"shard_uid": 2, "before": 10, "after": 11}]
    ]


async def test_unreachable_and_failing_shards_are_waited_for(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    await active_database.set_observed_state(console, 3, status="timeout")
    await raise_epoch(loop, agents)
    await active_database.set_observed_state(console, 3)
    set_epochs(agents, 1, 10, 3, state="fail")
    await loop.sweep()
    agents.unreachable = {1}
    await raise_epoch(loop, agents)
    agents.unreachable = set()
    await loop.sweep()
    assert await alarms(console) == []


@pytest.mark.parametrize("kept_reason", ["", "an agent runs it"])
async def test_an_epoch_is_no_alarm_while_slots_are_taken_back(
    console: Console, agents: FakeAgents, loop: EpochLoop, kept_reason: str
) -> None:
    async with console.store.begin() as session:
        details = {"open": True, "kept_reason": kept_reason}
        events.record(session, UNKNOWN_NODE, "", bdb_uid=active_database.BDB, details=details)
    await raise_epoch(loop, agents)
    assert len(await alarms(console)) == bool(kept_reason)


async def test_a_restarted_shard_is_not_compared_with_its_former_epoch(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    async with console.store.begin() as session:
        [row] = [each for each in await shards.list_for_bdb(session, active_database.BDB) if each.uid == 2]
        row.observed_pid = 4711
    await raise_epoch(loop, agents)
    assert await alarms(console) == []


@pytest.mark.parametrize("has_cause", [True, False])
async def test_an_election_without_a_cause_is_an_alarm(
    console: Console, agents: FakeAgents, loop: EpochLoop, *, has_cause: bool
) -> None:
    await record_election(console, has_cause=has_cause)
    for _ in range(3):
        await loop.sweep()
    recorded = [alarm.details["takeovers"] for alarm in await alarms(console)]
    assert recorded == ([] if has_cause else [[[5, 2]]])
    await record_election(console, has_cause=has_cause)
    await loop.sweep()
    raised = await alarms(console)
    assert [alarm.details["takeovers"] for alarm in raised] == ([] if has_cause else [[[5, 2], [5, 2]]])
    assert all("or an overloaded machine" in alarm.description for alarm in raised)


async def record_election(console: Console, *, has_cause: bool) -> None:
    """Record an election of replica 5 as the election loop does."""
    details = {"promoted": 5, "lost": 2, "method": "engine", "seconds": None, "has_cause": has_cause}
    async with console.store.begin() as session:
        events.record(session, "shard_failover", "", bdb_uid=active_database.BDB, details=details)


async def test_elections_before_the_first_poll_are_no_alarm(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    await record_election(console, has_cause=False)
    other = EpochLoop(console.store, agents)
    await other.sweep()
    await other.sweep()
    assert await alarms(console) == []


async def test_a_running_benchmark_does_not_explain_an_epoch(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    await start_action(console, "benchmark", 1)
    await raise_epoch(loop, agents)
    assert len(await alarms(console)) == 1


async def test_an_impossibly_high_epoch_is_an_alarm(console: Console, agents: FakeAgents, loop: EpochLoop) -> None:
    set_epochs(agents, 1, 2, 3, newest=2**63)
    await loop.sweep()
    [alarm] = await alarms(console)
    assert f"the newest epoch of the cluster is {2**63} (before: 3)" in alarm.description
    await EpochLoop(console.store, agents).sweep()
    [alarm] = await alarms(console)
    assert f"{2**63} (before: unknown)" in alarm.description


async def test_the_alarm_text_depends_on_encryption(console: Console, agents: FakeAgents, loop: EpochLoop) -> None:
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, active_database.BDB)
        assert bdb is not None
        bdb.shard_certificates = {"ca": ""}
    await raise_epoch(loop, agents)
    [alarm] = await alarms(console)
    assert alarm.description.endswith("The cause can be a client with the database's admin password or private keys.")


async def test_only_the_epoch_loop_of_a_console_ends_the_alarm(
    console: Console, agents: FakeAgents, loop: EpochLoop, clock: SimpleNamespace
) -> None:
    await raise_epoch(loop, agents)
    collector = AlarmCollector(console.store, console.bus, console.live, Pulses(), agents, dict)
    await collector.load_open_alarms()
    await collector.evaluate(0.0)
    other = EpochLoop(console.store, agents)
    await other.sweep()
    assert (await alarms(console))[0].ended_at is None
    clock.now += OPEN_SECONDS + 1
    await other.sweep()
    assert (await alarms(console))[0].ended_at is not None
