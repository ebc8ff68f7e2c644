"""Tells webhooks, mail addresses, Alertmanagers and syslog of events: each one in its order, at least once, and how it ended.
Or of the lines of the audit trail, in their order, at least once.

How far each was told is stored with the webhook, so a console that was killed goes on there. One that does not answer is tried
again, later and later, and holds up nobody else.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shardboard.bus import Bus
from shardboard.collectors.courier import Courier
from shardboard.db import Store
from shardboard.domain import alertmanager, backoff, webhooks
from shardboard.domain import audit as trail
from shardboard.driver.ports import HookFailed
from shardboard.errors import NotFound, Unavailable
from shardboard.state import audit, cluster, events
from shardboard.state import webhooks as state
from shardboard.state.cluster import Cluster
from shardboard.state.events import Event
from shardboard.state.webhooks import Webhook

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
SETTLED = timedelta(seconds=1)
"""Events are numbered before they are committed: a younger one may come before an older one for a moment."""
STALE = timedelta(hours=24)
"""What is older is not news: it is left out when a webhook answers again after a long time."""
AT_ONCE, LINES_AT_ONCE = 100, 500


class Notifier:
    """One task for all webhooks."""

    def __init__(
        self, store: Store, bus: Bus, courier: Courier, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._bus = bus
        self._courier = courier
        self._now = now
        self._told_again: dict[int, datetime] = {}
        """When each was reminded last of what goes on."""
        self._not_before: dict[int, datetime] = {}
        """When those that failed are tried again."""

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.look()
                await changes.until(lambda change: change[0] in ("event", "audit"), LOOK_SECONDS)
                await asyncio.sleep(SETTLED.total_seconds())
                changes.drain()

    async def look(self) -> None:
        """Tell each webhook what it does not know yet."""
        async with self._store.read() as session:
            known = await state.every(session)
        now = self._now()
        rows = [row.uid for row in known if row.enabled and (row.silent_until is None or row.silent_until <= now)]
        due = [uid for uid in rows if now >= self._not_before.get(uid, now)]
        await asyncio.gather(*(self._tell(uid) for uid in due))

    async def test(self, uid: int, by: str) -> None:
        """Raises NotFound, or Unavailable with what went wrong."""
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            raise NotFound("webhook_not_found", f"There is no webhook {uid}.")
        try:
            await self._courier.test(row, by, place, self._now())
        except HookFailed as failure:
            raise Unavailable("webhook_failed", str(failure)) from failure
        await self._note(uid, told_at=self._now())

    async def _tell(self, uid: int) -> None:
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            return
        try:
            await (self._tell_of_audit(row, place) if row.events == "audit" else self._tell_of_events(row, place))
        except HookFailed as failure:
            await self._failed(uid, str(failure))

    async def _tell_of_events(self, row: Webhook, place: Cluster) -> None:
        async with self._store.read() as session:
            fresh = await events.after(session, row.told_to, self._now() - SETTLED, AT_ONCE)
            open_ones = [await events.by_uid(session, each) for each in row.raised]
        gone = [each for each, event in zip(row.raised, open_ones, strict=True) if event is None]
        going_on = [event for event in open_ones if event is not None and event.ended_at is None]
        for event in open_ones:
            if event is not None and event.ended_at is not None:
                await self._deliver(row, event, "ended", place)
        for event in fresh:
            is_news = self._now() - event.time < STALE
            if is_news and webhooks.is_for(event, row.events, row.min_severity, row.silent_until):
                await self._deliver(row, event, webhooks.state(event), place)
        if fresh or gone:
            await self._note(row.uid, told_to=max((event.uid for event in fresh), default=0), ended=gone)
        if self._now() - self._told_again.get(row.uid, row.created_at) >= alertmanager.AGAIN:
            await self._courier.again(row, going_on, place, self._now())
            self._told_again[row.uid] = self._now()

    async def _tell_of_audit(self, row: Webhook, place: Cluster) -> None:
        """Of lines whatever their age: the copy that is kept elsewhere has no gaps but those below the severity."""
        async with self._store.read() as session:
            lines = await audit.after(session, row.told_to, LINES_AT_ONCE)
        wanted = [line for line in lines if webhooks.is_severe(trail.severity(line), row.min_severity)]
        if wanted:
            await self._courier.tell_of_audit(row, wanted, place)
            self._not_before.pop(row.uid, None)
        if lines:
            await self._note(row.uid, told_to=lines[-1].uid, told_at=self._now() if wanted else None)

    async def _deliver(self, row: Webhook, event: Event, what: webhooks.State, place: Cluster) -> None:
        await self._courier.tell(row, event, what, place, self._now())
        self._not_before.pop(row.uid, None)
        told_to = max(event.uid, row.told_to)
        if what == "raised":
            await self._note(row.uid, told_to=told_to, raised=event.uid, told_at=self._now())
        else:
            await self._note(row.uid, told_to=told_to, ended=[event.uid], told_at=self._now())

    async def _note(
        self,
        uid: int,
        *,
        told_to: int = 0,
        raised: int = 0,
        ended: list[int] | None = None,
        told_at: datetime | None = None,
    ) -> None:
        async with self._store.begin() as session:
            row = await state.by_uid(session, uid)
            if row is None:
                return
            row.told_to = max(row.told_to, told_to)
            if raised:
                row.raised = [*row.raised, raised]
            if ended:
                row.raised = [each for each in row.raised if each not in ended]
            if told_at is not None:
                row.last_told_at, row.failures, row.last_error = told_at, 0, ""

    async def _failed(self, uid: int, reason: str) -> None:
        async with self._store.begin() as session:
            row = await state.by_uid(session, uid)
            if row is None:
                return
            row.failures, row.last_error = row.failures + 1, reason
            failures, name = row.failures, row.name
        if failures == 1:
            log.warning("webhook %s: %s", name, reason)
        self._not_before[uid] = self._now() + timedelta(seconds=backoff.wait(failures))
