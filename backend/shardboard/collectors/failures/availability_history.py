"""Counts for how long each database was served, failed, or in an unknown state, and adds it to the figures of the month.

The end of the counted time is stored with the figures. A console that was restarted, or another leader, continues there.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.metrics.service_seconds import ServiceSeconds
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.failures import availability_history as history
from shardboard.domain.failures.outages import unserved_spans
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


@dataclass(frozen=True)
class _Context:
    """Data that one step uses for all databases."""

    now: int
    has_canaries: bool
    outages_by_bdb: Mapping[int, Sequence[Outage]]


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
        seconds, first = self._service.seconds, row.counted_until
        # While an administrator has stopped the traffic, the closed endpoint is not a failure.
        states = {
            t: second.states[bdb.uid]
            for t, second in seconds.items()
            if bdb.uid in second.states and not bdb.traffic_stopped
        }
        spans = unserved_spans(context.outages_by_bdb.get(bdb.uid, ()))
        failed = history.failed_intervals(spans, seconds, first, context.now - history.SETTLED_SECONDS)
        last = history.countable_until(first, context.now, states, failed)
        if last > first:
            counted = history.count(first, last, states, failed, has_canaries=context.has_canaries)
            availability_history.add(session, row, last, counted)
