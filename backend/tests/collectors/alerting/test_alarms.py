"""Each alarm is one span in the event log: it is raised once and ended once, even with several consoles."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from backend.tests.collectors.samples import sample, shard
from backend.tests.support import active_database

from shardboard.actions import queue
from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.collectors.alerting.alarms import AlarmCollector
from shardboard.collectors.metrics import live_metrics
from shardboard.collectors.metrics.live_metrics import shard_places
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.contract import NODE_FIELDS, TIER_FIELDS
from shardboard.domain.alerting import alarms
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.alerting import events, webhooks
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards

pytestmark = pytest.mark.store

LONG_TIME = 100.0
"""A number of seconds after which every condition is an alarm."""


@pytest.fixture
async def pulses(console: Console, agents: FakeAgents, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Pulses:
    monkeypatch.setattr(live_metrics, "MAX_AGE_SECONDS", 3600)  # however long the test takes
    await active_database.create_active_database(console, agents)
    async with console.store.read() as session:
        console.live.set_members(shard_places(await shards.list_all(session)))
    return Pulses()


def make_collector(console: Console, pulses: Pulses) -> AlarmCollector:
    return AlarmCollector(console.store, console.bus, console.live, pulses, console.agents, dict)


async def poll(collector: AlarmCollector, now: float) -> None:
    await collector.read_store()
    await collector.evaluate(now)


async def alarm_events(console: Console) -> list[Event]:
    async with console.store.read() as session:
        return [each for each in await events.page(session, newest_first=False) if each.type.startswith("alarm_")]


def publish_second(
    console: Console,
    *,
    shard_values: Mapping[int, Mapping[str, float]],
    free: float = 50e9,
    flash: Mapping[int, Mapping[str, float]] | None = None,
) -> None:
    """Publish the newest second of all six shards. `shard_values` overrides fields by shard uid."""
    now = int(time.time())
    hub = console.live
    for node in (1, 2, 3):
        samples = {
            uid: shard(**shard_values.get(uid, {}))
            for uid in hub._reporters.members
            if hub._reporters.members[uid].node_uid == node
        }
        node_sample = sample(now, samples, seq=now)
        node_sample.node[NODE_FIELDS.index("storage_avail")] = free
        tiers = {
            uid: [counts.get(name, 0.0) for name in TIER_FIELDS]
            for uid, counts in (flash or {}).items()
            if uid in samples
        }
        hub.ingest(node, node_sample.model_copy(update={"tiers": tiers}))
    hub._publish(now, hub._seconds[now])


async def test_lost_slots_raise_an_alarm_until_they_are_served(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    collector = make_collector(console, pulses)
    await poll(collector, 0)
    assert await alarm_events(console) == []
    await active_database.kill_shards(console, agents, 1)
    await poll(collector, 1)
    await poll(collector, 2)
    [span] = await alarm_events(console)
    assert (span.type, span.bdb_uid, span.severity, span.source) == ("alarm_slots_uncovered", 1, "ERROR", "bdb")
    assert (span.ended_at, span.details) == (None, {"open": True, "pairs": [0], "slots": 5461})
    await active_database.kill_shards(console, agents, 2)
    await poll(collector, 3)
    [span] = await alarm_events(console)
    assert span.details["pairs"] == [0, 1]
    await active_database.set_observed_state(console, 4, 5, role="master")
    await poll(collector, 4)
    [span] = await alarm_events(console)
    assert span.ended_at is not None
    assert span.details["open"] is False
    await poll(collector, 4 + LONG_TIME)
    assert [each.type for each in await alarm_events(console)] == ["alarm_slots_uncovered", "alarm_no_replica"]


async def test_primaries_that_refuse_requests_raise_an_alarm(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    collector = make_collector(console, pulses)
    await active_database.set_observed_state(console, 1, link="cluster_down")
    for now in (0, 1, 4):
        await poll(collector, now)
    [span] = await alarm_events(console)
    assert (span.type, span.bdb_uid) == ("alarm_shards_refuse", 1)
    assert (span.ended_at, span.details) == (None, {"open": True, "shards": [1]})
    await active_database.set_observed_state(console, 1)
    await poll(collector, 5)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


async def test_new_primaries_of_a_resharding_raise_no_alarm_until_it_ends(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    collector = make_collector(console, pulses)
    await active_database.set_observed_state(console, 1, link="cluster_down")
    async with console.store.begin() as session:
        await cluster.load_for_update(session)
        parameters = ReshardParameters(
            desired={}, new_shards=(1,), removed_shards=0, shards=6, total=1, count_before=2, memory_before=1
        )
        action = queue.enqueue(
            session,
            ActionName.RESHARD_BDB,
            object_uid=1,
            description="Reshard",
            originator="ann",
            deadline=timedelta(hours=1),
            params=parameters,
        )
    for now in (0, 1, LONG_TIME):
        await poll(collector, now)
    assert await alarm_events(console) == []
    async with console.store.begin() as session:
        (await session.get_one(Action, action.uid)).status = ActionStatus.COMPLETED
    for now in (LONG_TIME + 1, LONG_TIME + 5):
        await poll(collector, now)
    assert [each.type for each in await alarm_events(console)] == ["alarm_shards_refuse"]


async def test_a_new_console_continues_open_alarms_without_duplicates(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    first, second = make_collector(console, pulses), make_collector(console, pulses)
    await active_database.kill_shards(console, agents, 1)
    for collector in (first, second):
        await poll(collector, 0)
    assert len(await alarm_events(console)) == 1
    third = make_collector(console, pulses)
    await third.load_open_alarms()
    await poll(third, 0)
    assert len(await alarm_events(console)) == 1
    await active_database.set_observed_state(console, 1)
    for collector in (third, first):
        await poll(collector, 1)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


async def test_an_alarm_is_raised_once_the_store_is_available_again(
    console: Console, agents: FakeAgents, pulses: Pulses, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = make_collector(console, pulses)
    await active_database.kill_shards(console, agents, 1)

    async def store_unavailable(*_: object) -> None:
        raise ConnectionRefusedError("no store")

    with monkeypatch.context() as patch:
        patch.setattr(collector, "_write", store_unavailable)
        with pytest.raises(ConnectionRefusedError):
            await poll(collector, 0)
    await collector.load_open_alarms()  # as the restarted loop does
    await poll(collector, 1)
    assert [span.type for span in await alarm_events(console)] == ["alarm_slots_uncovered"]


async def test_a_primary_that_restarts_without_its_keys_raises_an_alarm(console: Console, pulses: Pulses) -> None:
    collector = make_collector(console, pulses)
    publish_second(console, shard_values={1: {"keys": 5000.0, "started_at": 1000.0}})
    await poll(collector, 0)
    publish_second(console, shard_values={1: {"keys": 5000.0, "started_at": 2000.0, "loading": 1.0}})
    await poll(collector, 1)
    publish_second(console, shard_values={1: {"keys": 3.0, "started_at": 2000.0}})
    await poll(collector, 2)
    [span] = await alarm_events(console)
    assert (span.type, span.shard_uid, span.details["keys_before"]) == ("alarm_keys_collapsed", 1, 5000)
    later = make_collector(console, pulses)
    await later.load_open_alarms()
    await poll(later, 0)
    [span] = await alarm_events(console)
    assert span.ended_at is None, "the condition still holds"
    publish_second(console, shard_values={1: {"keys": 4000.0, "started_at": 2000.0}})
    await poll(later, 1)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


async def test_a_replica_that_lags_raises_an_alarm(console: Console, pulses: Pulses) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"replication_lag_alarm_bytes": 1000}
    collector = make_collector(console, pulses)
    ahead, replica = {"repl_offset": 9000.0}, {"is_primary": 0.0}
    publish_second(console, shard_values={1: ahead, 4: {**replica, "repl_offset": 8000.0}, 5: replica, 6: replica})
    await poll(collector, 0)
    await poll(collector, LONG_TIME)
    assert await alarm_events(console) == []
    publish_second(console, shard_values={1: ahead, 4: {**replica, "repl_offset": 7999.0}, 5: replica, 6: replica})
    await poll(collector, 2 * LONG_TIME)
    await poll(collector, 3 * LONG_TIME)
    [span] = await alarm_events(console)
    assert (span.type, span.shard_uid, span.details["threshold"]) == ("alarm_replication_lag", 4, 1000)


async def test_full_memory_raises_an_alarm_while_writes_are_refused(console: Console, pulses: Pulses) -> None:
    collector = make_collector(console, pulses)
    for now, refused in ((0, 40.0), (1, 40.0)):
        publish_second(console, shard_values={1: {"oom_errors": refused}})
        await poll(collector, now)
    assert await alarm_events(console) == [], "these writes were refused before the first poll"
    publish_second(console, shard_values={1: {"oom_errors": 41.0}})
    await poll(collector, 2)
    [span] = await alarm_events(console)
    assert (span.type, span.bdb_uid, span.severity, span.details["shards"]) == ("alarm_memory_full", 1, "ERROR", [1])
    await poll(collector, 3 + alarms.RECENT)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


@pytest.mark.parametrize(
    ("values", "severity", "refused"),
    [({"clients": 801.0}, "WARNING", []), ({"clients": 801.0, "rejected": 5.0}, "ERROR", [1])],
)
async def test_scarce_connections_raise_an_alarm(
    console: Console, pulses: Pulses, values: dict[str, float], severity: str, refused: list[int]
) -> None:
    collector = make_collector(console, pulses)
    few = {"clients": 800.0, "connection_limit": 1000.0, "rejected": 4.0}
    for now in (0, 5):
        publish_second(console, shard_values={1: few, 2: few})
        await poll(collector, now)
    assert await alarm_events(console) == [], "connections were refused before the first poll"
    for now in (6, 8):
        publish_second(console, shard_values={1: {**few, **values}, 2: few})
        await poll(collector, now)
    [span] = await alarm_events(console)
    assert (span.type, span.bdb_uid, span.severity) == ("alarm_shard_connections", 1, severity)
    assert (span.details["shards"], span.details["refused"]) == ([1], refused)
    publish_second(console, shard_values={1: {**few, **values, "clients": 10.0}, 2: few})
    await poll(collector, 9 + alarms.RECENT)
    await poll(collector, 20 + alarms.RECENT)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


async def test_unreadable_values_on_flash_raise_an_alarm(console: Console, pulses: Pulses) -> None:
    async with console.store.begin() as session:
        [bdb] = await bdbs.list_all(session)
        bdb.config = {**bdb.config, "bigstore": True, "bigstore_ram_size": 2**28}
    collector = make_collector(console, pulses)
    for now, errors in enumerate(({}, {}, {"read_errors": 3.0}, {"read_errors": 3.0, "checksum_errors": 1.0})):
        publish_second(console, shard_values={1: {"started_at": 1000.0}}, flash={1: errors})
        await poll(collector, now)
        unreadable = [each for each in await alarm_events(console) if each.type == "alarm_flash_unreadable"]
        assert [(each.shard_uid, each.severity) for each in unreadable] == ([(1, "ERROR")] if now > 1 else [])
    await poll(collector, 4 + alarms.RECENT)
    [span] = [each for each in await alarm_events(console) if each.type == "alarm_flash_unreadable"]
    assert span.ended_at is not None


async def test_a_clock_that_is_ahead_raises_an_alarm(console: Console, pulses: Pulses) -> None:
    pulses.clocks = {3: 3600.4}
    collector = make_collector(console, pulses)
    await poll(collector, 0)
    await poll(collector, LONG_TIME)
    [span] = await alarm_events(console)
    assert (span.type, span.node_uid, span.source, span.details["seconds"]) == ("alarm_clock", 3, "node", 3600)


async def test_certificates_that_expire_soon_raise_alarms(console: Console, agents: FakeAgents, pulses: Pulses) -> None:
    expiry = datetime.now(UTC) + timedelta(days=20)
    agents.valid_until = {1: expiry, 2: expiry + timedelta(days=400)}
    expiries = {"server": expiry, "ca": expiry + timedelta(days=400)}
    collector = AlarmCollector(console.store, console.bus, console.live, pulses, agents, lambda: expiries)
    await poll(collector, 100.0)
    alarm_types = [(alarm.type, alarm.node_uid) for alarm in await alarm_events(console) if "certs" in alarm.type]
    assert sorted(alarm_types, key=str) == [
        ("alarm_cluster_certs_about_to_expire", None),
        ("alarm_node_internal_certs_about_to_expire", 1),
    ]
    agents.valid_until[1] += timedelta(days=400)  # it joined again
    await poll(collector, 101.0)
    assert [
        alarm.ended_at is None for alarm in await alarm_events(console) if alarm.node_uid == 1 and "certs" in alarm.type
    ] == [False]


async def test_a_receiver_that_fails_repeatedly_raises_an_alarm(console: Console, pulses: Pulses) -> None:
    collector = make_collector(console, pulses)
    fields = {"kind": "webhook", "secret": "", "events": "all", "min_severity": "INFO", "last_sent_uid": 0}
    async with console.store.begin() as session:
        for name, failures, is_enabled in (("b", 5, True), ("a", 9, True), ("c", 4, True), ("d", 9, False)):
            url = "https://hooks.example.org/secret"
            created = datetime.now(UTC)
            session.add(
                Webhook(name=name, url=url, failures=failures, enabled=is_enabled, created_at=created, **fields)
            )
    await poll(collector, 0)
    [span] = await alarm_events(console)
    assert (span.type, span.source, span.details["receivers"]) == ("alarm_receiver_failed", "cluster", ["a", "b"])
    assert span.description == "Notifications could not be delivered to a, b."
    async with console.store.begin() as session:
        for row in await webhooks.list_all(session):
            row.failures = 0
    await poll(collector, 1)
    [span] = await alarm_events(console)
    assert span.ended_at is not None


async def test_a_nearly_full_disk_raises_alarms(console: Console, pulses: Pulses) -> None:
    collector = make_collector(console, pulses)
    publish_second(console, shard_values={}, free=1e9)
    await poll(collector, 0)
    assert [(span.type, span.severity, span.node_uid) for span in await alarm_events(console)] == [
        *(("alarm_storage_full", "ERROR", uid) for uid in (1, 2, 3)),
        *(("alarm_node_persistent_storage", "WARNING", uid) for uid in (1, 2, 3)),
    ]


async def test_a_cut_off_agent_raises_an_alarm_until_it_is_polled_again(
    console: Console, agents: FakeAgents, pulses: Pulses
) -> None:
    collector = make_collector(console, pulses)
    agents.cut_off = {2: "it sent a line of more than 1024 KiB"}
    await poll(collector, 0)
    [span] = await alarm_events(console)
    assert (span.type, span.source, span.node_uid) == ("alarm_agent_cut_off", "node", 2)
    agents.cut_off = {}
    await poll(collector, 1)  # it may be cut off again at once
    assert (await alarm_events(console))[0].ended_at is None
    await poll(collector, 62)
    assert (await alarm_events(console))[0].ended_at is not None
