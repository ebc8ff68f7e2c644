"""Cost of storing and reading metrics: 512 shards, each second and all roll-ups, on SQLite and PostgreSQL."""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace

from perf.kit.report import Report
from perf.kit.scale import scaled
from shardboard.collectors.metrics import metric_history as archive
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.metric_history import Archive
from shardboard.domain.metrics import intervals
from shardboard.domain.metrics.intervals import DAY, RESOLUTIONS
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame, columns_of
from shardboard.kit.bus import Bus
from shardboard.queries.metrics import metric_history as queries
from shardboard.schemas.metrics import stats as schema
from shardboard.state.metrics import metric_history as metrics
from shardboard.store.db import Store

ROOT = Path(__file__).resolve().parents[2]
SHARDS, NODES, BDBS = 512, 26, 20
WIDTHS = {
    "cluster": 1,
    "nodes": NODES,
    "bdbs": BDBS,
    "shards": SHARDS,
    "endpoints": 3 * BDBS,
    "flash": 1,
    "flash_shards": 1,
}
SECONDS = scaled(600, 20)
YEAR = scaled(365, 32) * DAY
ROUNDS = scaled(9, 1)


def storing(report: Report) -> None:
    """Measure both databases; PostgreSQL in a child process with a private server."""
    with tempfile.TemporaryDirectory(prefix="shardboard-bench-") as name:
        asyncio.run(_measure(report, f"sqlite+aiosqlite:///{name}/console.db", "SQLite"))
    command = ["scripts/with-postgres", sys.executable, "-m", "perf.clusters.metric_history"]
    reply = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=600)
    lines = reply.stdout.splitlines()
    for line in lines:
        report.repeat(line)
    if not lines:
        raise RuntimeError("the PostgreSQL part printed no results")


async def _measure(report: Report, url: str, name: str) -> None:
    bus = Bus()
    store = Store(url, bus)
    await store.migrate()
    try:
        await _archive(report, store, bus, name)
        await _year(store)
        await _questions(report, store, name)
    finally:
        await store.close()


async def _archive(report: Report, store: Store, bus: Bus, name: str) -> None:
    """Store ten minutes of samples as fast as possible, including roll-ups."""
    live = LiveMetrics(bus)
    archived = Archive(store, bus, live)
    await archived.prepare()
    first = intervals.start(int(time.time()), 900) - 900
    now = first
    archive.time = SimpleNamespace(time=lambda: now + 1.1)  # type: ignore[assignment]
    live.frame = lambda topic, t: _frame(topic, t, TOPICS[topic])  # type: ignore[method-assign]
    start = time.process_time()
    for now in range(first, first + SECONDS):
        live._settled, live.newest = {now}, now
        await archived.step()
    cpu_seconds = (time.process_time() - start) / SECONDS
    report.limit(f"{name}: storing one second of {SHARDS} shards, roll-ups included, CPU", cpu_seconds * 1000, 10, "ms")
    async with store.read() as session:
        size = await metrics.size(session)
    report.limit(f"{name}: storage per shard-second at 1 s, roll-ups included", size / SECONDS / SHARDS, 200, "B")
    retained_bytes = sum(
        min(resolution.retention, YEAR) / resolution.step * len(_blob(topic, resolution.step))
        for resolution in RESOLUTIONS[1:]
        for topic in TOPICS
    )
    if name == "SQLite":
        report.limit(
            f"a year of roll-ups of {SHARDS} shards, {NODES} nodes, {BDBS} databases", retained_bytes / 1e9, 4, "GB"
        )
    archive.time = time  # type: ignore[assignment]


async def _year(store: Store) -> None:
    """Fill the store as the archive would, except for the finest resolutions of shards, which no query reads."""
    now = int(time.time())
    spans = {("shards", 300): 2 * DAY, ("shards", 900): 2 * DAY, ("bdbs", 43_200): YEAR, ("bdbs", 3_600): 31 * DAY}
    async with store.begin() as session:
        layouts = await metrics.layouts(session)
        for (topic, step), span in spans.items():
            names = columns_of(topic, step)
            times = range(intervals.start(now - span, step), now, step)
            for chunk in range(0, len(times), 100):
                rows = [(topic, step, layouts[names], _frame(topic, t, names)) for t in times[chunk : chunk + 100]]
                await metrics.write(session, rows)


async def _questions(report: Report, store: Store, name: str) -> None:
    now = int(time.time())

    def query(topic: str, uids: set[int] | None, span: int, points: int) -> Callable[[], Awaitable[int]]:
        async def answer() -> int:
            async with store.read() as session:
                history = await queries.history(session, topic, uids, ["total_req"], now - span, now, points, now)
            series = ((str(uid), history.series(index)) for index, uid in enumerate(history.uids))
            text = schema.render_history("", history.first, history.step, history.count, ["total_req"], series)
            return sum(len(part) for part in text)

        return answer

    for question, answer, limit in (
        (f"{SHARDS} shards × 1 day of one metric", query("shards", None, DAY, 300), 150),
        ("one database × 1 year", query("bdbs", {1}, YEAR, 1000), 50),
    ):
        size, durations = 0, []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            size = await answer()
            durations.append((time.perf_counter() - start) * 1000)
        report.limit(f"{name}: {question}", median(durations), limit, "ms", f" ({size / 1000:.0f} kB of JSON)")


def _frame(topic: str, t: int, names: tuple[str, ...]) -> TopicFrame:
    width = WIDTHS[topic]
    return TopicFrame(t, array("i", range(1, width + 1)), dict.fromkeys(names, _NOISE[t % 50 : t % 50 + width]))


_NOISE = array("f", map(random.Random(4).uniform, [0.0] * (SHARDS + 50), [1e6] * (SHARDS + 50)))


def _blob(topic: str, step: int) -> bytes:
    return bytes(4 * WIDTHS[topic] * (1 + len(columns_of(topic, step))))


if __name__ == "__main__":
    asyncio.run(_measure(Report(), os.environ["SHARDBOARD_TEST_POSTGRES_URL"], "PostgreSQL"))
