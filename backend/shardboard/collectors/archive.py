"""Writes every second of metrics to the store, rolls seconds up into longer intervals, and forgets what is too old.

A second is written in one transaction as soon as it was told; when a part of it comes late it is written again, and every interval
that holds it is rolled up again from the rows below it. Nothing is accumulated in memory, so a console that was killed continues
from the rows it left.
"""

import asyncio
import logging
import time
from collections import defaultdict
from itertools import cycle

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.collectors.live import RETENTION, SHARD_RETENTION, Live, members
from shardboard.db import Store
from shardboard.domain import cells, histogram, intervals, rollup
from shardboard.domain.intervals import RESOLUTIONS, Resolution
from shardboard.domain.rollup import TOPICS, Frame
from shardboard.state import latency, metrics, shards
from shardboard.state.latency import Measured

log = logging.getLogger(__name__)

OPEN_EVERY = 60
"""Seconds between two roll-ups of a 5 min interval that has not ended: how far coarse charts lag behind."""
FORGET_EVERY = 5
"""Seconds between two deletions; each is of one resolution, and of at most FORGET_ROWS intervals."""
FORGET_ROWS = 200
PATIENCE = 5
"""Seconds after which an interval counts as over although no later second was told."""


class Archive:
    """One task. `restore` comes before the collectors start, `run` beside them."""

    def __init__(self, store: Store, bus: Bus, live: Live) -> None:
        self._store = store
        self._bus = bus
        self._live = live
        self._layouts: dict[tuple[str, ...], int] = {}
        self._unwritten: set[int] = set()
        self._stale: dict[int, set[int]] = defaultdict(set)
        """Beginnings of the intervals to roll up, by step."""
        self._rolled_open = 0
        self._forgotten = 0.0
        self._forgetting = cycle(RESOLUTIONS)

    async def restore(self) -> None:
        """Fill the rings with what an earlier console has stored, and find the intervals that it did not finish."""
        now = int(time.time())
        async with self._store.begin() as session:
            self._layouts = await metrics.layouts(session)
            for columns in {rollup.columns_of(topic, step) for topic in TOPICS for step in (1, 10)}:
                if columns not in self._layouts:
                    self._layouts[columns] = await metrics.add_layout(session, columns)
            extents = {(found.topic, found.step): found for found in await metrics.extents(session)}
            for resolution in RESOLUTIONS[1:]:
                for topic in TOPICS:
                    known = extents.get((topic, resolution.step))
                    since = known.last if known is not None else 0
                    times = await metrics.times(session, topic, intervals.child(resolution.step), since)
                    self._stale[resolution.step] |= intervals.starts(times, resolution.step)
            self._live.set_members(members(await shards.conditions(session)))
            for topic in TOPICS:
                seconds = SHARD_RETENTION if topic in ("shards", "flash_shards") else RETENTION
                for frame in await metrics.frames(session, topic, 1, now - seconds, now + 1, self._names()):
                    self._live.restore(topic, frame)
            for t, measured in (await latency.read(session, 1, now - RETENTION, now + 1)).items():
                self._live.endpoints.latencies.restore(t, measured)
        await self._roll_up(now)

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("settled") as settled:
            while True:
                await settled.until(lambda _: True, 1)
                await self.step()

    async def step(self) -> None:
        """Write what is new, roll up what is due, forget a little."""
        self._unwritten |= self._live.take_settled()
        oldest = self._live.newest - SHARD_RETENTION
        self._unwritten = {t for t in self._unwritten if t > oldest}  # as far as it can still be told
        try:
            await self._write()
            await self._roll_up(max(self._live.newest + 1, int(time.time()) - PATIENCE))
            await self._forget()
        except (SQLAlchemyError, OSError):  # the store may be back in a moment, and the rings remember
            log.exception("metrics could not be stored")
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
            await metrics.write(session, rows)
            measured = self._live.endpoints.latencies
            await latency.write(
                session, 1, [Measured(t, found, measured.of_endpoints(t)) for t in seconds if (found := measured.of(t))]
            )
        self._unwritten.difference_update(seconds)
        self._stale[RESOLUTIONS[1].step] |= intervals.starts(seconds, RESOLUTIONS[1].step)

    async def _roll_up(self, now: int) -> None:
        """Every interval that is due, from the finest level up: what is rolled up makes the level above due."""
        look_at_open = now - self._rolled_open >= OPEN_EVERY
        for resolution in RESOLUTIONS[1:]:
            stale = self._stale[resolution.step]
            due = sorted(begin for begin in stale if _is_due(begin, resolution.step, now, look_at_open))
            if not due:
                continue
            async with self._store.begin() as session:
                for begin in due:
                    await self._roll_up_one(session, resolution, begin)
            stale.difference_update(due)
            above = intervals.parent(resolution.step)
            if above is not None:
                self._stale[above] |= intervals.starts(due, above)
        if look_at_open:
            self._rolled_open = now

    async def _roll_up_one(self, session: AsyncSession, resolution: Resolution, begin: int) -> None:
        below, rows = intervals.child(resolution.step), []
        for topic in TOPICS:
            parts = await metrics.frames(session, topic, below, begin, begin + resolution.step, self._names())
            if parts:
                merged = rollup.merge(topic, begin, parts, below)
                order = rollup.columns_of(topic, resolution.step)
                frame = Frame(begin, merged.uids, {name: merged.columns[name] for name in order})
                rows.append((topic, resolution.step, self._layouts[order], frame))
        await metrics.write(session, rows)
        measured = await latency.read(session, below, begin, begin + resolution.step)
        if measured:
            known = await latency.cells(session, below, begin, begin + resolution.step)
            of_endpoints = cells.merged(cells.decode(data) for _, data in known)
            made = Measured(begin, histogram.merged(measured.values()), of_endpoints)
            await latency.write(session, resolution.step, [made])

    async def _forget(self) -> None:
        now = time.time()
        if now - self._forgotten < FORGET_EVERY:
            return
        self._forgotten = now
        resolution = next(self._forgetting)
        async with self._store.begin() as session:
            before = int(now) - resolution.retention
            for topic in TOPICS:
                await metrics.forget(session, topic, resolution.step, before, FORGET_ROWS)
            await latency.forget(session, resolution.step, before, FORGET_ROWS)

    def _names(self) -> dict[int, tuple[str, ...]]:
        return {number: columns for columns, number in self._layouts.items()}


def _is_due(begin: int, step: int, now: int, look_at_open: bool) -> bool:
    """Closed intervals at once. Open ones of 5 min now and then, and those above whenever a part of theirs was rolled up."""
    if begin + step <= now:
        return True
    return step > RESOLUTIONS[2].step or (step == RESOLUTIONS[2].step and look_at_open)
