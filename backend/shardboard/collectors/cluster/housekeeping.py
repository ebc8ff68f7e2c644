"""Deletes data that is older than the policy keeps, in small batches: events, outages, finished actions and restores, lines of the
audit log, and replies to requests with an idempotency key."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.access import audit
from shardboard.state.alerting import events
from shardboard.state.cluster import actions, cluster, idempotent_replies
from shardboard.state.data import restores
from shardboard.state.failures import outages
from shardboard.store.db import Store

log = logging.getLogger(__name__)

MIN_AGE = timedelta(hours=24)
"""Events that are younger are never deleted, whatever their number, so that a flood of one type does not hide how it started."""
DAY = timedelta(days=1)
BATCH_ROWS = 1_000
"""Maximum number of rows of each type that one transaction deletes, so that other transactions do not wait long."""
NEXT_BATCH_SECONDS, INTERVAL_SECONDS = 1.0, 600.0


class Housekeeping:
    """Deletes old data, in one task. The archive deletes metrics, because it knows their resolutions."""

    def __init__(self, store: Store, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = now

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            has_more = await self.delete_batch()
            await asyncio.sleep(NEXT_BATCH_SECONDS if has_more else INTERVAL_SECONDS)

    async def delete_batch(self) -> bool:
        """Delete one batch of old data. Returns whether there may be more."""
        now = self._now()
        async with self._store.begin() as session:
            policy = (await cluster.load(session)).rules
            deleted = [0]
            if policy.events_keep_days:
                cutoff = now - max(timedelta(days=policy.events_keep_days), MIN_AGE)
                deleted.append(await events.delete_before(session, cutoff, BATCH_ROWS))
                deleted.append(await outages.delete_before(session, cutoff, BATCH_ROWS))
            if policy.max_saved_events_per_type:
                deleted += await events.delete_surplus(
                    session, policy.max_saved_events_per_type, now - MIN_AGE, BATCH_ROWS
                )
                deleted.append(
                    await outages.delete_surplus(session, policy.max_saved_events_per_type, now - MIN_AGE, BATCH_ROWS)
                )
            if policy.actions_keep_days:
                cutoff = now - timedelta(days=policy.actions_keep_days)
                deleted.append(await actions.delete_before(session, cutoff, BATCH_ROWS))
                deleted.append(await restores.delete_before(session, cutoff, BATCH_ROWS))
            deleted.append(
                await idempotent_replies.delete_before(session, now - idempotent_replies.LIFETIME, BATCH_ROWS)
            )
            if policy.audit_keep_days:  # last, because no lock may be taken after that of the audit log
                deleted.append(await self._delete_audit(session, now - timedelta(days=policy.audit_keep_days)))
        if any(deleted):
            log.info(
                "housekeeping: deleted %s old events, outages, actions, restores, audit records, and stored responses",
                sum(deleted),
            )
        return max(deleted) >= BATCH_ROWS

    @staticmethod
    async def _delete_audit(session: AsyncSession, before: datetime) -> int:
        # The audit log records each deletion, so there is one a day instead of one for every few lines.
        if not await audit.has_older(session, before - DAY):
            return 0
        return await audit.delete_before(session, before, BATCH_ROWS)
