"""Publication of seconds, effects of late samples, and unknown values."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from backend.tests.collectors.samples import sample, shard
from backend.tests.support.real_shards import wait_until

from shardboard.collectors.metrics import live_metrics as hub
from shardboard.collectors.metrics.live_metrics import RETENTION, SHARD_RETENTION, LiveMetrics, ShardPlace
from shardboard.contract import TIER_FIELDS
from shardboard.domain.metrics.rollup import TOPICS as METRICS
from shardboard.kit.bus import Bus, Listener
from shardboard.kit.sse_frames import Frame

NOW = 1_700_000_000
MEMBERS = {11: ShardPlace(1, 0, 1), 12: ShardPlace(1, 1, 2), 13: ShardPlace(1, 0, 2), 21: ShardPlace(2, 0, 1)}
TOPICS = ("cluster", "nodes", "bdbs", "shards:1", "shards:2")


@pytest.fixture
def live(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> LiveMetrics:
    """Two nodes and two databases: 1 with primaries 11, 12 and replica 13 of 11, and 2 with primary 21."""
    monkeypatch.setattr(hub, "GRACE", 3600.0)  # every node is waited for unless the test sets a shorter time
    live_metrics = LiveMetrics(bus)
    live_metrics.set_members(MEMBERS)
    live_metrics.connect(1)
    live_metrics.connect(2)
    return live_metrics


@pytest.fixture
async def running(live: LiveMetrics) -> AsyncIterator[LiveMetrics]:
    task = asyncio.create_task(live.run())
    yield live
    task.cancel()


@pytest.fixture
def frames(bus: Bus) -> Any:
    with bus.listen(*(f"frame:{topic}" for topic in TOPICS)) as listener:
        yield listener


def first_node(t: int, **more: Any) -> Any:
    """Return second `t` of node 1: shard 11 has 100 reads per second, shard 21 has 10."""
    return sample(
        t, {11: shard(read_cmds=t * 100.0, keys=5.0, repl_offset=900.0), 21: shard(read_cmds=t * 10.0)}, **more
    )


def second_node(t: int, **more: Any) -> Any:
    return sample(
        t,
        {
            12: shard(write_cmds=t * 50.0, keys=7.0),
            13: shard(is_primary=0.0, repl_offset=t % 2 * 100 + 600.0),
        },
        **more,
    )


async def wait_for_second(running: LiveMetrics, t: int) -> None:
    await wait_until(lambda: running.newest >= t)


def value(live: LiveMetrics, topic: str, uid: int | str, metric: str, t: int) -> float | None:
    [column] = [
        column
        for name, column in zip(LiveMetrics.metrics(topic), columns(live, topic, uid, t, 1), strict=True)
        if name == metric
    ]
    return column[0]


def columns(live: LiveMetrics, topic: str, uid: int | str, first: int, count: int) -> list[list[float | None]]:
    """Return the values that a browser gets for these seconds."""
    frame = live._frame(topic, first, count)
    assert frame["from"] == first
    assert tuple(frame["metrics"]) == LiveMetrics.metrics(topic)
    return frame["series"].get(str(uid), [[None] * count for _ in frame["metrics"]])


def received(frames: Listener) -> list[tuple[str, str, int]]:
    """Return (topic, kind, second) of each frame published so far."""
    items = [decoded(item) for _, item in frames.drain()]
    return [(frame["topic"], kind, frame["t"] if kind == "sample" else frame["from"]) for kind, frame in items]


def decoded(item: Frame) -> tuple[str, Any]:
    """Return the kind and content of a frame, as a browser reads them."""
    lines = dict(line.split(": ", 1) for line in item.text.decode().splitlines() if line)
    return lines["event"], json.loads(lines["data"])


def unread_frames(frames: Listener) -> int:
    """Return the number of frames that are not read yet."""
    return frames._queue.qsize()


async def test_a_second_is_published_when_all_nodes_have_delivered_it(running: LiveMetrics, frames: Listener) -> None:
    running.ingest(1, first_node(NOW))
    await asyncio.sleep(0.1)
    assert running.newest == 0
    running.ingest(2, second_node(NOW))
    await wait_for_second(running, NOW)
    assert sorted(received(frames)) == [(topic, "sample", NOW) for topic in sorted(TOPICS)]


async def test_flash_metrics_are_kept_in_their_own_topics(running: LiveMetrics) -> None:
    def on_flash(t: int, keys: float) -> dict[int, list[float | None]]:
        counted = {"fetch_ram": keys * 3, "fetch_flash": keys, "flash_used_bytes": 1000.0}
        return {uid: [counted.get(name, 0.0) for name in TIER_FIELDS] for uid in (11, 12, 13) if keys and t}

    for t, keys in ((NOW, 10.0), (NOW + 1, 20.0)):
        running.ingest(1, first_node(t).model_copy(update={"tiers": {11: on_flash(t, keys)[11]}}))
        others = {uid: values for uid, values in on_flash(t, keys).items() if uid != 11}
        running.ingest(2, second_node(t).model_copy(update={"tiers": others}))
        await wait_for_second(running, t)
    assert value(running, "flash", 1, "ram_hit_ratio", NOW + 1) == 0.75
    assert value(running, "flash", 1, "big_fetch_flash", NOW + 1) == 20, "the sum of both primaries"
    assert value(running, "flash_shards:1", 13, "big_fetch_ram", NOW + 1) == 30
    assert value(running, "flash", 1, "ram_hit_ratio", NOW) is None
    assert value(running, "bdbs", 1, "used_memory", NOW + 1) == 3000, "RAM and flash together"
    assert "2" not in running._rings["flash"], "database 2 is not on flash"
    frame = running.frame("flash", NOW + 1)
    assert frame is not None
    assert list(frame.uids) == [0, 1], "uid 0 is the total"
    running.set_members({21: ShardPlace(2, 0, 1)})
    assert "1" not in running._rings["flash"]


async def test_a_slow_node_delays_a_second_only_for_the_grace_time(
    running: LiveMetrics, frames: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "GRACE", 0.05)
    running.ingest(1, first_node(NOW))
    await wait_for_second(running, NOW)
    assert value(running, "bdbs", 2, "used_memory", NOW) == 0
    assert value(running, "bdbs", 1, "used_memory", NOW) is None, "database 1 is incomplete in this second"
    assert value(running, "cluster", "cluster", "used_memory", NOW) is None
    assert received(frames)
    running.ingest(2, second_node(NOW))
    await wait_until(lambda: unread_frames(frames) >= len(TOPICS))
    assert value(running, "bdbs", 1, "used_memory", NOW) == 0
    assert sorted(received(frames)) == [(topic, "history", NOW) for topic in sorted(TOPICS)]


async def test_a_second_waits_for_a_clock_that_is_half_a_second_behind(running: LiveMetrics) -> None:
    running.ingest(1, first_node(NOW))
    await asyncio.sleep(0.5)  # the difference of the clocks
    assert running.newest < NOW
    running.ingest(2, second_node(NOW))
    await wait_for_second(running, NOW)
    assert value(running, "bdbs", 1, "used_memory", NOW) == 0
    assert running.lateness.share(2) == 0


async def test_late_and_incomplete_samples_are_counted(running: LiveMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "GRACE", 0.0)
    now = int(time.time())
    running.ingest(1, first_node(now - 60))
    await wait_for_second(running, now - 60)
    assert running.lateness.share(2) == 0, "samples this old count as backfill"
    for t in range(now, now + 6):
        running.ingest(1, first_node(t))
        await wait_for_second(running, t)
    assert running.lateness.share(1) == 0
    assert running.lateness.share(2) == 6 / 60
    running.ingest(2, second_node(now + 5))
    assert running.lateness.share(2) == 6 / 60, "a sample that arrives afterwards is still late"
    running.ingest(1, sample(now + 6, {}, missing={11: "timeout", 21: "timeout"}))
    await wait_for_second(running, now + 6)
    assert running.lateness.share(1) == 1 / 60
    running.disconnect(1)
    assert running.lateness.share(1) == 0, "a lost agent is reported separately"


async def test_a_disconnected_node_does_not_delay_a_second(running: LiveMetrics) -> None:
    running.ingest(1, first_node(NOW))
    await asyncio.sleep(0)
    running.disconnect(2)
    await wait_for_second(running, NOW)


async def test_rates_and_sums_are_computed(running: LiveMetrics) -> None:
    for t in (NOW, NOW + 1):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
        await wait_for_second(running, t)
    t = NOW + 1
    expected = [
        ("shards:1", 11, "read_req", 100.0),
        ("shards:2", 21, "total_req", 10.0),
        ("bdbs", 1, "read_req", 100.0),
        ("bdbs", 1, "write_req", 50.0),
        ("bdbs", 1, "total_req", 150.0),
        ("bdbs", 1, "no_of_keys", 12.0),
        ("bdbs", 2, "total_req", 10.0),
        ("cluster", "cluster", "total_req", 160.0),
        ("nodes", 1, "total_req", 110.0),
        ("nodes", 2, "total_req", 50.0),
        ("nodes", 1, "ingress_bytes", 100.0),
    ]
    assert [(topic, uid, name, value(running, topic, uid, name, t)) for topic, uid, name, _ in expected] == expected
    assert value(running, "bdbs", 1, "total_req", NOW) is None, "the first second has no predecessor"
    assert running.latest("bdbs", "1")["total_req"] == 150
    assert running.latest("bdbs", "77") == {}
    assert running.latest_value("bdbs", 1, "total_req") == 150
    assert running.latest_value("bdbs", 77, "total_req") is None


async def test_replication_lag_is_relative_to_the_own_primary(running: LiveMetrics) -> None:
    for t in (NOW, NOW + 1):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW + 1)
    lags = columns(running, "shards:1", 13, NOW, 2)[METRICS["shards"].index("repl_lag_bytes")]
    assert lags == [300.0, 200.0]
    assert value(running, "shards:1", 11, "repl_lag_bytes", NOW) is None


async def test_a_replica_ahead_of_the_sample_of_its_primary_has_no_lag(running: LiveMetrics) -> None:
    running.ingest(1, first_node(NOW))
    running.ingest(2, sample(NOW, {13: shard(is_primary=0.0, repl_offset=901.0)}))
    await wait_for_second(running, NOW)
    assert value(running, "shards:1", 13, "repl_lag_bytes", NOW) == 0


async def test_a_dead_shard_leaves_no_gap_but_a_missing_sample_does(running: LiveMetrics) -> None:
    for t in (NOW, NOW + 1, NOW + 2):
        running.ingest(1, first_node(t))
        changes = {NOW + 1: {"died": {13: "killed"}}, NOW + 2: {"missing": {13: "busy"}}}.get(t, {})
        shards = {12: shard(write_cmds=t * 50.0)} | ({} if changes else {13: shard(is_primary=0.0)})
        running.ingest(2, sample(t, shards, **changes))
    await wait_for_second(running, NOW + 2)
    totals = columns(running, "bdbs", 1, NOW, 3)[METRICS["bdbs"].index("used_memory")]
    assert totals == [0.0, 0.0, None]
    assert value(running, "bdbs", 1, "total_req", NOW + 1) == 150


async def test_a_missing_second_is_a_gap_without_a_spike_after_it(running: LiveMetrics) -> None:
    for t in (NOW, NOW + 2):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW + 2)
    assert columns(running, "bdbs", 1, NOW, 3)[0] == [None, None, 150.0]


async def test_an_agent_restart_leaves_a_gap_of_one_second(running: LiveMetrics) -> None:
    for t, boot in ((NOW, "a"), (NOW + 1, "b"), (NOW + 2, "b")):
        running.ingest(1, first_node(t, boot=boot * 32))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW + 2)
    assert columns(running, "shards:1", 11, NOW, 3)[0] == [None, None, 100.0]
    assert columns(running, "shards:1", 12, NOW, 3)[0] == [None, 50.0, 50.0]


async def test_a_shard_restart_leaves_a_gap_of_one_second(running: LiveMetrics) -> None:
    for t, started_at, reads in ((NOW, 1.0, 500.0), (NOW + 1, 2.0, 900.0), (NOW + 2, 2.0, 950.0)):
        running.ingest(1, sample(t, {11: shard(started_at=started_at, read_cmds=reads), 21: shard()}))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW + 2)
    assert columns(running, "shards:1", 11, NOW, 3)[0] == [None, None, 50.0]


async def test_a_reconnected_node_fills_its_gap(running: LiveMetrics, frames: Listener) -> None:
    running.disconnect(2)
    for t in range(NOW, NOW + 5):
        running.ingest(1, first_node(t))
    await wait_for_second(running, NOW + 4)
    received(frames)
    for t in range(NOW, NOW + 5):
        running.ingest(2, second_node(t))
    await wait_until(lambda: unread_frames(frames))
    assert columns(running, "bdbs", 1, NOW, 5)[0] == [None, 150.0, 150.0, 150.0, 150.0]
    assert columns(running, "nodes", 2, NOW, 5)[METRICS["nodes"].index("ingress_bytes")] == [None] + [100.0] * 4
    assert ("bdbs", "history", NOW) in received(frames)


async def test_seconds_that_arrive_out_of_order_give_the_same_rates(running: LiveMetrics) -> None:
    for t in (NOW, NOW + 3, NOW + 1, NOW + 2):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
        await wait_until(lambda t=t: value(running, "bdbs", 1, "used_memory", t) is not None)
    rates = columns(running, "bdbs", 1, NOW, 4)[0]
    assert rates == [None, 150.0, 150.0, 150.0]


async def test_a_new_console_gets_the_history_of_the_agents(running: LiveMetrics) -> None:
    assert running.resume_point(1) == ("", 0)
    for t in range(NOW - 119, NOW + 1):
        running.ingest(1, first_node(t, seq=t - NOW + 500))
    for t in range(NOW - 119, NOW + 1):
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW)
    await wait_until(lambda: value(running, "bdbs", 1, "total_req", NOW - 118) is not None)
    frame = running.history("bdbs", 900, 0)
    assert frame["from"] + frame["count"] - 1 == NOW
    known = [rate for rate in frame["series"]["1"][0] if rate is not None]
    assert known == [150.0] * 119
    assert running.resume_point(1)[1] == 500


async def test_history_contains_only_newer_seconds(running: LiveMetrics) -> None:
    for t in range(NOW, NOW + 10):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW + 9)
    for seconds, after, first, count in (
        (5, 0, NOW + 5, 5),
        (5, NOW + 7, NOW + 8, 2),
        (5, NOW + 9, NOW + 10, 0),
        (5, NOW + 99, NOW + 100, 0),
        (0, 0, NOW + 10, 0),
    ):
        frame = running.history("bdbs", seconds, after)
        assert (frame["from"], frame["count"]) == (first, count)
        assert all(len(column) == count for series in frame["series"].values() for column in series)
    assert running.history("bdbs", 10**6, 0)["count"] == RETENTION
    assert running.history("shards:1", 10**6, 0)["count"] == SHARD_RETENTION
    assert running.history("shards:99", 5, 0)["series"] == {}


async def test_series_of_deleted_databases_are_removed(running: LiveMetrics) -> None:
    running.ingest(1, first_node(NOW))
    running.ingest(2, second_node(NOW))
    await wait_for_second(running, NOW)
    running.set_members({uid: member for uid, member in MEMBERS.items() if member.bdb_uid == 2})
    assert running.history("shards:1", 5, 0)["series"] == {}
    assert list(running.history("bdbs", 5, 0)["series"]) == ["2"]
    running.ingest(1, first_node(NOW + 1))
    running.ingest(2, second_node(NOW + 1))
    await wait_for_second(running, NOW + 1)
    assert running.history("shards:1", 5, 0)["series"] == {}
    assert value(running, "cluster", "cluster", "total_req", NOW + 1) == 10


async def test_frames_are_made_only_for_topics_with_listeners(running: LiveMetrics, bus: Bus) -> None:
    with bus.listen("frame:nodes") as listener:
        running.ingest(1, first_node(NOW))
        running.ingest(2, second_node(NOW))
        await wait_for_second(running, NOW)
        [(topic, item)] = listener.drain()
    kind, frame = decoded(item)
    assert (topic, kind, item.text.startswith(f"id: {NOW}\n".encode())) == ("frame:nodes", "sample", True)
    assert frame["at"] == NOW * 1000 + 100
    assert sorted(frame["series"]) == ["1", "2"]


async def test_memory_does_not_grow_with_time(running: LiveMetrics) -> None:
    for t in range(NOW, NOW + 400):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
        if t % 50 == 0:
            await wait_for_second(running, t)
    await wait_for_second(running, NOW + 399)
    await wait_until(lambda: len(running._seconds) <= hub.RAW_RETENTION + 1)


async def test_samples_are_kept_for_a_node_that_is_late(running: LiveMetrics) -> None:
    """The rates of the node's first late second need the second before the gap, of all nodes."""
    for t in range(NOW - 100, NOW + 1):
        running.ingest(1, first_node(t))
        running.ingest(2, second_node(t))
    await wait_for_second(running, NOW)
    running.disconnect(2)
    for t in range(NOW + 1, NOW + 111):
        running.ingest(1, first_node(t))
    await wait_for_second(running, NOW + 110)
    for t in range(NOW + 1, NOW + 111):
        running.ingest(2, second_node(t))
    await wait_until(lambda: value(running, "bdbs", 1, "total_req", NOW + 1) == 150.0)
    await wait_until(lambda: value(running, "bdbs", 1, "total_req", NOW + 110) == 150.0)
    running.connect(2)
    running.ingest(1, first_node(NOW + 111))
    running.ingest(2, second_node(NOW + 111))
    await wait_until(lambda: len(running._seconds) <= hub.RAW_RETENTION + 1)


async def test_samples_about_shards_of_other_nodes_are_ignored(running: LiveMetrics) -> None:
    foreign = {12: shard(write_cmds=1e9, keys=99.0), 99: shard()}
    running.ingest(2, second_node(NOW))
    first = first_node(NOW)
    running.ingest(1, first.model_copy(update={"shards": first.shards | foreign, "pings": {1: [5], 7: [5]}}))
    await wait_for_second(running, NOW)
    assert value(running, "shards:1", 12, "no_of_keys", NOW) == 7
    assert set(running._seconds[NOW].pings) == {(1, 1)}
    running.ingest(2, second_node(NOW + 1))
    running.ingest(
        1, first_node(NOW + 1).model_copy(update={"died": {13: "not its shard"}, "missing": {12: "not its shard"}})
    )
    await wait_for_second(running, NOW + 1)
    assert not running._seconds[NOW + 1].died | running._seconds[NOW + 1].missing
