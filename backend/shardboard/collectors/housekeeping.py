"""Forgets events, outages and finished actions that are older than the policy wants to keep, a little at a time."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shardboard.db import Store
from shardboard.state import actions, cluster, events, outages

log = logging.getLogger(__name__)

SPARED = timedelta(hours=24)
"""No event younger than this goes, whatever its number: a flood of one type must not hide how it began."""
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
        if any(gone):
            log.info("%s old events, outages and actions were deleted", sum(gone))
        return max(gone) >= ROWS
