"""Seconds are written as rows and rolled up into intervals. A restarted console continues from the stored rows."""

import random
import time
from array import array
from collections.abc import Sequence
from math import isnan, nan
from types import SimpleNamespace

import pytest
from backend.tests.collectors.samples import sample, shard

from shardboard.collectors.metrics import metric_history as archiving
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.metric_history import DELETE_SECONDS, MAX_DELETED_ROWS, Archive, restore_samples
from shardboard.contract import ENDPOINT_FIELDS, EndpointReading, ProxyReading
from shardboard.domain.databases.bdb_rules import MAX_UID
from shardboard.domain.metrics import endpoint_metrics, intervals, latency_cells, rollup
from shardboard.domain.metrics.histogram import Histogram
from shardboard.domain.metrics.intervals import RESOLUTIONS
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame
from shardboard.kit.bus import Bus
from shardboard.queries.metrics import metric_history as queries
from shardboard.state.databases.shards import Shard
from shardboard.state.metrics import latency, metric_history
from shardboard.store.db import Store

pytestmark = pytest.mark.store

NOW = intervals.start(int(time.time()), 300) - 30
"""A recent time, 30 s before the end of a 5 min interval."""


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock so that the seconds of these tests are always recent."""
    monkeypatch.setattr(archiving, "time", SimpleNamespace(time=lambda: NOW + 45.0))


@pytest.fixture
async def live(store: Store, bus: Bus) -> LiveMetrics:
    """Metrics of one node with primary 11 of database 1."""
    row = {"pair": 0, "role": "master", "slots": "0-16383", "port": 20000, "bus_port": 25000}
    async with store.begin() as session:
        session.add(Shard(uid=11, bdb_uid=1, node_uid=1, engine_id="0" * 40, **row))
    return LiveMetrics(bus)


@pytest.fixture
async def archive(store: Store, bus: Bus, live: LiveMetrics) -> Archive:
    metric_archive = Archive(store, bus, live)
    await restore_samples(store, live)
    await metric_archive.prepare()
    return metric_archive


def deliver(live: LiveMetrics, t: int, reads: float | None = None) -> None:
    """Publish second `t` of the node. By default, the read counter of shard 11 rises by ten per second."""
    live.ingest(1, sample(t, {11: shard(read_cmds=t * 10.0 if reads is None else reads, keys=float(t - NOW))}))
    if not live._seconds[t].is_published:
        live._publish(t, live._seconds[t])


async def history(store: Store, topic: str, metric: str, first: int, last: int, step: int) -> list[float | None]:
    """Return the values that a chart shows."""
    async with store.read() as session:
        result = await queries.history(session, topic, None, [metric], first, last, (last - first) // step, last)
    assert result.step == step
    return (
        [None if isnan(value) else value for series in result.series(0)[:1] for value in series] if result.uids else []
    )


async def test_a_published_second_is_written(store: Store, live: LiveMetrics, archive: Archive) -> None:
    for t in (NOW, NOW + 1, NOW + 3):
        deliver(live, t)
        await archive.step()
    assert await history(store, "bdbs", "read_req", NOW, NOW + 4, 1) == [None, 10, None, 10]
    assert await history(store, "shards", "no_of_keys", NOW, NOW + 4, 1) == [0, 1, None, 3]
    assert await history(store, "nodes", "ingress_bytes", NOW, NOW + 4, 1) == [None, 100, None, 100]


async def test_intervals_are_rolled_up_again_for_late_seconds(
    store: Store, live: LiveMetrics, archive: Archive
) -> None:
    first = NOW
    for t in range(first, first + 21):
        if t not in (first + 4, first + 5):
            deliver(live, t)
    await archive.step()
    assert await history(store, "bdbs", "used_memory", first, first + 20, 10) == [0, 0]
    assert (await stored_row(store, "bdbs", first))["#responsiveness"] == 8
    for t in (first + 4, first + 5):
        deliver(live, t)
    await archive.step()
    assert (await stored_row(store, "bdbs", first))["#responsiveness"] == 10
    assert await history(store, "bdbs", "no_of_keys", first, first + 20, 10) == [9, 19]


async def stored_row(store: Store, topic: str, t: int, step: int = 10) -> dict[str, float]:
    async with store.read() as session:
        names = {number: columns for columns, number in (await metric_history.layouts(session)).items()}
        [frame] = await metric_history.frames(session, topic, step, t, t + 1, names)
    return {name: values[0] for name, values in frame.columns.items()}


async def test_each_resolution_is_rolled_up_from_the_finer_one(
    store: Store, live: LiveMetrics, archive: Archive
) -> None:
    for t in range(NOW, NOW + 41):
        deliver(live, t)
    await archive.step()
    for resolution in RESOLUTIONS[2:]:
        row = await stored_row(store, "bdbs", intervals.start(NOW, resolution.step), resolution.step)
        assert row["read_req"] == 10
        assert row["#read_req"] in (29, 39), "the first second has no predecessor for a rate"


@pytest.mark.store_in_all
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
async def test_intervals_match_their_seconds_in_any_order_of_arrival(
    store: Store, bus: Bus, live: LiveMetrics, archive: Archive, seed: int
) -> None:
    """One node is late, some seconds are missing, counters are reset, and the console is killed at random."""
    rng, first, last = random.Random(seed), NOW - 25, NOW + 35
    lost = set(rng.sample(range(first + 1, last), 5))
    seconds = [t for t in range(first, last) if t not in lost]
    async with store.begin() as session:
        row = {"pair": 1, "role": "master", "slots": "", "port": 20001, "bus_port": 25001}
        session.add(Shard(uid=12, bdb_uid=1, node_uid=2, engine_id="1" * 40, **row))
    await restore_samples(store, live)
    await archive.prepare()

    def deliver_both(live: LiveMetrics, prompt: Sequence[int], late: Sequence[int]) -> None:
        for t in prompt:
            deliver(live, t, (t - first) * 10.0 if t < NOW else (t - NOW) * 7.0)
        for t in late:
            live.ingest(2, sample(t, {12: shard(read_cmds=t * 3.0, keys=1.0)}))
        live._catch_up()

    delivered = 0
    for count, t in enumerate(seconds, 1):
        received = min(count, max(delivered, count - rng.randint(0, 6)))
        deliver_both(live, [t], seconds[delivered:received])
        delivered = received
        if rng.random() < 0.5:
            await archive.step()
        if rng.random() < 0.1:
            live = LiveMetrics(bus)
            archive = Archive(store, bus, live)
            await restore_samples(store, live)
            await archive.prepare()
            deliver_both(live, seconds[max(0, count - 20) : count], seconds[max(0, delivered - 20) : delivered])
    deliver_both(live, [last + 200], [*seconds[delivered:], last + 200])
    await archive.step()

    for topic in ("shards", "bdbs", "cluster", "nodes"):
        await check_intervals(store, topic, seconds, last + 200)
    rates = await history(store, "shards", "read_req", first, last, 1)
    gaps = {t for t, rate in zip(range(first, last), rates, strict=True) if rate is None}
    assert gaps == {first, next(t for t in seconds if t >= NOW), *lost}, (
        "the first second, the counter reset and the lost seconds"
    )
    assert {rate for t, rate in zip(range(first, NOW), rates, strict=False) if rate is not None} == {10}


async def check_intervals(store: Store, topic: str, seconds: Sequence[int], now: int) -> None:
    """Check the stored seconds against `seconds`, and each interval that ended before `now` against its merged seconds."""
    first, last = seconds[0], seconds[-1] + 1
    async with store.read() as session:
        names = {number: columns for columns, number in (await metric_history.layouts(session)).items()}
        frames = await metric_history.frames(session, topic, 1, first, last, names)
        assert [frame.t for frame in frames] == seconds
        for step in (10, 300):
            start, end = intervals.start(first, step), intervals.start(now, step)
            for stored_frame in await metric_history.frames(session, topic, step, start, min(last, end), names):
                parts = [frame for frame in frames if intervals.start(frame.t, step) == stored_frame.t]
                expected = rollup.merge(topic, stored_frame.t, parts, 1)
                assert stored_frame.uids == expected.uids
                for name, values in stored_frame.columns.items():
                    assert list(values) == pytest.approx(list(expected.columns[name]), rel=1e-5, nan_ok=True), name


@pytest.mark.store_in_all
async def test_a_restarted_console_restores_history_and_overwrites_nothing(
    store: Store, bus: Bus, live: LiveMetrics, archive: Archive
) -> None:
    for t in range(NOW, NOW + 15):
        deliver(live, t)
    await archive.step()
    new = LiveMetrics(bus)
    restarted = Archive(store, bus, new)
    await restore_samples(store, new)
    await restarted.prepare()
    assert new.newest == NOW + 14
    assert new.latest("bdbs", "1")["read_req"] == 10
    assert new.history("shards:1", 15, 0)["series"]["11"][0][1:] == [10.0] * 14
    for t in range(NOW + 5, NOW + 30):  # the ring of the agent starts in the middle of the stored seconds
        deliver(new, t)
        await restarted.step()
    assert await history(store, "bdbs", "read_req", NOW, NOW + 30, 1) == [None] + [10] * 29
    assert await history(store, "bdbs", "read_req", NOW, NOW + 30, 10) == [10, 10, 10]


async def test_percentiles_are_computed_from_merged_histograms(
    store: Store, live: LiveMetrics, archive: Archive
) -> None:
    for t in range(NOW, NOW + 11):
        deliver(live, t)
        for node_uid, value in ((1, 100), (2, 200 if t % 2 else 900)):
            measured = Histogram()
            measured.record(value, 50)
            live.endpoints.latencies.ingest(t, node_uid, {(1, "read"): measured})
    await archive.step()
    odd_second = NOW + 1 - NOW % 2
    assert await history(store, "bdbs", "p99_read_latency", odd_second, odd_second + 2, 1) == [200, 900]
    assert await history(store, "bdbs", "p50_latency", NOW, NOW + 10, 10) == [100]
    assert await history(store, "bdbs", "p999_latency", NOW, NOW + 10, 10) == [900]
    assert await history(store, "bdbs", "p999_write_latency", NOW, NOW + 10, 10) == [None]


async def test_stored_endpoint_latency_survives_a_console_restart(
    store: Store, bus: Bus, live: LiveMetrics, archive: Archive
) -> None:
    for t in range(NOW, NOW + 11):
        deliver(live, t)
        for node_uid in (1, 2):
            live.endpoints.latencies.ingest(t, node_uid, {(1, "read"): Histogram.from_pairs([(1_000 * node_uid, 50)])})
    await archive.step()
    restarted = LiveMetrics(bus)
    next_archive = Archive(store, bus, restarted)
    await restore_samples(store, restarted)
    await next_archive.prepare()
    deliver(restarted, NOW + 10)  # the agent sends this second again; its latency is already stored
    await next_archive.step()
    for step, count, requests in ((1, 11, 50), (10, 2, 500)):
        async with store.read() as session:
            stored_cells = dict(await latency.cells(session, step, NOW, NOW + 11))
        cells = latency_cells.decode(stored_cells[NOW])
        assert {key: sum(counts.values()) for key, counts in cells.items()} == {
            (endpoint_metrics.number(1, node_uid), "read"): requests for node_uid in (1, 2)
        }
        assert len(stored_cells) == count


async def test_the_highest_uids_are_stored(store: Store, bus: Bus) -> None:
    max_uid = MAX_UID
    row = {"pair": 0, "role": "master", "slots": "0-16383", "port": 20000, "bus_port": 25000}
    async with store.begin() as session:
        session.add(Shard(uid=11, bdb_uid=max_uid, node_uid=5_000, engine_id="0" * 40, **row))
    live = LiveMetrics(bus)
    archive = Archive(store, bus, live)
    await restore_samples(store, live)
    await archive.prepare()
    reading = EndpointReading(values=[float(n) for n in range(len(ENDPOINT_FIELDS))], errors={}, latency={})
    for t in range(NOW, NOW + 11):
        proxy = ProxyReading(seconds=1.0, pid=7, threads=1, cpu=1.0, rss=1, databases={max_uid: reading})
        live.ingest(5_000, sample(t, {11: shard(read_cmds=t * 10.0)}, proxy=proxy))
        live._publish(t, live._seconds[t])
    await archive.step()
    assert await history(store, "bdbs", "write_req", NOW, NOW + 3, 1) == [1, 1, 1]
    restarted = LiveMetrics(bus)
    await restore_samples(store, restarted)
    endpoint = f"{max_uid}:1:5000"
    for step, name in ((1, "write_req"), (10, "write_req_max")):
        async with store.read() as session:
            result = await queries.history(
                session, "endpoints", {endpoint_metrics.parsed(endpoint)}, [name], NOW, NOW + 10, 10 // step, NOW + 10
            )
        assert [endpoint_metrics.name(uid) for uid in result.uids] == [endpoint]
        assert [*result.series(0)[0]] == [1] * (10 // step)
    assert restarted.latest("endpoints", endpoint)["write_req"] == 1


async def test_old_rows_are_deleted_in_small_batches(
    store: Store, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = NOW - RESOLUTIONS[0].retention - 1000
    values = {name: array("f", [nan]) for name in TOPICS["cluster"]}
    async with store.begin() as session:
        layout = (await metric_history.layouts(session))[TOPICS["cluster"]]
        rows = [("cluster", 1, layout, TopicFrame(t, array("i", [0]), values)) for t in range(old, old + 300)]
        await metric_history.write(session, rows)
        assert await metric_history.size(session) > 300 * 70
    assert await remaining_rows(store) == (old, 300)
    for _ in range(len(RESOLUTIONS)):
        archive._forgotten = 0.0
        await archive.step()
    assert await remaining_rows(store) == (old + MAX_DELETED_ROWS, 300 - MAX_DELETED_ROWS)
    await archive.step()
    assert (await remaining_rows(store))[1] == 300 - MAX_DELETED_ROWS, f"the next deletion is {DELETE_SECONDS} s later"


async def remaining_rows(store: Store) -> tuple[int, int]:
    async with store.read() as session:
        times = sorted(await metric_history.times(session, "cluster", 1, 0))
    return times[0], len(times)
