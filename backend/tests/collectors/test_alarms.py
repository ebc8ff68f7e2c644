"""Alarms as spans in the log: raised once, ended once, whoever looks."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from backend.tests import pairs
from backend.tests.collectors.samples import sample, shard

from shardboard.agent.contract import NODE_FIELDS, TIER_FIELDS
from shardboard.collectors import live
from shardboard.collectors.alarms import AlarmCollector
from shardboard.collectors.live import members
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.domain import alarms
from shardboard.driver.fake import FakeAgents
from shardboard.state import bdbs, cluster, events, shards
from shardboard.state.events import Event
from shardboard.state.nodes import Node

pytestmark = pytest.mark.store

LONG = 100.0
"""Seconds in which any condition becomes an alarm."""


@pytest.fixture
async def pulses(console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Pulses:
    monkeypatch.setattr(live, "STALE", 3600)  # however long it takes until somebody looks
    await pairs.active(console, agents)
    async with console.store.read() as session:
        console.live.set_members(members(await shards.every(session)))
    return Pulses()


def collector(console: Console, pulses: Pulses) -> AlarmCollector:
    return AlarmCollector(console.store, console.bus, console.live, pulses, console.agents, dict)


async def look(watching: AlarmCollector, now: float) -> None:
    await watching.read()
    await watching.look(now)


async def raised(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type.startswith("alarm_")]


def second(
    console: Console,
    *,
    say: Mapping[int, Mapping[str, float]],
    free: float = 50e9,
    flash: Mapping[int, Mapping[str, float]] | None = None,
) -> None:
    """All six shards in the newest second, told."""
    now = int(time.time())
    hub = console.live
    for node in (1, 2, 3):
        held = {uid: shard(**say.get(uid, {})) for uid in hub._members if hub._members[uid].node_uid == node}
        made = sample(now, held, seq=now)
        made.node[NODE_FIELDS.index("storage_avail")] = free
        tiers = {
            uid: [told.get(name, 0.0) for name in TIER_FIELDS] for uid, told in (flash or {}).items() if uid in held
        }
        hub.ingest(node, made.model_copy(update={"tiers": tiers}))
    hub._tell(now, hub._seconds[now])


async def test_lost_slots_are_an_alarm_until_somebody_serves_them(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    watching = collector(console, pulses)
    await look(watching, 0)
    assert await raised(console) == []
    await pairs.die(console, agents, 1)
    await look(watching, 1)
    await look(watching, 2)
    [span] = await raised(console)
    assert (span.type, span.bdb_uid, span.severity, span.source) == ("alarm_slots_uncovered", 1, "ERROR", "bdb")
    assert (span.ended_at, span.details) == (None, {"open": True, "pairs": [0], "slots": 5461})
    await pairs.die(console, agents, 2)
    await look(watching, 3)
    [span] = await raised(console)
    assert span.details["pairs"] == [0, 1]
    await pairs.observe(console, 4, 5, role="master")
    await look(watching, 4)
    [span] = await raised(console)
    assert span.ended_at is not None
    assert span.details["open"] is False
    await look(watching, 4 + LONG)
    assert [each.type for each in await raised(console)] == ["alarm_slots_uncovered", "alarm_no_replica"]


async def test_primaries_that_refuse_for_seconds_are_an_alarm(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    watching = collector(console, pulses)
    await pairs.observe(console, 1, link="cluster_down")
    for now in (0, 1, 4):
        await look(watching, now)
    [span] = await raised(console)
    assert (span.type, span.bdb_uid) == ("alarm_shards_refuse", 1)
    assert (span.ended_at, span.details) == (None, {"open": True, "shards": [1]})
    await pairs.observe(console, 1)
    await look(watching, 5)
    [span] = await raised(console)
    assert span.ended_at is not None


async def test_the_next_console_takes_up_what_is_open_and_two_raise_it_once(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    one, other = collector(console, pulses), collector(console, pulses)
    await pairs.die(console, agents, 1)
    for watching in (one, other):
        await look(watching, 0)
    assert len(await raised(console)) == 1
    third = collector(console, pulses)
    await third.resume()
    await look(third, 0)
    assert len(await raised(console)) == 1
    await pairs.observe(console, 1)
    for watching in (third, one):
        await look(watching, 1)
    [span] = await raised(console)
    assert span.ended_at is not None


async def test_an_alarm_that_could_not_be_written_is_raised_when_the_store_is_back(
    console: Console, agents: FakeAgents, pulses: Pulses, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = collector(console, pulses)
    await pairs.die(console, agents, 1)

    async def away(*_: object) -> None:
        raise ConnectionRefusedError("no store")

    with monkeypatch.context() as broken:
        broken.setattr(watching, "_write", away)
        with pytest.raises(ConnectionRefusedError):
            await look(watching, 0)
    await watching.resume()  # as the loop does that is run again
    await look(watching, 1)
    assert [span.type for span in await raised(console)] == ["alarm_slots_uncovered"]


async def test_a_primary_that_came_back_without_its_keys(console: Console, pulses: Pulses) -> None:
    watching = collector(console, pulses)
    second(console, say={1: {"keys": 5000.0, "started_at": 1000.0}})
    await look(watching, 0)
    second(console, say={1: {"keys": 5000.0, "started_at": 2000.0, "loading": 1.0}})
    await look(watching, 1)
    second(console, say={1: {"keys": 3.0, "started_at": 2000.0}})
    await look(watching, 2)
    [span] = await raised(console)
    assert (span.type, span.shard_uid, span.details["keys_before"]) == ("alarm_keys_collapsed", 1, 5000)
    later = collector(console, pulses)
    await later.resume()
    await look(later, 0)
    [span] = await raised(console)
    assert span.ended_at is None, "it is still so"
    second(console, say={1: {"keys": 4000.0, "started_at": 2000.0}})
    await look(later, 1)
    [span] = await raised(console)
    assert span.ended_at is not None


async def test_a_replica_that_is_far_behind(console: Console, pulses: Pulses) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"replication_lag_alarm_bytes": 1000}
    watching = collector(console, pulses)
    ahead, replica = {"repl_offset": 9000.0}, {"is_primary": 0.0}
    second(console, say={1: ahead, 4: {**replica, "repl_offset": 8000.0}, 5: replica, 6: replica})
    await look(watching, 0)
    await look(watching, LONG)
    assert await raised(console) == []
    second(console, say={1: ahead, 4: {**replica, "repl_offset": 7999.0}, 5: replica, 6: replica})
    await look(watching, 2 * LONG)
    await look(watching, 3 * LONG)
    [span] = await raised(console)
    assert (span.type, span.shard_uid, span.details["threshold"]) == ("alarm_replication_lag", 4, 1000)


async def test_memory_that_is_full_is_an_alarm_while_writes_are_refused(console: Console, pulses: Pulses) -> None:
    watching = collector(console, pulses)
    for now, refused in ((0, 40.0), (1, 40.0)):
        second(console, say={1: {"oom_errors": refused}})
        await look(watching, now)
    assert await raised(console) == [], "those were refused before anybody looked"
    second(console, say={1: {"oom_errors": 41.0}})
    await look(watching, 2)
    [span] = await raised(console)
    assert (span.type, span.bdb_uid, span.severity, span.details["shards"]) == ("alarm_memory_full", 1, "ERROR", [1])
    await look(watching, 3 + alarms.RECENT)
    [span] = await raised(console)
    assert span.ended_at is not None


async def test_values_on_flash_that_cannot_be_read(console: Console, pulses: Pulses) -> None:
    async with console.store.begin() as session:
        [bdb] = await bdbs.every(session)
        bdb.config = {**bdb.config, "bigstore": True, "bigstore_ram_size": 2**28}
    watching = collector(console, pulses)
    for now, errors in enumerate(({}, {}, {"read_errors": 3.0}, {"read_errors": 3.0, "checksum_errors": 1.0})):
        second(console, say={1: {"started_at": 1000.0}}, flash={1: errors})
        await look(watching, now)
        found = [each for each in await raised(console) if each.type == "alarm_flash_unreadable"]
        assert [(each.shard_uid, each.severity) for each in found] == ([(1, "ERROR")] if now > 1 else [])
    await look(watching, 4 + alarms.RECENT)
    [span] = [each for each in await raised(console) if each.type == "alarm_flash_unreadable"]
    assert span.ended_at is not None


async def test_a_clock_that_is_ahead(console: Console, pulses: Pulses) -> None:
    pulses.clocks = {3: 3600.4}
    watching = collector(console, pulses)
    await look(watching, 0)
    await look(watching, LONG)
    [span] = await raised(console)
    assert (span.type, span.node_uid, span.source, span.details["seconds"]) == ("alarm_clock", 3, "node", 3600)


async def test_certificates_that_end_soon(console: Console, agents: FakeAgents, pulses: Pulses) -> None:
    soon = datetime.now(UTC) + timedelta(days=20)
    agents.ends = {1: soon, 2: soon + timedelta(days=400)}
    ends = {"server": soon, "ca": soon + timedelta(days=400)}
    watching = AlarmCollector(console.store, console.bus, console.live, pulses, agents, lambda: ends)
    await look(watching, 100.0)
    found = [(alarm.type, alarm.node_uid) for alarm in await raised(console) if "certs" in alarm.type]
    assert sorted(found, key=str) == [
        ("alarm_cluster_certs_about_to_expire", None),
        ("alarm_node_internal_certs_about_to_expire", 1),
    ]
    agents.ends[1] += timedelta(days=400)  # it joined again
    await look(watching, 101.0)
    assert [
        alarm.ended_at is None for alarm in await raised(console) if alarm.node_uid == 1 and "certs" in alarm.type
    ] == [False]


async def test_a_disk_that_is_nearly_full(console: Console, pulses: Pulses) -> None:
    watching = collector(console, pulses)
    second(console, say={}, free=1e9)
    await look(watching, 0)
    assert [(span.type, span.severity, span.node_uid) for span in await raised(console)] == [
        *(("alarm_storage_full", "ERROR", uid) for uid in (1, 2, 3)),
        *(("alarm_node_persistent_storage", "WARNING", uid) for uid in (1, 2, 3)),
    ]
