"""Webhooks get each event and each end of an alarm once and in order, even if they or the console are unavailable for a while."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.collectors.alerting.delivery import DeliveryClient
from shardboard.collectors.alerting.notifier import Notifier
from shardboard.console import Console
from shardboard.domain.alerting.mails import MailServer
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.errors import NotFound, Unavailable
from shardboard.services.access.authorization import Principal
from shardboard.services.alerting import acknowledgements
from shardboard.services.alerting import webhooks as service
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditContext
from shardboard.state.alerting import events, webhooks
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster import cluster as clusters

pytestmark = pytest.mark.store
ADMIN = Principal("ann", "admin")
URL = "https://hooks.example.org/a"


class FakeReceiver:
    """Records the messages that arrive. Requests to the URLs in `broken` fail."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        self.deliveries: list[str] = []
        self.broken: set[str] = set()
        self.alerts: list[tuple[str, list[dict[str, Any]]]] = []
        self.lines: list[int] = []
        self.hanging: set[str] = set()
        self.errors: dict[str, Exception] = {}

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        if url in self.hanging:
            await asyncio.Event().wait()
        if url in self.errors:
            raise self.errors[url]
        if url in self.broken:
            raise DeliveryFailed("It answered 500.")
        message = json.loads(body)
        if "lines" in message:
            self.lines += [line["uid"] for line in message["lines"]]
            self.deliveries.append(headers["X-Shardboard-Delivery"])
            return
        if isinstance(message, list):
            self.alerts.append((url, message))
            return
        self.got.append((message["state"], (message["event"] or {}).get("type", "")))
        self.deliveries.append(headers["X-Shardboard-Delivery"])


class FakeMailServer:
    """Records the mails that are sent."""

    def __init__(self) -> None:
        self.got: list[tuple[MailServer, EmailMessage]] = []

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        self.got.append((server, message))


