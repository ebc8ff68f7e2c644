"""What is told of epochs that nobody ordered, and when nothing is."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from backend.tests import pairs

from shardboard.collectors.alarms import AlarmCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.orders import queue
from shardboard.reconcilers import lasting_alarms
from shardboard.reconcilers.epochs import OPEN_SECONDS, SETTLED, EpochLoop
from shardboard.state import actions, bdbs, cluster, events, shards
from shardboard.state.events import UNKNOWN_NODE, UNORDERED_EPOCH, Event
from shardboard.state.nodes import Node

pytestmark = pytest.mark.store_in_all


@pytest.fixture
async def loop(console: Console, agents: FakeAgents, nodes: list[Node]) -> EpochLoop:
    """It has looked once."""
    await pairs.active(console, agents)
    tells(agents, 1, 2, 3)
    made = EpochLoop(console.store, agents)
    await made.sweep()
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    told = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(
        lasting_alarms, "asyncio", SimpleNamespace(get_running_loop=lambda: SimpleNamespace(time=lambda: told.now))
    )
    return told


def tells(agents: FakeAgents, *own: int, newest: int | None = None, state: str = "ok") -> None:
    """What the primaries say of their epochs."""
    for uid, epoch in enumerate(own, 1):
        agents.told[uid, "CLUSTER INFO"] = (
            f"cluster_state:{state}\r\ncluster_current_epoch:{newest or max(own)}\r\ncluster_my_epoch:{epoch}\r\n"
        )


async def alarms(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type == UNORDERED_EPOCH]


async def ordered(console: Console, object_type: str, object_uid: int) -> str:
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        action = queue.start(
            session,
            "SMReshardBDB",
            object_type=object_type,
            object_uid=object_uid,
            description="",
            originator="system",
            deadline=timedelta(seconds=60),
        )
        return action.uid


async def ended(console: Console, uid: str, ago: timedelta) -> None:
    async with console.store.begin() as session:
        action = await actions.by_uid(session, uid)
        assert action is not None
        action.status, action.finished_at = "completed", datetime.now(UTC) - ago


async def risen(loop: EpochLoop, agents: FakeAgents) -> None:
    """Primary 2 has a newer epoch, for two looks."""
    tells(agents, 1, 9, 3)
    await loop.sweep()
    await loop.sweep()


async def test_a_rise_is_told_until_it_is_old(
    console: Console, agents: FakeAgents, loop: EpochLoop, clock: SimpleNamespace
) -> None:
    await risen(loop, agents)
    [alarm] = await alarms(console)
    assert (alarm.severity, alarm.source, alarm.bdb_uid, alarm.ended_at) == ("ERROR", "bdb", pairs.BDB, None)
    assert alarm.description == (
        "Unexpected changes to shop: the epoch of redis:2 rose from 2 to 9. The cause can be a person with the "
        "database's admin password, or with access to a shard's bus port, which is not encrypted."
    )
    assert alarm.details["rises"] == [{"shard_uid": 2, "before": 2, "after": 9}]
    tells(agents, 12, 9, 3)
    await loop.sweep()
    await loop.sweep()
    [alarm] = await alarms(console)
    assert "redis:2 rose from 2 to 9; the epoch of redis:1 rose from 1 to 12. " in alarm.description
    clock.now += OPEN_SECONDS
    await loop.sweep()
    assert (await alarms(console))[0].ended_at is None
    clock.now += 1
    await loop.sweep()
    [alarm] = await alarms(console)
    assert (alarm.ended_at is not None, alarm.details["open"]) == (True, False)


@pytest.mark.parametrize(("object_type", "object_uid"), [("bdb", pairs.BDB), ("node", 1)])
async def test_what_an_action_has_done_was_ordered(
    console: Console, agents: FakeAgents, loop: EpochLoop, object_type: str, object_uid: int
) -> None:
    uid = await ordered(console, object_type, object_uid)
    await risen(loop, agents)
    await ended(console, uid, SETTLED / 2)
    tells(agents, 1, 10, 3)
    await loop.sweep()
    await loop.sweep()
    assert await alarms(console) == []
    await ended(console, uid, SETTLED * 2)
    await loop.sweep()
    tells(agents, 1, 11, 3)
    await loop.sweep()
    await loop.sweep()
    assert [alarm.details["rises"] for alarm in await alarms(console)] == [
        [{"shard_uid": 2, "before": 10, "after": 11}]
    ]


async def test_who_is_lost_or_does_not_believe_in_its_cluster_is_waited_for(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    await pairs.observe(console, 3, status="timeout")
    await risen(loop, agents)
    await pairs.observe(console, 3)
    tells(agents, 1, 10, 3, state="fail")
    await loop.sweep()
    agents.unreachable = {1}
    await risen(loop, agents)
    agents.unreachable = set()
    await loop.sweep()
    assert await alarms(console) == []


@pytest.mark.parametrize("left_alone", ["", "an agent runs it"])
async def test_slots_that_are_taken_back_from_a_stranger_are_told_elsewhere(
    console: Console, agents: FakeAgents, loop: EpochLoop, left_alone: str
) -> None:
    async with console.store.begin() as session:
        details = {"open": True, "left_alone": left_alone}
        events.record(session, UNKNOWN_NODE, "", bdb_uid=pairs.BDB, details=details)
    await risen(loop, agents)
    assert len(await alarms(console)) == bool(left_alone)


async def test_a_shard_that_was_started_again_begins_anew(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    async with console.store.begin() as session:
        [row] = [each for each in await shards.of_bdb(session, pairs.BDB) if each.uid == 2]
        row.observed_pid = 4711
    await risen(loop, agents)
    assert await alarms(console) == []


@pytest.mark.parametrize("has_cause", [True, False])
async def test_a_replica_that_takes_over_though_nothing_was_wrong(
    console: Console, agents: FakeAgents, loop: EpochLoop, *, has_cause: bool
) -> None:
    await takes_over(console, has_cause=has_cause)
    for _ in range(3):
        await loop.sweep()
    told = [alarm.details["takeovers"] for alarm in await alarms(console)]
    assert told == ([] if has_cause else [[[5, 2]]])
    await takes_over(console, has_cause=has_cause)
    await loop.sweep()
    told = [alarm.details["takeovers"] for alarm in await alarms(console)]
    assert told == ([] if has_cause else [[[5, 2], [5, 2]]])


async def takes_over(console: Console, *, has_cause: bool) -> None:
    """As the elections' loop tells it."""
    details = {"heir": 5, "lost": 2, "method": "engine", "seconds": None, "has_cause": has_cause}
    async with console.store.begin() as session:
        events.record(session, "shard_failover", "", bdb_uid=pairs.BDB, details=details)


