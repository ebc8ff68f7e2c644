"""Counts for how long each database was served, failed, or in an unknown state, and adds it to the figures of the month.

The end of the counted time is stored with the figures. A console that was restarted, or another leader, continues there.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.metrics.service_seconds import ServiceSeconds
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.failures import availability_history as history
from shardboard.domain.failures.availability_history import TrafficChange
from shardboard.domain.failures.incident_start import ms
from shardboard.domain.failures.outages import unserved_spans
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.failures import availability_history, outages
from shardboard.state.failures.availability_history import AvailabilityMonth
from shardboard.state.failures.outages import Outage
from shardboard.store.db import Store

INTERVAL_SECONDS = 5.0
MAX_OUTAGES = 5_000
"""Maximum number of outages that are read at once: the newest ones."""
MAX_TRAFFIC_CHANGES = 5_000


@dataclass(frozen=True)
class _Context:
    """Data that one step uses for all databases."""

    now: int
    has_canaries: bool
    outages_by_bdb: Mapping[int, Sequence[Outage]]
    traffic_changes: Mapping[int, Sequence[tuple[int, TrafficChange]]]
    """Events since the first second that can be counted, by database uid, in order."""
    first_ms: int


class AvailabilityCollector:
    """Counts the seconds of all databases, in one task of the leading console."""

    def __init__(self, store: Store, service: ServiceSeconds, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._service = service
        self._clock = clock

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.step()
            await asyncio.sleep(INTERVAL_SECONDS)

    async def step(self) -> None:
        """Count all seconds that can be counted now. Reading and writing in one transaction prevents that two leaders count one."""
        now = int(self._clock())
        async with self._store.begin() as session:
            newest = await availability_history.newest_by_bdb(session)
            first = min((row.counted_until for row in newest.values()), default=now)
            context = _Context(
                now,
                (await cluster.load(session)).rules.canary_writes_per_second > 0,
                await outages.by_bdb_until(session, first * 1000, MAX_OUTAGES),
                await _traffic_changes(session, list(newest), first, now),
                first * 1000,
            )
            for bdb in await bdbs.list_all(session):
                row = newest.get(bdb.uid)
                if row is not None and row.counted_until < int(bdb.created_at.timestamp()):
                    # A console of an earlier release deleted the previous database with this uid.
                    await availability_history.delete_for_bdb(session, bdb.uid)
                elif row is not None:
                    self._count(session, bdb, row, context)
                elif bdb.status in IN_SERVICE and bdb.verification_action_uid is None:
                    availability_history.start(session, bdb.uid, now)

    def _count(self, session: AsyncSession, bdb: Bdb, row: AvailabilityMonth, context: _Context) -> None:
        seconds, first, has_canaries = self._service.seconds, row.counted_until, context.has_canaries
        stopped = history.stopped_intervals(
            context.traffic_changes.get(bdb.uid, ()), context.first_ms, is_stopped=bdb.traffic_stopped
        )
        reported = context.outages_by_bdb.get(bdb.uid, ())
        for outage in reported:
            if outage.is_open and (until := history.watched_until(outage, seconds, stopped)) is not None:
                outage.watched_until_ms = until
        failed = history.failed_intervals(
            unserved_spans(reported),
            seconds,
            first,
            context.now - history.SETTLED_SECONDS,
            has_canaries=has_canaries,
            stopped=stopped,
        )
        states = history.states_with_traffic(bdb.uid, seconds, stopped)
        last = history.countable_until(first, context.now, states, failed)
        if last > first:
            counted = history.count(first, last, states, failed, has_canaries=has_canaries)
            availability_history.add(session, row, last, counted)


async def _traffic_changes(
    session: AsyncSession, bdb_uids: Collection[int], first: int, now: int
) -> dict[int, list[tuple[int, TrafficChange]]]:
    changes: dict[int, list[tuple[int, TrafficChange]]] = defaultdict(list)
    types = [change.value for change in TrafficChange]
    period = (datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(now + 1, UTC))
    for event in await events.list_for_bdbs(session, types, bdb_uids, *period, limit=MAX_TRAFFIC_CHANGES):
        if event.bdb_uid is not None:
            changes[event.bdb_uid].append((ms(event.time), TrafficChange(event.type)))
    return changes