class FakeSyslogServer:
    """Records the syslog messages that arrive. Requests fail while `broken` is true."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, bytes]] = []
        self.broken = False

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        if self.broken:
            raise DeliveryFailed("It cannot be reached.")
        self.got += [(url, ca, message) for message in messages]

    @property
    def uids(self) -> list[int]:
        return [int(message.partition(b' uid="')[2].partition(b'"')[0]) for _, _, message in self.got]


class FakeClock:
    def __init__(self) -> None:
        self.ahead = timedelta(seconds=5)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def receiver() -> FakeReceiver:
    return FakeReceiver()


@pytest.fixture
def mail_server() -> FakeMailServer:
    return FakeMailServer()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def syslog_server() -> FakeSyslogServer:
    return FakeSyslogServer()


@pytest.fixture
def notifier(
    console: Console,
    receiver: FakeReceiver,
    mail_server: FakeMailServer,
    syslog_server: FakeSyslogServer,
    clock: FakeClock,
) -> Notifier:
    return Notifier(console.store, console.bus, DeliveryClient(receiver, mail_server, syslog_server), clock)


async def add_webhook(console: Console, **fields: Any) -> int:
    values = {"name": "chat", "kind": "webhook", "url": URL, "secret": "", "events": "alarms"}
    values |= {"min_severity": "WARNING", "enabled": True}
    async with console.store.begin() as session:
        return (await service.create(session, values | fields, ADMIN)).uid


async def record_event(console: Console, type_: str = "alarm_clock", severity: str = "WARNING", **details: Any) -> int:
    async with console.store.begin() as session:
        event = events.record(session, type_, "It happened.", source="cluster", severity=severity, details=details)
        await session.flush()
        return event.uid


async def end_event(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        event = await session.get_one(Event, uid)
        event.ended_at, event.details = datetime.now(UTC), {}


async def webhook_row(console: Console, uid: int) -> Webhook:
    async with console.store.read() as session:
        webhook = await webhooks.by_uid(session, uid)
    assert webhook is not None
    return webhook


async def test_an_alarm_and_its_end_are_sent_once(console: Console, notifier: Notifier, receiver: FakeReceiver) -> None:
    await record_event(console, open=True)  # before the webhook exists
    uid = await add_webhook(console)
    alarm = await record_event(console, open=True)
    await record_event(console, "bdb_created", "INFO")
    for _ in range(2):
        await notifier.send_due()
    assert receiver.got == [("raised", "alarm_clock")]
    assert receiver.deliveries == [f"{uid}-{alarm}-raised"]
    assert (await webhook_row(console, uid)).raised == [alarm]
    await end_event(console, alarm)
    for _ in range(2):
        await notifier.send_due()
    assert receiver.got[1:] == [("ended", "alarm_clock")]
    assert (await webhook_row(console, uid)).raised == []


async def test_an_acknowledged_alarm_is_sent_again_when_the_acknowledgement_expires(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid = await add_webhook(console)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    async with console.store.begin() as session:
        await acknowledgements.acknowledge(session, alarm, ADMIN, note="", minutes=60, assigned_to=None)
    await notifier.send_due()
    assert receiver.got == [("raised", "alarm_clock")]
    clock.ahead += timedelta(hours=2)
    for _ in range(2):
        await notifier.send_due()
    assert receiver.got[1:] == [("raised", "alarm_clock")]
    assert len(set(receiver.deliveries)) == 2, "receivers must not discard it as a duplicate"
    assert (await webhook_row(console, uid)).raised == [alarm]
    await end_event(console, alarm)
    await notifier.send_due()
    assert receiver.got[2:] == [("ended", "alarm_clock")]


async def test_the_end_of_an_acknowledged_alarm_is_sent(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    await add_webhook(console)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    async with console.store.begin() as session:
        await acknowledgements.acknowledge(session, alarm, ADMIN, note="", minutes=60, assigned_to=None)
    await end_event(console, alarm)
    clock.ahead += timedelta(hours=2)
    await notifier.send_due()
    assert receiver.got == [("raised", "alarm_clock"), ("ended", "alarm_clock")]


async def test_events_are_sent_in_order(console: Console, notifier: Notifier, receiver: FakeReceiver) -> None:
    await add_webhook(console, events="all", min_severity="INFO")
    for number in range(5):
        await record_event(console, f"event_{number}", "INFO")
    ended_alarm = await record_event(console, open=True)
    await end_event(console, ended_alarm)
    await notifier.send_due()
    expected = [("event", f"event_{number}") for number in range(5)] + [("ended", "alarm_clock")]
    assert [each for each in receiver.got if each[1] != "webhook_created"] == expected


async def test_a_failed_delivery_is_retried_later_without_losing_events(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid, other = (
        await add_webhook(console),
        await add_webhook(console, url="https://other.example.org/", events="alarms"),
    )
    receiver.broken = {URL}
    first, second = await record_event(console, "alarm_a"), await record_event(console, "alarm_b")
    await notifier.send_due()
    await notifier.send_due()
    webhook = await webhook_row(console, uid)
    assert (webhook.failures, webhook.last_error) == (1, "It answered 500."), "it is not retried at once"
    assert receiver.got == [("event", "alarm_a"), ("event", "alarm_b")], "the other webhook got both events"
    receiver.broken, receiver.got, receiver.deliveries = set(), [], []
    clock.ahead += timedelta(minutes=2)
    await notifier.send_due()
    assert receiver.deliveries == [f"{uid}-{first}-event", f"{uid}-{second}-event"]
    recovered = await webhook_row(console, uid)
    assert (recovered.failures, recovered.last_error) == (0, "")
    assert recovered.last_sent_at is not None
    assert (await webhook_row(console, other)).failures == 0


async def test_a_new_console_continues_after_the_last_sent_event(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid = await add_webhook(console)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    await end_event(console, alarm)
    later = await record_event(console, "alarm_later")
    await Notifier(
        console.store, console.bus, DeliveryClient(receiver, FakeMailServer(), FakeSyslogServer()), clock
    ).send_due()
    assert receiver.deliveries == [f"{uid}-{alarm}-raised", f"{uid}-{alarm}-ended", f"{uid}-{later}-event"]


async def test_old_events_are_not_sent(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid = await add_webhook(console)
    await record_event(console, "alarm_old")
    clock.ahead += timedelta(hours=25)
    await notifier.send_due()
    assert receiver.got == []
    assert (await webhook_row(console, uid)).last_sent_uid > 0


async def test_events_while_a_webhook_is_disabled_are_not_sent(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    uid = await add_webhook(console, enabled=False)
    await record_event(console)
    await notifier.send_due()
    async with console.store.begin() as session:
        await service.change(session, uid, {"enabled": True}, ADMIN)
    await notifier.send_due()
    assert receiver.got == []
    await record_event(console, "alarm_new")
    await notifier.send_due()
    assert receiver.got == [("event", "alarm_new")]


async def test_a_deleted_alarm_is_removed_from_the_open_alarms(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    uid = await add_webhook(console)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Event, alarm))
    await notifier.send_due()
    assert (await webhook_row(console, uid)).raised == []


async def test_a_test_message_is_sent_at_once(console: Console, notifier: Notifier, receiver: FakeReceiver) -> None:
    uid = await add_webhook(console)
    await notifier.send_test(uid, "ann")
    assert receiver.got == [("test", "")]
    receiver.broken = {URL}
    with pytest.raises(Unavailable, match="It answered 500"):
        await notifier.send_test(uid, "ann")
    with pytest.raises(NotFound):
        await notifier.send_test(99, "ann")


ALERTMANAGER = {"kind": "alertmanager", "url": "http://127.0.0.1:9093"}


async def test_alertmanager_gets_an_open_alarm_repeatedly(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    await add_webhook(console, **ALERTMANAGER)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    [(url, [first])] = receiver.alerts
    assert url == "http://127.0.0.1:9093/api/v2/alerts"
    assert first["labels"] == {
        "alertname": "alarm_clock",
        "severity": "warning",
        "cluster": "shardboard.local",
        "event": str(alarm),
    }
    for _ in range(3):
        clock.ahead += timedelta(seconds=61)
        await notifier.send_due()
    assert len(receiver.alerts) == 4
    assert receiver.alerts[3][1][0]["endsAt"] > first["endsAt"]
    await end_event(console, alarm)
    await notifier.send_due()
    [last] = receiver.alerts[-1][1]
    assert (last["labels"], last["startsAt"]) == (first["labels"], first["startsAt"])
    assert last["endsAt"] < first["endsAt"], "the alarm has ended"
    clock.ahead += timedelta(seconds=61)
    await notifier.send_due()
    assert len(receiver.alerts) == 5


async def test_mails_are_sent_for_an_alarm_and_its_end(
    console: Console, notifier: Notifier, mail_server: FakeMailServer
) -> None:
    async with console.store.begin() as session:
        row = await clusters.load_for_update(session)
        row.config = {
            "smtp_host": "mail.example.org",
            "smtp_port": 587,
            "smtp_tls_mode": "starttls",
            "smtp_username": "us",
        }
    uid = await add_webhook(console, kind="email", url="mailto:ann@example.org, bob@example.org")
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    await end_event(console, alarm)
    await notifier.send_due()
    [(server, first), (_, last)] = mail_server.got
    assert server == MailServer("mail.example.org", 587, "starttls", "us", "shardboard@shardboard.local")
    assert (first["To"], first["From"]) == ("ann@example.org, bob@example.org", "shardboard@shardboard.local")
    assert first["Subject"] == "[WARNING] shardboard.local: It happened."
    assert last["Subject"] == "[ENDED] shardboard.local: It happened."
    assert last["In-Reply-To"] == first["Message-ID"]
    await notifier.send_test(uid, "ann")
    assert mail_server.got[-1][1].get_content() == "This is a test message, sent by ann.\n"


async def test_open_alarms_are_sent_after_a_mute(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid = await add_webhook(console)
    before = await record_event(console, "alarm_before", open=True)
    await notifier.send_due()
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 10}, ADMIN)
    await record_event(console, "alarm_still", open=True)
    ended_alarm = await record_event(console, "alarm_short", open=True)
    await end_event(console, ended_alarm)
    await end_event(console, before)
    await notifier.send_due()
    assert receiver.got == [("raised", "alarm_before")]
    clock.ahead += timedelta(minutes=11)
    await notifier.send_due()
    assert receiver.got[1:] == [("ended", "alarm_before"), ("raised", "alarm_still")]


async def test_alarms_that_ended_during_a_mute_are_not_sent(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    uid = await add_webhook(console)
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 60}, ADMIN)
    await end_event(console, await record_event(console, "alarm_short", open=True))
    open_alarm = await record_event(console, "alarm_still", open=True)
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 0}, ADMIN)
    await notifier.send_due()
    assert receiver.got == [("raised", "alarm_still")]
    assert (await webhook_row(console, uid)).raised == [open_alarm]


SYSLOG = {"kind": "syslog", "url": "syslog+tls://siem.example.org", "ca": ""}


async def add_audit_lines(console: Console, *outcomes: Any) -> None:
    async with console.store.begin() as session:
        for outcome in outcomes:
            await audit.add(session, AuditContext("192.0.2.1", "PUT", "/v1/cluster", "ann"), outcome)


async def test_syslog_gets_alarms_and_their_ends(
    console: Console, notifier: Notifier, syslog_server: FakeSyslogServer
) -> None:
    await add_webhook(console, **SYSLOG)
    alarm = await record_event(console, open=True)
    await notifier.send_due()
    await end_event(console, alarm)
    await notifier.send_due()
    assert syslog_server.uids == [alarm, alarm]
    assert [b'state="raised"' in syslog_server.got[0][2], b'state="ended"' in syslog_server.got[1][2]] == [True, True]
    assert syslog_server.got[0][:2] == ("syslog+tls://siem.example.org", "")


async def test_audit_lines_are_sent_in_order_and_complete(
    console: Console,
    notifier: Notifier,
    syslog_server: FakeSyslogServer,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shardboard.collectors.alerting.notifier.AUDIT_LINES_PER_BATCH", 2)
    await add_audit_lines(console, "done")
    uid = await add_webhook(console, **SYSLOG, events="audit", min_severity=None)
    assert (await webhook_row(console, uid)).min_severity == "INFO"
    first = (await webhook_row(console, uid)).last_sent_uid + 1
    await add_audit_lines(console, "done", "refused", "failed")
    await record_event(console)  # not a line of the audit log
    syslog_server.broken = True
    await notifier.send_due()
    assert (await webhook_row(console, uid)).failures == 1
    syslog_server.broken = False
    clock.ahead += timedelta(days=30)  # lines of any age are sent
    for _ in range(4):
        await notifier.send_due()
    assert syslog_server.uids == [first, first + 1, first + 2]
    assert [message[:5] for _, _, message in syslog_server.got] == [b"<110>", b"<108>", b"<108>"]
    assert (await webhook_row(console, uid)).failures == 0


async def test_audit_lines_are_filtered_by_severity(
    console: Console, notifier: Notifier, syslog_server: FakeSyslogServer
) -> None:
    uid = await add_webhook(console, **SYSLOG, events="audit", min_severity="WARNING")
    await add_audit_lines(console, "done", "refused", "done", "failed", "done")
    await notifier.send_due()
    assert [b'outcome="refused"' in syslog_server.got[0][2], b'outcome="failed"' in syslog_server.got[1][2]] == [
        True,
        True,
    ]
    assert len(syslog_server.got) == 2
    await notifier.send_due()
    assert len(syslog_server.got) == 2
    assert (await webhook_row(console, uid)).last_sent_uid > syslog_server.uids[-1], (
        "lines that do not match are passed"
    )


async def test_a_webhook_gets_audit_lines_as_json(console: Console, notifier: Notifier, receiver: FakeReceiver) -> None:
    uid = await add_webhook(console, events="audit", min_severity="INFO")
    await add_audit_lines(console, "done", "refused")
    await notifier.send_due()
    assert len(receiver.lines) == 2
    assert receiver.deliveries == [f"{uid}-audit-{receiver.lines[0]}-{receiver.lines[1]}"]
    assert receiver.got == []


async def test_a_webhook_that_changes_its_log_starts_with_new_entries(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    await add_audit_lines(console, *["done"] * 20)
    uid = await add_webhook(console, min_severity="INFO")
    await record_event(console, "alarm_before", open=True)
    await notifier.send_due()
    receiver.got.clear()
    async with console.store.begin() as session:
        await service.change(session, uid, {"events": "audit"}, ADMIN)
    await notifier.send_due()
    await add_audit_lines(console, "done")
    await notifier.send_due()
    assert (len(receiver.lines), receiver.got) == (1, [])
    async with console.store.begin() as session:
        await service.change(session, uid, {"events": "all"}, ADMIN)
    await record_event(console, "alarm_after")
    await notifier.send_due()
    assert receiver.got[-1] == ("event", "alarm_after")
    assert len(receiver.lines) == 1


OTHER = "https://other.example.org/"


async def run_until(notifier: Notifier, condition: Callable[[], bool]) -> None:
    """Run the loop until a condition holds."""
    task = asyncio.create_task(notifier.run())
    try:
        await wait_until(lambda: condition() or task.done())
        assert condition()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.collectors.alerting.notifier.POLL_SECONDS", 0.05)
    monkeypatch.setattr("shardboard.collectors.alerting.notifier.COMMIT_DELAY", timedelta(seconds=0.01))


@pytest.mark.usefixtures("_fast")
async def test_receiver_that_does_not_end_does_not_delay_others(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    receiver.hanging = {URL}
    hanging = await add_webhook(console)
    await add_webhook(console, url=OTHER)
    await record_event(console, "alarm_a")
    await run_until(notifier, lambda: receiver.got == [("event", "alarm_a")])

    async def remove_and_record() -> None:
        async with console.store.begin() as session:
            await service.remove(session, hanging, ADMIN)
        await record_event(console, "alarm_b")

    await remove_and_record()
    await run_until(notifier, lambda: receiver.got[-1:] == [("event", "alarm_b")] and hanging not in notifier._tasks)


@pytest.mark.usefixtures("_fast")
async def test_changed_receiver_is_used_at_once(console: Console, notifier: Notifier, receiver: FakeReceiver) -> None:
    receiver.hanging = {URL}
    uid = await add_webhook(console)
    await record_event(console, "alarm_a")
    task = asyncio.create_task(notifier.run())
    await wait_until(lambda: len(notifier._tasks) > 0)
    async with console.store.begin() as session:
        await service.change(session, uid, {"url": OTHER}, ADMIN)
    await wait_until(lambda: len(receiver.got) > 0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    "error",
    [
        UnicodeEncodeError("ascii", "ü", 0, 1, "ordinal not in range"),
        ValueError("wrong"),
        RuntimeError("wrong"),
        ConnectionResetError("looks like a failure of the store"),
    ],
)
async def test_unexpected_error_stays_with_its_receiver(
    console: Console, notifier: Notifier, receiver: FakeReceiver, error: Exception, clock: FakeClock
) -> None:
    receiver.errors = {URL: error}
    uid = await add_webhook(console)
    await add_webhook(console, url=OTHER)
    await record_event(console, "alarm_a")
    await notifier.send_due()
    await notifier.send_due()
    assert receiver.got == [("event", "alarm_a")]
    row = await webhook_row(console, uid)
    assert row.failures == 1, "it is not retried at once"
    assert row.last_error == f"Internal error: {type(error).__name__}. See the log of the console."
    with pytest.raises(Unavailable, match="Internal error"):
        await notifier.send_test(uid, "ann")
    receiver.errors = {}
    clock.ahead += timedelta(seconds=3)
    await notifier.send_due()
    assert (await webhook_row(console, uid)).failures == 0


async def test_unsuitable_row_stays_with_its_receiver(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    uid = await add_webhook(console)
    await add_webhook(console, url=OTHER)
    async with console.store.begin() as session:
        (await session.get_one(Webhook, uid)).min_severity = "UNKNOWN"
    await record_event(console, "alarm_a")
    await notifier.send_due()
    assert receiver.got == [("event", "alarm_a")]
    assert (await webhook_row(console, uid)).last_error.startswith("Internal error: ValueError")


async def test_error_of_a_receiver_is_shortened_and_printable(
    console: Console, notifier: Notifier, receiver: FakeReceiver
) -> None:
    receiver.errors = {URL: DeliveryFailed("a\n" + "b" * 10_000)}
    uid = await add_webhook(console)
    await record_event(console, "alarm_a")
    await notifier.send_due()
    assert (await webhook_row(console, uid)).last_error == "a?" + "b" * 498


async def test_alertmanager_gets_new_and_active_alarms_in_one_request(
    console: Console, notifier: Notifier, receiver: FakeReceiver, clock: FakeClock
) -> None:
    uid = await add_webhook(console, **ALERTMANAGER)
    active, over = await record_event(console, open=True), await record_event(console, open=True)
    await notifier.send_due()
    assert [len(alerts) for _, alerts in receiver.alerts] == [2]
    await end_event(console, over)
    new = [await record_event(console, f"alarm_{number}", open=True) for number in range(5)]
    clock.ahead += timedelta(seconds=61)
    await notifier.send_due()
    [_, (_, alerts)] = receiver.alerts
    assert [int(alert["labels"]["event"]) for alert in alerts] == [over, active, *new]
    row = await webhook_row(console, uid)
    assert (row.raised, row.failures) == ([active, *new], 0)


async def test_lost_store_ends_the_loop(console: Console, notifier: Notifier, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_webhook(console)
    await record_event(console, "alarm_a")

    async def fail(*_: object, **__: object) -> None:
        raise ConnectionResetError("the store is lost")

    monkeypatch.setattr(notifier, "_record_position", fail)
    with pytest.raises(ConnectionResetError):
        await notifier.send_due()
