"""Sends events to webhooks, mail addresses, Alertmanager and syslog: in order, at least once, including the end of each alarm.
Receivers of the audit log get its lines, in order, at least once.

The position of each receiver is stored with the webhook, so a console that was killed continues there. Receivers that fail are
retried with increasing delays, and do not delay other receivers.
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
"""Events get their uids before they are committed, so for a moment a later uid can be visible before an earlier one."""
STALE = timedelta(hours=24)
"""Events that are older are not sent when a webhook is reachable again after a long time."""
AT_ONCE, LINES_AT_ONCE = 100, 500


class Notifier:
    """Sends to all webhooks, in one task."""

    def __init__(
        self, store: Store, bus: Bus, courier: Courier, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._bus = bus
        self._courier = courier
        self._now = now
        self._repeated_at: dict[int, datetime] = {}
        """When active alarms were last sent again, by webhook uid."""
        self._not_before: dict[int, datetime] = {}
        """When failed receivers are retried, by webhook uid."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.look()
                await changes.until(lambda change: change[0] in ("event", "audit"), LOOK_SECONDS)
                await asyncio.sleep(SETTLED.total_seconds())
                changes.drain()

    async def look(self) -> None:
        """Send new events and lines to each webhook that is due."""
        async with self._store.read() as session:
            known = await state.every(session)
        now = self._now()
        rows = [row.uid for row in known if row.enabled and (row.silent_until is None or row.silent_until <= now)]
        due = [uid for uid in rows if now >= self._not_before.get(uid, now)]
        await asyncio.gather(*(self._send(uid) for uid in due))

    async def test(self, uid: int, by: str) -> None:
        """Send a test message. Raises NotFound, or Unavailable with the reason."""
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            raise NotFound("webhook_not_found", f"Webhook {uid} does not exist.")
        try:
            await self._courier.test(row, by, place, self._now())
        except HookFailed as failure:
            raise Unavailable("webhook_failed", str(failure)) from failure
        await self._record_position(uid, told_at=self._now())

    async def _send(self, uid: int) -> None:
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            return
        try:
            await (self._send_audit(row, place) if row.events == "audit" else self._send_events(row, place))
        except HookFailed as failure:
            await self._record_failure(uid, str(failure))

    async def _send_events(self, row: Webhook, place: Cluster) -> None:
        async with self._store.read() as session:
            new_events = await events.after(session, row.told_to, self._now() - SETTLED, AT_ONCE)
            open_ones = [await events.by_uid(session, each) for each in row.raised]
        gone = [each for each, event in zip(row.raised, open_ones, strict=True) if event is None]
        active = [event for event in open_ones if event is not None and event.ended_at is None]
        for event in open_ones:
            if event is not None and event.ended_at is not None:
                await self._deliver(row, event, "ended", place)
        for event in new_events:
            is_news = self._now() - event.time < STALE
            if is_news and webhooks.is_for(event, row.events, row.min_severity, row.silent_until):
                await self._deliver(row, event, webhooks.state(event), place)
        if new_events or gone:
            await self._record_position(
                row.uid, told_to=max((event.uid for event in new_events), default=0), ended=gone
            )
        if self._now() - self._repeated_at.get(row.uid, row.created_at) >= alertmanager.AGAIN:
            await self._courier.again(row, active, place, self._now())
            self._repeated_at[row.uid] = self._now()

    async def _send_audit(self, row: Webhook, place: Cluster) -> None:
        """Send lines of any age: the copy elsewhere must not have gaps except lines below the severity."""
        async with self._store.read() as session:
            lines = await audit.after(session, row.told_to, LINES_AT_ONCE)
        selected = [line for line in lines if webhooks.is_severe(trail.severity(line), row.min_severity)]
        if selected:
            await self._courier.tell_of_audit(row, selected, place)
            self._not_before.pop(row.uid, None)
        if lines:
            await self._record_position(row.uid, told_to=lines[-1].uid, told_at=self._now() if selected else None)

    async def _deliver(self, row: Webhook, event: Event, what: webhooks.State, place: Cluster) -> None:
        await self._courier.tell(row, event, what, place, self._now())
        self._not_before.pop(row.uid, None)
        told_to = max(event.uid, row.told_to)
        if what == "raised":
            await self._record_position(row.uid, told_to=told_to, raised=event.uid, told_at=self._now())
        else:
            await self._record_position(row.uid, told_to=told_to, ended=[event.uid], told_at=self._now())

    async def _record_position(
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

    async def _record_failure(self, uid: int, reason: str) -> None:
        async with self._store.begin() as session:
            row = await state.by_uid(session, uid)
            if row is None:
                return
            row.failures, row.last_error = row.failures + 1, reason
            failures, name = row.failures, row.name
        if failures == 1:
            log.warning("webhook %s: %s", name, reason)
        self._not_before[uid] = self._now() + timedelta(seconds=backoff.wait(failures))
