"""Adds to each failover when writes were good again, as far as samples tell: once a second, so by which second, not when."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from shardboard.bus import Bus
from shardboard.collectors.live import Live
from shardboard.db import Store
from shardboard.domain.rates import Value
from shardboard.state import events

LOOK_SECONDS = 1.0
GIVE_UP = timedelta(seconds=60)
"""After this nobody wrote, and nothing is claimed."""


def first_write(seconds: Sequence[tuple[int, Value, Value]], after: float) -> int | None:
    """The first second by which a shard had carried out a write as primary, from (second, is it primary, its write commands).

    Writes that it received by replication are counted, too: only what was added between two samples of a primary is certain.
    """
    for (_, led, before), (t, leads, now) in pairwise(seconds):
        if t > after and led == leads == 1.0 and before is not None and now is not None and now > before:
            return t
    return None


class FirstWrites:
    """`first_write_by` in the details of `shard_failover`: ISO second, or null when nobody wrote within GIVE_UP."""

    def __init__(self, store: Store, bus: Bus, live: Live) -> None:
        self._store = store
        self._bus = bus
        self._live = live
        self._open: set[int] = set()

    async def run(self) -> None:
        """Until cancelled."""
        async with self._store.read() as session:
            now = datetime.now(UTC)
            recent = await events.touching(session, ("shard_failover",), now - GIVE_UP, now, limit=1000)
        self._open = {event.uid for event in recent if "first_write_by" not in event.details}
        with self._bus.listen("change") as changes:
            while True:
                fresh = {message[1] for _, message in changes.drain() if message[0] == "event"}
                await self.look(fresh)
                await asyncio.sleep(LOOK_SECONDS)

    async def look(self, fresh: set[int]) -> None:
        """Take in new events, and write what is known by now."""
        if not fresh and not self._open:
            return
        async with self._store.read() as session:
            found = [await events.by_uid(session, uid) for uid in sorted(fresh | self._open)]
        waiting = [
            event
            for event in found
            if event is not None and event.type == "shard_failover" and "first_write_by" not in event.details
        ]
        self._open = {event.uid for event in waiting}
        for event in waiting:
            t = first_write(self._live.writes_of(event.details["heir"]), event.time.timestamp())
            if t is not None or datetime.now(UTC) - event.time > GIVE_UP:
                await self._tell(event.uid, t)

    async def _tell(self, uid: int, t: int | None) -> None:
        told = None if t is None else datetime.fromtimestamp(t, UTC).isoformat().replace("+00:00", "Z")
        async with self._store.begin() as session:
            event = await events.by_uid(session, uid)
            if event is not None:
                event.details = {**event.details, "first_write_by": told}
        self._open.discard(uid)
