"""Sends events to webhooks, mail addresses, Alertmanager and syslog: in order, at least once, including the end of each alarm.
Receivers of the audit log get its lines, in order, at least once.

The position of each receiver is stored with the webhook, so a console that was killed continues there. Receivers that fail are
retried with increasing delays, and do not delay other receivers.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shardboard.collectors.alerting.delivery import DeliveryClient
from shardboard.domain import backoff
from shardboard.domain.access import audit as trail
from shardboard.domain.alerting import alertmanager, webhooks
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.errors import NotFound, Unavailable
from shardboard.kit.bus import Bus
from shardboard.state.access import audit
from shardboard.state.alerting import events
from shardboard.state.alerting import webhooks as state
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
COMMIT_DELAY = timedelta(seconds=1)
"""Events get their uids before they are committed, so for a moment a later uid can be visible before an earlier one."""
MAX_EVENT_AGE = timedelta(hours=24)
"""Events that are older are not sent when a webhook is reachable again after a long time."""
EVENTS_PER_BATCH, AUDIT_LINES_PER_BATCH = 100, 500


class Notifier:
    """Sends to all webhooks, in one task."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        delivery_client: DeliveryClient,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._bus = bus
        self._courier = delivery_client
        self._now = now
        self._repeated_at: dict[int, datetime] = {}
        """When active alarms were last sent again, by webhook uid."""
        self._not_before: dict[int, datetime] = {}
        """When failed receivers are retried, by webhook uid."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.send_due()
                await changes.wait_until(lambda change: change[0] in ("event", "audit"), POLL_SECONDS)
                await asyncio.sleep(COMMIT_DELAY.total_seconds())
                changes.drain()

    async def send_due(self) -> None:
        """Send new events and lines to each webhook that is due."""
        async with self._store.read() as session:
            known = await state.list_all(session)
        now = self._now()
        rows = [row.uid for row in known if row.enabled and (row.silent_until is None or row.silent_until <= now)]
        due = [uid for uid in rows if now >= self._not_before.get(uid, now)]
        await asyncio.gather(*(self._send(uid) for uid in due))

    async def send_test(self, uid: int, by: str) -> None:
        """Send a test message. Raises NotFound, or Unavailable with the reason."""
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            raise NotFound("webhook_not_found", f"Webhook {uid} does not exist.")
        try:
            await self._courier.send_test(row, by, place, self._now())
        except DeliveryFailed as failure:
            raise Unavailable("webhook_failed", str(failure)) from failure
        await self._record_position(uid, sent_at=self._now())

    async def _send(self, uid: int) -> None:
        async with self._store.read() as session:
            row, place = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            return
        try:
            await (self._send_audit(row, place) if row.events == "audit" else self._send_events(row, place))
        except DeliveryFailed as failure:
            await self._record_failure(uid, str(failure))

    async def _send_events(self, row: Webhook, cluster: Cluster) -> None:
        async with self._store.read() as session:
            new_events = await events.list_after(session, row.told_to, self._now() - COMMIT_DELAY, EVENTS_PER_BATCH)
            open_ones = [await events.by_uid(session, each) for each in row.raised]
        gone = [each for each, event in zip(row.raised, open_ones, strict=True) if event is None]
        active = [event for event in open_ones if event is not None and event.ended_at is None]
        for event in open_ones:
            if event is not None and event.ended_at is not None:
                await self._deliver(row, event, "ended", cluster)
        for event in new_events:
            is_news = self._now() - event.time < MAX_EVENT_AGE
            if is_news and webhooks.matches_filter(event, row.events, row.min_severity, row.silent_until):
                await self._deliver(row, event, webhooks.state(event), cluster)
        if new_events or gone:
            await self._record_position(
                row.uid, last_sent_uid=max((event.uid for event in new_events), default=0), ended=gone
            )
        if self._now() - self._repeated_at.get(row.uid, row.created_at) >= alertmanager.RESEND_INTERVAL:
            await self._courier.resend_active(row, active, cluster, self._now())
            self._repeated_at[row.uid] = self._now()

    async def _send_audit(self, row: Webhook, cluster: Cluster) -> None:
        """Send lines of any age: the copy elsewhere must not have gaps except lines below the severity."""
        async with self._store.read() as session:
            lines = await audit.list_after(session, row.told_to, AUDIT_LINES_PER_BATCH)
        selected = [line for line in lines if webhooks.is_severe(trail.severity(line), row.min_severity)]
        if selected:
            await self._courier.send_audit_lines(row, selected, cluster)
            self._not_before.pop(row.uid, None)
        if lines:
            await self._record_position(row.uid, last_sent_uid=lines[-1].uid, sent_at=self._now() if selected else None)

    async def _deliver(self, row: Webhook, event: Event, what: webhooks.MessageKind, cluster: Cluster) -> None:
        await self._courier.send_event(row, event, what, cluster, self._now())
        self._not_before.pop(row.uid, None)
        told_to = max(event.uid, row.told_to)
        if what == "raised":
            await self._record_position(row.uid, last_sent_uid=told_to, raised=event.uid, sent_at=self._now())
        else:
            await self._record_position(row.uid, last_sent_uid=told_to, ended=[event.uid], sent_at=self._now())

    async def _record_position(
        self,
        uid: int,
        *,
        last_sent_uid: int = 0,
        raised: int = 0,
        ended: list[int] | None = None,
        sent_at: datetime | None = None,
    ) -> None:
        async with self._store.begin() as session:
            row = await state.by_uid(session, uid)
            if row is None:
                return
            row.told_to = max(row.told_to, last_sent_uid)
            if raised:
                row.raised = [*row.raised, raised]
            if ended:
                row.raised = [each for each in row.raised if each not in ended]
            if sent_at is not None:
                row.last_told_at, row.failures, row.last_error = sent_at, 0, ""

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
