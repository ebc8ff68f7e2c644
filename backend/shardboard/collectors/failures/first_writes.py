"""Adds to each failover the second by which writes succeeded again. Samples are taken once a second, so it is an upper limit."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.domain.metrics.rates import Value
from shardboard.kit.bus import Bus
from shardboard.state.alerting import events
from shardboard.store.db import Store

POLL_SECONDS = 1.0
MAX_WAIT = timedelta(seconds=60)
"""After this time without a write, no time is recorded."""


def first_write(seconds: Sequence[tuple[int, Value, Value]], after: float) -> int | None:
    """Return the first second by which a shard had executed a write as primary, or None.

    `seconds` are (second, whether it is primary, its write commands). Writes from replication are counted as well, so only an
    increase between two samples as primary is certain.
    """
    for (_, was_primary, previous), (t, is_primary, now) in pairwise(seconds):
        if (
            t > after
            and was_primary == is_primary == 1.0
            and previous is not None
            and now is not None
            and now > previous
        ):
            return t
    return None


class FirstWriteCollector:
    """Sets `first_write_by` in the details of `shard_failover`: ISO time of the second, or null without a write within GIVE_UP."""

    def __init__(self, store: Store, bus: Bus, live: LiveMetrics) -> None:
        self._store = store
        self._bus = bus
        self._live = live
        self._open: set[int] = set()

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._store.read() as session:
            now = datetime.now(UTC)
            failovers = await events.list_overlapping(session, ("shard_failover",), now - MAX_WAIT, now, limit=1000)
        self._open = {event.uid for event in failovers if "first_write_by" not in event.details}
        with self._bus.listen("change") as changes:
            while True:
                event_uids = {message[1] for _, message in changes.drain() if message[0] == "event"}
                await self.update(event_uids)
                await asyncio.sleep(POLL_SECONDS)

    async def update(self, new_uids: set[int]) -> None:
        """Include new events, and record what is known by now."""
        if not new_uids and not self._open:
            return
        async with self._store.read() as session:
            found_events = [await events.by_uid(session, uid) for uid in sorted(new_uids | self._open)]
        unserved_events = [
            event
            for event in found_events
            if event is not None and event.type == "shard_failover" and "first_write_by" not in event.details
        ]
        self._open = {event.uid for event in unserved_events}
        for event in unserved_events:
            t = first_write(self._live.write_counts(event.details["promoted"]), event.time.timestamp())
            if t is not None or datetime.now(UTC) - event.time > MAX_WAIT:
                await self._record(event.uid, t)

    async def _record(self, uid: int, t: int | None) -> None:
        first_write_by = None if t is None else datetime.fromtimestamp(t, UTC).isoformat().replace("+00:00", "Z")
        async with self._store.begin() as session:
            event = await events.by_uid(session, uid)
            if event is not None:
                event.details = {**event.details, "first_write_by": first_write_by}
        self._open.discard(uid)
