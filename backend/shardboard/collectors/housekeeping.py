"""Forgets what is older than the policy wants to keep, a little at a time: events, outages, finished actions, lines of the audit
trail."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.state import actions, audit, cluster, events, outages

log = logging.getLogger(__name__)

SPARED = timedelta(hours=24)
"""No event younger than this goes, whatever its number: a flood of one type must not hide how it began."""
DAY = timedelta(days=1)
ROWS = 1_000
"""Most that one transaction deletes of each kind, so that nobody waits long for it."""
AGAIN_SECONDS, EVERY_SECONDS = 1.0, 600.0


class Housekeeping:
    """One task. Metrics are forgotten by the archive, which knows their resolutions."""

    def __init__(self, store: Store, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            more = await self.sweep()
            await asyncio.sleep(AGAIN_SECONDS if more else EVERY_SECONDS)

    async def sweep(self) -> bool:
        """Delete some of what is too old; whether there may be more of it."""
        now = self._now()
        async with self._store.begin() as session:
            policy = (await cluster.load(session)).rules
            gone = [0]
            if policy.events_keep_days:
                before = now - max(timedelta(days=policy.events_keep_days), SPARED)
                gone.append(await events.forget_before(session, before, ROWS))
                gone.append(await outages.forget_before(session, before, ROWS))
            if policy.max_saved_events_per_type:
                gone += await events.forget_surplus(session, policy.max_saved_events_per_type, now - SPARED, ROWS)
                gone.append(await outages.forget_surplus(session, policy.max_saved_events_per_type, now - SPARED, ROWS))
            if policy.actions_keep_days:
                before = now - timedelta(days=policy.actions_keep_days)
                gone.append(await actions.forget_before(session, before, ROWS))
            if policy.audit_keep_days:  # at the end: nobody takes a lock behind that of the trail
                gone.append(await self._forget_audit(session, now - timedelta(days=policy.audit_keep_days)))
        if any(gone):
            log.info("%s old events, outages, actions and lines of the audit trail were deleted", sum(gone))
        return max(gone) >= ROWS

    @staticmethod
    async def _forget_audit(session: AsyncSession, before: datetime) -> int:
        # The trail tells of each removal: one a day, not one for every few lines.
        if not await audit.has_older(session, before - DAY):
            return 0
        return await audit.forget_before(session, before, ROWS)