async def test_what_was_told_before_this_console_looked_first_is_not_told_again(
    console: Console, agents: FakeAgents, loop: EpochLoop
) -> None:
    await takes_over(console, has_cause=False)
    other = EpochLoop(console.store, agents)
    await other.sweep()
    await other.sweep()
    assert await alarms(console) == []


async def test_a_benchmark_changes_no_epoch(console: Console, agents: FakeAgents, loop: EpochLoop) -> None:
    await ordered(console, "benchmark", 1)
    await risen(loop, agents)
    assert len(await alarms(console)) == 1


async def test_more_elections_than_there_can_have_been(console: Console, agents: FakeAgents, loop: EpochLoop) -> None:
    tells(agents, 1, 2, 3, newest=2**63)
    await loop.sweep()
    [alarm] = await alarms(console)
    assert f"the newest epoch of the cluster is {2**63} (before: 3)" in alarm.description
    await EpochLoop(console.store, agents).sweep()
    [alarm] = await alarms(console)
    assert f"{2**63} (before: not known)" in alarm.description


async def test_it_says_what_encryption_means_for_it(console: Console, agents: FakeAgents, loop: EpochLoop) -> None:
    async with console.store.begin() as session:
        bdb = await bdbs.by_uid(session, pairs.BDB)
        assert bdb is not None
        bdb.shard_certificates = {"ca": ""}
    await risen(loop, agents)
    [alarm] = await alarms(console)
    assert alarm.description.endswith("The cause can be a person with the database's admin password or private keys.")


async def test_another_console_ends_it_and_nobody_else_does(
    console: Console, agents: FakeAgents, loop: EpochLoop, clock: SimpleNamespace
) -> None:
    await risen(loop, agents)
    collector = AlarmCollector(console.store, console.bus, console.live, Pulses(), agents, dict)
    await collector.resume()
    await collector.look(0.0)
    other = EpochLoop(console.store, agents)
    await other.sweep()
    assert (await alarms(console))[0].ended_at is None
    clock.now += OPEN_SECONDS + 1
    await other.sweep()
    assert (await alarms(console))[0].ended_at is not None
