"""Writes each second of metrics to the store, rolls seconds up into longer intervals, and deletes old data.

A second is written in one transaction as soon as it is published. If a part of it arrives late, the second is written again, and
each interval that contains it is rolled up again from the rows of the finer resolution. Nothing is accumulated in memory, so a
console that was killed continues from the rows in the store.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Mapping
from itertools import cycle

from sqlalchemy.exc import SQLAlchemyError

from shardboard.collectors.metrics.live_metrics import RETENTION, SHARD_RETENTION, LiveMetrics, shard_places
from shardboard.domain.metrics import histogram, intervals, latency_cells, rollup
from shardboard.domain.metrics.intervals import RESOLUTIONS, Resolution
from shardboard.domain.metrics.rollup import TOPICS, TopicFrame
from shardboard.kit.bus import Bus
from shardboard.state.databases import shards
from shardboard.state.metrics import latency, metric_history
from shardboard.state.metrics.latency import LatencyMeasurement
from shardboard.store.db import Store

log = logging.getLogger(__name__)

UNFINISHED_ROLLUP_SECONDS = 60
"""Seconds between two roll-ups of an unfinished 5 min interval: the maximum delay of coarse charts."""
DELETE_SECONDS = 5
"""Seconds between two deletions. Each covers one resolution and at most FORGET_ROWS intervals."""
MAX_DELETED_ROWS = 200
CLOSE_AFTER_SECONDS = 5
"""Seconds after which an interval counts as finished even if no later second was published."""


async def restore_samples(store: Store, live: LiveMetrics) -> None:
    """Load stored seconds into the rings. Call it before the collectors start."""
    now = int(time.time())
    async with store.read() as session:
        names = _names(await metric_history.layouts(session))
        live.set_members(shard_places(await shards.list_conditions(session)))
        for topic in TOPICS:
            seconds = SHARD_RETENTION if topic in ("shards", "flash_shards") else RETENTION
            for frame in await metric_history.frames(session, topic, 1, now - seconds, now + 1, names):
                live.restore(topic, frame)
        for t, measured in (await latency.read(session, 1, now - RETENTION, now + 1)).items():
            live.endpoints.latencies.restore(t, measured)


class Archive:
    """Archive of metrics, one task. Only the leading console writes it."""

    def __init__(self, store: Store, bus: Bus, live: LiveMetrics) -> None:
        self._store = store
        self._bus = bus
        self._live = live
        self._layouts: dict[tuple[str, ...], int] = {}
        self._unwritten: set[int] = set()
        self._stale: dict[int, set[int]] = defaultdict(set)
        """Start times of intervals to roll up, by step."""
        self._rolled_open = 0
        self._forgotten = 0.0
        self._forgetting = cycle(RESOLUTIONS)

    async def prepare(self) -> None:
        """Find the seconds and intervals that an earlier leader did not write."""
        now = int(time.time())
        async with self._store.begin() as session:
            self._layouts = await metric_history.layouts(session)
            for columns in {rollup.columns_of(topic, step) for topic in TOPICS for step in (1, 10)}:
                if columns not in self._layouts:
                    self._layouts[columns] = await metric_history.add_layout(session, columns)
            extents = {(extent.topic, extent.step): extent for extent in await metric_history.list_time_ranges(session)}
            for resolution in RESOLUTIONS[1:]:
                for topic in TOPICS:
                    extent = extents.get((topic, resolution.step))
                    since_second = extent.last if extent is not None else 0
                    times = await metric_history.times(session, topic, intervals.child(resolution.step), since_second)
                    self._stale[resolution.step] |= intervals.starts(times, resolution.step)
        written_until = max((extent.last for extent in extents.values() if extent.step == 1), default=0)
        self._unwritten |= {t for t in self._live.take_computed_seconds() if t > written_until}
        await self._roll_up(now)

    async def run(self) -> None:
        """Run until cancelled."""
        await self.prepare()
        with self._bus.listen("settled") as changes:
            while True:
                await changes.wait_until(lambda _: True, 1)
                await self.step()

    async def step(self) -> None:
        """Write new seconds, roll up due intervals, and delete some old data."""
        self._unwritten |= self._live.take_computed_seconds()
        oldest = self._live.newest - SHARD_RETENTION
        self._unwritten = {t for t in self._unwritten if t > oldest}  # older seconds are no longer in the rings
        try:
            await self._write()
            await self._roll_up(max(self._live.newest + 1, int(time.time()) - CLOSE_AFTER_SECONDS))
            await self._delete_old()
        except (SQLAlchemyError, OSError):  # the store may be available again soon, and the rings still hold the data
            log.exception("archive: storing metrics failed")
            await asyncio.sleep(1)

    async def _write(self) -> None:
        if not self._unwritten:
            return
        seconds = sorted(self._unwritten)
        rows = [
            (topic, 1, self._layouts[TOPICS[topic]], frame)
            for t in seconds
            for topic in TOPICS
            if (frame := self._live.frame(topic, t)) is not None
        ]
        async with self._store.begin() as session:
            await metric_history.write(session, rows)
            measured = self._live.endpoints.latencies
            await latency.write(
                session,
                1,
                [
                    LatencyMeasurement(t, histograms, measured.endpoint_cells_at(t))
                    for t in seconds
                    if (histograms := measured.histograms_at(t))
                ],
            )
        self._unwritten.difference_update(seconds)
        self._stale[RESOLUTIONS[1].step] |= intervals.starts(seconds, RESOLUTIONS[1].step)

    async def _roll_up(self, now: int) -> None:
        """Roll up due intervals, finest resolution first, because each roll-up makes the next coarser interval due."""
        include_open = now - self._rolled_open >= UNFINISHED_ROLLUP_SECONDS
        for resolution in RESOLUTIONS[1:]:
            stale = self._stale[resolution.step]
            due = sorted(start for start in stale if _is_due(start, resolution.step, now, include_open))
            if not due:
                continue
            for start in due:
                # Computed before the transaction: while a SQLite store is written, all other writers wait.
                rows, measurements = await self._merge(resolution, start)
                async with self._store.begin() as session:
                    await metric_history.write(session, rows)
                    await latency.write(session, resolution.step, measurements)
            stale.difference_update(due)
            parent = intervals.parent(resolution.step)
            if parent is not None:
                self._stale[parent] |= intervals.starts(due, parent)
        if include_open:
            self._rolled_open = now

    async def _merge(
        self, resolution: Resolution, begin: int
    ) -> tuple[list[tuple[str, int, int, TopicFrame]], list[LatencyMeasurement]]:
        """Return the interval that starts at `begin`, from the rows of the finer resolution."""
        child, end = intervals.child(resolution.step), begin + resolution.step
        rows: list[tuple[str, int, int, TopicFrame]] = []
        async with self._store.read() as session:
            for topic in TOPICS:
                parts = await metric_history.frames(session, topic, child, begin, end, _names(self._layouts))
                if parts:
                    # In a thread, because merging rows of thousands of shards would block the event loop.
                    merged = await asyncio.to_thread(rollup.merge, topic, begin, parts, child)
                    metric_order = rollup.columns_of(topic, resolution.step)
                    frame = TopicFrame(begin, merged.uids, {name: merged.columns[name] for name in metric_order})
                    rows.append((topic, resolution.step, self._layouts[metric_order], frame))
            measured = await latency.read(session, child, begin, end)
            cells = await latency.cells(session, child, begin, end) if measured else []
        if not measured:
            return rows, []
        endpoint_cells = latency_cells.merged(latency_cells.decode(data) for _, data in cells)
        return rows, [LatencyMeasurement(begin, histogram.merged(measured.values()), endpoint_cells)]

    async def _delete_old(self) -> None:
        now = time.time()
        if now - self._forgotten < DELETE_SECONDS:
            return
        self._forgotten = now
        resolution = next(self._forgetting)
        async with self._store.begin() as session:
            cutoff = int(now) - resolution.retention
            for topic in TOPICS:
                await metric_history.delete_before(session, topic, resolution.step, cutoff, MAX_DELETED_ROWS)
            await latency.delete_before(session, resolution.step, cutoff, MAX_DELETED_ROWS)


def _names(layouts: Mapping[tuple[str, ...], int]) -> dict[int, tuple[str, ...]]:
    return {number: columns for columns, number in layouts.items()}


def _is_due(begin: int, step: int, now: int, include_open: bool) -> bool:
    """Return whether to roll up: finished intervals immediately, unfinished 5 min intervals periodically, coarser ones always."""
    if begin + step <= now:
        return True
    return step > RESOLUTIONS[2].step or (step == RESOLUTIONS[2].step and include_open)
