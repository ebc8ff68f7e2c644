"""Sends events to webhooks, mail addresses, Alertmanager and syslog: in order, at least once, including the end of each alarm.
Receivers of the audit log get its lines, in order, at least once.

The position of each receiver is stored with the webhook, so a console that was killed continues there. Each receiver has its own
task, so a slow receiver does not delay others. Receivers that fail, for whatever reason, are retried with increasing delays.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from shardboard.collectors.alerting.delivery import DeliveryClient
from shardboard.domain import backoff
from shardboard.domain.access import audit as trail
from shardboard.domain.acknowledgement import expired_between
from shardboard.domain.alerting import alertmanager, webhooks
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.errors import NotFound, Unavailable
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.state.access import audit
from shardboard.state.alerting import events
from shardboard.state.alerting import webhooks as state
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster
from shardboard.store.db import Store
from shardboard.store.transient_errors import is_transient

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
COMMIT_DELAY = timedelta(seconds=1)
"""Events get their uids before they are committed, so for a moment a later uid can be visible before an earlier one."""
MAX_EVENT_AGE = timedelta(hours=24)
"""Events that are older are not sent when a webhook is reachable again after a long time."""
EVENTS_PER_BATCH, AUDIT_LINES_PER_BATCH = 100, 500


class Notifier:
    """Sends to all webhooks, with one task for each."""

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
        self._settings: dict[int, tuple[object, ...]] = {}
        """Settings of the active webhooks when they were last read, by uid."""
        self._tasks: Tasks[int] = Tasks()
        """Running deliveries, by webhook uid."""
        self._store_failure: Exception | None = None
        """Failure of the store during a delivery, which ends the loop."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            async with self._tasks.cancelled_at_exit():
                while True:
                    await self._start_due()
                    await changes.wait_until(lambda change: change[0] in ("event", "audit"), POLL_SECONDS)
                    await asyncio.sleep(COMMIT_DELAY.total_seconds())
                    changes.drain()

    async def send_due(self) -> None:
        """Send new events and lines to each webhook that is due, and wait until they are sent."""
        await self._start_due()
        await asyncio.gather(*self._tasks.values())
        self._raise_store_failure()

    async def _start_due(self) -> None:
        """Start a delivery to each webhook that is due and has none. Cancel deliveries to webhooks that were changed, muted or
        removed."""
        self._raise_store_failure()
        async with self._store.read() as session:
            rows = await state.list_all(session)
        now = self._now()
        settings = {row.uid: _settings(row) for row in rows if _is_active(row, now)}
        for uid, previous in self._settings.items():
            if settings.get(uid) != previous:
                self._tasks.cancel(uid)
                self._not_before.pop(uid, None)
        self._settings = settings
        for uid in settings:
            if uid not in self._tasks and now >= self._not_before.get(uid, now):
                self._tasks.start(uid, self._attempt(uid))

    def _raise_store_failure(self) -> None:
        failure, self._store_failure = self._store_failure, None
        if failure is not None:
            raise failure

    async def send_test(self, uid: int, sender: str) -> None:
        """Send a test message. Raises NotFound, or Unavailable with the reason."""
        async with self._store.read() as session:
            row, cluster_row = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            raise NotFound("webhook_not_found", f"Webhook {uid} does not exist.")
        try:
            await self._courier.send_test(row, sender, cluster_row, self._now())
        except DeliveryFailed as failure:
            raise Unavailable("webhook_failed", str(failure)) from failure
        self._not_before.pop(uid, None)
        await self._record_position(uid, sent_at=self._now())

    async def _attempt(self, uid: int) -> None:
        """Send to one webhook. Failures are recorded and affect only this webhook, unless the store failed."""
        try:
            try:
                await self._send(uid)
            except DeliveryFailed as failure:
                await self._record_failure(uid, str(failure))
            except Exception as error:
                if is_transient(error):
                    raise
                log.exception("webhook %s: delivery failed", uid)
                await self._record_failure(uid, f"Internal error: {type(error).__name__}. See the log of the console.")
        except Exception as error:
            self._store_failure = error

    async def _send(self, uid: int) -> None:
        async with self._store.read() as session:
            row, cluster_row = await state.by_uid(session, uid), await cluster.load(session)
        if row is None:
            return
        await (self._send_audit(row, cluster_row) if row.events == "audit" else self._send_events(row, cluster_row))

    async def _send_events(self, row: Webhook, cluster: Cluster) -> None:
        async with self._store.read() as session:
            new_events = await events.list_after(
                session, row.last_sent_uid, self._now() - COMMIT_DELAY, EVENTS_PER_BATCH
            )
            open_events = [await events.by_uid(session, each) for each in row.raised]
        missing = [each for each, event in zip(row.raised, open_events, strict=True) if event is None]
        active_alarms = [event for event in open_events if event is not None and event.ended_at is None]
        ended_alarms = [event for event in open_events if event is not None and event.ended_at is not None]
        unsent_events = [
            event
            for event in new_events
            if self._now() - event.time < MAX_EVENT_AGE
            and webhooks.matches_filter(event, row.events, row.min_severity, row.muted_until)
        ]
        if row.kind == "alertmanager":
            await self._send_alerts(row, ended_alarms, active_alarms, unsent_events, cluster)
        else:
            for event in ended_alarms:
                await self._deliver(row, event, "ended", cluster)
            await self._send_reminders(row, active_alarms, cluster)
            for event in unsent_events:
                await self._deliver(row, event, webhooks.state(event), cluster)
        if new_events or missing:
            await self._record_position(
                row.uid, last_sent_uid=max((event.uid for event in new_events), default=0), ended=missing
            )

    async def _send_reminders(self, row: Webhook, active_alarms: Sequence[Event], cluster: Cluster) -> None:
        """Send active alarms again whose acknowledgements have expired since the last reminder."""
        now, reminded_at = self._now(), row.reminded_at or row.created_at
        due = [event for event in active_alarms if expired_between(event.acknowledgement, reminded_at, now)]
        for event in due:
            await self._deliver(row, event, "raised", cluster)
        if due:
            await self._record_position(row.uid, reminded_at=now)

    async def _send_alerts(
        self, row: Webhook, ended: list[Event], active: list[Event], news: list[Event], cluster: Cluster
    ) -> None:
        """Send alarms to Alertmanager in one request, with active ones that are due again, so that new ones do not delay them."""
        now = self._now()
        is_due = now - self._repeated_at.get(row.uid, row.created_at) >= alertmanager.RESEND_INTERVAL
        alerts = [*ended, *(active if is_due else ()), *news]
        if alerts:
            await self._courier.send_alerts(row, alerts, cluster, now)
            self._not_before.pop(row.uid, None)
            raised_uids = [event.uid for event in news if webhooks.state(event) == "raised"]
            await self._record_position(
                row.uid,
                last_sent_uid=max((event.uid for event in news), default=0),
                raised=raised_uids,
                ended=[event.uid for event in ended],
                sent_at=now,
            )
        if is_due:
            self._repeated_at[row.uid] = now

    async def _send_audit(self, row: Webhook, cluster: Cluster) -> None:
        """Send lines of any age: the copy elsewhere must not have gaps except lines below the severity."""
        async with self._store.read() as session:
            lines = await audit.list_after(session, row.last_sent_uid, AUDIT_LINES_PER_BATCH)
        selected = [line for line in lines if webhooks.is_severe(trail.severity(line), row.min_severity)]
        if selected:
            await self._courier.send_audit_lines(row, selected, cluster)
            self._not_before.pop(row.uid, None)
        if lines:
            await self._record_position(row.uid, last_sent_uid=lines[-1].uid, sent_at=self._now() if selected else None)

    async def _deliver(self, row: Webhook, event: Event, what: webhooks.MessageKind, cluster: Cluster) -> None:
        await self._courier.send_event(row, event, what, cluster)
        self._not_before.pop(row.uid, None)
        last_sent_uid = max(event.uid, row.last_sent_uid)
        if what == "raised":
            await self._record_position(row.uid, last_sent_uid=last_sent_uid, raised=[event.uid], sent_at=self._now())
        else:
            await self._record_position(row.uid, last_sent_uid=last_sent_uid, ended=[event.uid], sent_at=self._now())

    async def _record_position(
        self,
        uid: int,
        *,
        last_sent_uid: int = 0,
        raised: Sequence[int] = (),
        ended: Sequence[int] = (),
        sent_at: datetime | None = None,
        reminded_at: datetime | None = None,
    ) -> None:
        async with self._store.begin() as session:
            row = await state.by_uid(session, uid)
            if row is None:
                return
            row.last_sent_uid = max(row.last_sent_uid, last_sent_uid)
            if raised:
                row.raised = [*row.raised, *(each for each in raised if each not in row.raised)]
            if ended:
                row.raised = [each for each in row.raised if each not in ended]
            if reminded_at is not None:
                row.reminded_at = reminded_at
            if sent_at is not None:
                row.last_sent_at, row.failures, row.last_error = sent_at, 0, ""

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


def _is_active(row: Webhook, now: datetime) -> bool:
    return row.enabled and (row.muted_until is None or row.muted_until <= now)


def _settings(row: Webhook) -> tuple[object, ...]:
    """Return the settings of a webhook that affect deliveries."""
    return (row.url, row.secret, row.ca, row.events, row.min_severity, row.muted_until)
