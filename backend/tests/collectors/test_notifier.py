"""Webhooks are told each event once in its order, and how it ended, also when they or the console are away for a while."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from shardboard.collectors.courier import Courier
from shardboard.collectors.notifier import Notifier
from shardboard.console import Console
from shardboard.domain.mails import MailServer
from shardboard.driver.ports import HookFailed
from shardboard.errors import NotFound, Unavailable
from shardboard.services import webhooks as service
from shardboard.services.users import Principal
from shardboard.state import audit, events, webhooks
from shardboard.state import cluster as clusters
from shardboard.state.audit import Deed
from shardboard.state.events import Event
from shardboard.state.webhooks import Webhook

pytestmark = pytest.mark.store
ADMIN = Principal("ann", "admin")
URL = "https://hooks.example.org/a"


class Receiver:
    """Keeps what arrives; `broken` URLs refuse."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str]] = []
        self.deliveries: list[str] = []
        self.broken: set[str] = set()
        self.alerts: list[tuple[str, list[dict[str, Any]]]] = []
        self.lines: list[int] = []

    async def send(self, url: str, body: bytes, headers: Mapping[str, str], ca: str = "") -> None:
        if url in self.broken:
            raise HookFailed("It answered 500.")
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


class Post:
    """Keeps mails."""

    def __init__(self) -> None:
        self.got: list[tuple[MailServer, EmailMessage]] = []

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        self.got.append((server, message))


class Siem:
    """Keeps messages of syslog."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, bytes]] = []
        self.broken = False

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        if self.broken:
            raise HookFailed("It cannot be reached.")
        self.got += [(url, ca, message) for message in messages]

    @property
    def uids(self) -> list[int]:
        return [int(message.partition(b' uid="')[2].partition(b'"')[0]) for _, _, message in self.got]


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta(seconds=5)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def siem() -> Siem:
    return Siem()


@pytest.fixture
def notifier(console: Console, receiver: Receiver, post: Post, siem: Siem, clock: Clock) -> Notifier:
    return Notifier(console.store, console.bus, Courier(receiver, post, siem), clock)


async def add(console: Console, **fields: Any) -> int:
    given = {"name": "chat", "kind": "webhook", "url": URL, "secret": "", "events": "alarms"}
    given |= {"min_severity": "WARNING", "enabled": True}
    async with console.store.begin() as session:
        return (await service.create(session, given | fields, ADMIN)).uid


async def happens(console: Console, type_: str = "alarm_clock", severity: str = "WARNING", **details: Any) -> int:
    async with console.store.begin() as session:
        event = events.record(session, type_, "It happened.", source="cluster", severity=severity, details=details)
        await session.flush()
        return event.uid


async def ends(console: Console, uid: int) -> None:
    async with console.store.begin() as session:
        event = await session.get_one(Event, uid)
        event.ended_at, event.details = datetime.now(UTC), {}


async def row(console: Console, uid: int) -> Webhook:
    async with console.store.read() as session:
        found = await webhooks.by_uid(session, uid)
    assert found is not None
    return found


async def test_an_alarm_and_its_end(console: Console, notifier: Notifier, receiver: Receiver) -> None:
    await happens(console, open=True)  # before there was anybody to tell
    uid = await add(console)
    alarm = await happens(console, open=True)
    await happens(console, "bdb_created", "INFO")
    for _ in range(2):
        await notifier.look()
    assert receiver.got == [("raised", "alarm_clock")]
    assert receiver.deliveries == [f"{uid}-{alarm}-raised"]
    assert (await row(console, uid)).raised == [alarm]
    await ends(console, alarm)
    for _ in range(2):
        await notifier.look()
    assert receiver.got[1:] == [("ended", "alarm_clock")]
    assert (await row(console, uid)).raised == []


async def test_all_events_in_their_order(console: Console, notifier: Notifier, receiver: Receiver) -> None:
    await add(console, events="all", min_severity="INFO")
    for number in range(5):
        await happens(console, f"event_{number}", "INFO")
    short = await happens(console, open=True)
    await ends(console, short)
    await notifier.look()
    told = [("event", f"event_{number}") for number in range(5)] + [("ended", "alarm_clock")]
    assert [each for each in receiver.got if each[1] != "webhook_created"] == told


async def test_who_does_not_answer_is_tried_again_later_and_misses_nothing(
    console: Console, notifier: Notifier, receiver: Receiver, clock: Clock
) -> None:
    uid, other = await add(console), await add(console, url="https://other.example.org/", events="alarms")
    receiver.broken = {URL}
    first, second = await happens(console, "alarm_a"), await happens(console, "alarm_b")
    await notifier.look()
    await notifier.look()
    broken = await row(console, uid)
    assert (broken.failures, broken.last_error) == (1, "It answered 500."), "it is not tried again at once"
    assert receiver.got == [("event", "alarm_a"), ("event", "alarm_b")], "the other one was told meanwhile"
    receiver.broken, receiver.got, receiver.deliveries = set(), [], []
    clock.ahead += timedelta(minutes=2)
    await notifier.look()
    assert receiver.deliveries == [f"{uid}-{first}-event", f"{uid}-{second}-event"]
    well = await row(console, uid)
    assert (well.failures, well.last_error) == (0, "")
    assert well.last_told_at is not None
    assert (await row(console, other)).failures == 0


async def test_a_new_console_goes_on_where_the_last_one_was_killed(
    console: Console, notifier: Notifier, receiver: Receiver, clock: Clock
) -> None:
    uid = await add(console)
    alarm = await happens(console, open=True)
    await notifier.look()
    await ends(console, alarm)
    later = await happens(console, "alarm_later")
    await Notifier(console.store, console.bus, Courier(receiver, Post(), Siem()), clock).look()
    assert receiver.deliveries == [f"{uid}-{alarm}-raised", f"{uid}-{alarm}-ended", f"{uid}-{later}-event"]


async def test_old_news_is_left_out(console: Console, notifier: Notifier, receiver: Receiver, clock: Clock) -> None:
    uid = await add(console)
    await happens(console, "alarm_old")
    clock.ahead += timedelta(hours=25)
    await notifier.look()
    assert receiver.got == []
    assert (await row(console, uid)).told_to > 0


async def test_what_happened_while_it_was_off_is_not_told(
    console: Console, notifier: Notifier, receiver: Receiver
) -> None:
    uid = await add(console, enabled=False)
    await happens(console)
    await notifier.look()
    async with console.store.begin() as session:
        await service.change(session, uid, {"enabled": True}, ADMIN)
    await notifier.look()
    assert receiver.got == []
    await happens(console, "alarm_new")
    await notifier.look()
    assert receiver.got == [("event", "alarm_new")]


async def test_an_alarm_that_was_forgotten_is_not_asked_for_for_ever(
    console: Console, notifier: Notifier, receiver: Receiver
) -> None:
    uid = await add(console)
    alarm = await happens(console, open=True)
    await notifier.look()
    async with console.store.begin() as session:
        await session.delete(await session.get_one(Event, alarm))
    await notifier.look()
    assert (await row(console, uid)).raised == []


async def test_a_test_message(console: Console, notifier: Notifier, receiver: Receiver) -> None:
    uid = await add(console)
    await notifier.test(uid, "ann")
    assert receiver.got == [("test", "")]
    receiver.broken = {URL}
    with pytest.raises(Unavailable, match="It answered 500"):
        await notifier.test(uid, "ann")
    with pytest.raises(NotFound):
        await notifier.test(99, "ann")


AM = {"kind": "alertmanager", "url": "http://127.0.0.1:9093"}


async def test_alertmanager_is_told_again_while_it_goes_on(
    console: Console, notifier: Notifier, receiver: Receiver, clock: Clock
) -> None:
    await add(console, **AM)
    alarm = await happens(console, open=True)
    await notifier.look()
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
        await notifier.look()
    assert len(receiver.alerts) == 4
    assert receiver.alerts[3][1][0]["endsAt"] > first["endsAt"]
    await ends(console, alarm)
    await notifier.look()
    [last] = receiver.alerts[-1][1]
    assert (last["labels"], last["startsAt"]) == (first["labels"], first["startsAt"])
    assert last["endsAt"] < first["endsAt"], "it is over"
    clock.ahead += timedelta(seconds=61)
    await notifier.look()
    assert len(receiver.alerts) == 5


async def test_mail_to_people(console: Console, notifier: Notifier, post: Post) -> None:
    async with console.store.begin() as session:
        row = await clusters.load_for_update(session)
        row.config = {
            "smtp_host": "mail.example.org",
            "smtp_port": 587,
            "smtp_tls_mode": "starttls",
            "smtp_username": "us",
        }
    uid = await add(console, kind="email", url="mailto:ann@example.org, bob@example.org")
    alarm = await happens(console, open=True)
    await notifier.look()
    await ends(console, alarm)
    await notifier.look()
    [(server, begun), (_, over)] = post.got
    assert server == MailServer("mail.example.org", 587, "starttls", "us", "shardboard@shardboard.local")
    assert (begun["To"], begun["From"]) == ("ann@example.org, bob@example.org", "shardboard@shardboard.local")
    assert begun["Subject"] == "[WARNING] shardboard.local: It happened."
    assert over["Subject"] == "[ENDED] shardboard.local: It happened."
    assert over["In-Reply-To"] == begun["Message-ID"]
    await notifier.test(uid, "ann")
    assert post.got[-1][1].get_content() == "This is a test message, sent by ann.\n"


async def test_who_is_silent_is_told_afterwards_of_what_still_goes_on(
    console: Console, notifier: Notifier, receiver: Receiver, clock: Clock
) -> None:
    uid = await add(console)
    before = await happens(console, "alarm_before", open=True)
    await notifier.look()
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 10}, ADMIN)
    await happens(console, "alarm_still", open=True)
    short = await happens(console, "alarm_short", open=True)
    await ends(console, short)
    await ends(console, before)
    await notifier.look()
    assert receiver.got == [("raised", "alarm_before")]
    clock.ahead += timedelta(minutes=11)
    await notifier.look()
    assert receiver.got[1:] == [("ended", "alarm_before"), ("raised", "alarm_still")]


async def test_a_silence_that_is_ended_early_was_one(console: Console, notifier: Notifier, receiver: Receiver) -> None:
    uid = await add(console)
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 60}, ADMIN)
    await ends(console, await happens(console, "alarm_short", open=True))
    still = await happens(console, "alarm_still", open=True)
    async with console.store.begin() as session:
        await service.change(session, uid, {"silent_minutes": 0}, ADMIN)
    await notifier.look()
    assert receiver.got == [("raised", "alarm_still")]
    assert (await row(console, uid)).raised == [still]


SYSLOG = {"kind": "syslog", "url": "syslog+tls://siem.example.org", "ca": ""}


async def done(console: Console, *outcomes: Any) -> None:
    async with console.store.begin() as session:
        for outcome in outcomes:
            await audit.add(session, Deed("192.0.2.1", "PUT", "/v1/cluster", "ann"), outcome)


async def test_syslog_is_told_of_alarms_and_their_end(console: Console, notifier: Notifier, siem: Siem) -> None:
    await add(console, **SYSLOG)
    alarm = await happens(console, open=True)
    await notifier.look()
    await ends(console, alarm)
    await notifier.look()
    assert siem.uids == [alarm, alarm]
    assert [b'state="raised"' in siem.got[0][2], b'state="ended"' in siem.got[1][2]] == [True, True]
    assert siem.got[0][:2] == ("syslog+tls://siem.example.org", "")


async def test_lines_of_the_audit_trail_are_sent_in_their_order_and_none_is_left_out(
    console: Console, notifier: Notifier, siem: Siem, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.collectors.notifier.LINES_AT_ONCE", 2)
    await done(console, "done")
    uid = await add(console, **SYSLOG, events="audit", min_severity=None)
    assert (await row(console, uid)).min_severity == "INFO"
    first = (await row(console, uid)).told_to + 1
    await done(console, "done", "refused", "failed")
    await happens(console)  # no line
    siem.broken = True
    await notifier.look()
    assert (await row(console, uid)).failures == 1
    siem.broken = False
    clock.ahead += timedelta(days=30)  # whatever their age
    for _ in range(4):
        await notifier.look()
    assert siem.uids == [first, first + 1, first + 2]
    assert [message[:5] for _, _, message in siem.got] == [b"<110>", b"<108>", b"<108>"]
    assert (await row(console, uid)).failures == 0


async def test_of_the_audit_trail_only_what_was_refused_or_failed(
    console: Console, notifier: Notifier, siem: Siem
) -> None:
    uid = await add(console, **SYSLOG, events="audit", min_severity="WARNING")
    await done(console, "done", "refused", "done", "failed", "done")
    await notifier.look()
    assert [b'outcome="refused"' in siem.got[0][2], b'outcome="failed"' in siem.got[1][2]] == [True, True]
    assert len(siem.got) == 2
    await notifier.look()
    assert len(siem.got) == 2
    assert (await row(console, uid)).told_to > siem.uids[-1], "what was not for it is over, too"


async def test_a_webhook_gets_lines_as_json(console: Console, notifier: Notifier, receiver: Receiver) -> None:
    uid = await add(console, events="audit", min_severity="INFO")
    await done(console, "done", "refused")
    await notifier.look()
    assert len(receiver.lines) == 2
    assert receiver.deliveries == [f"{uid}-audit-{receiver.lines[0]}-{receiver.lines[1]}"]
    assert receiver.got == []


async def test_whoever_turns_to_the_other_log_is_told_from_now_on(
    console: Console, notifier: Notifier, receiver: Receiver
) -> None:
    await done(console, *["done"] * 20)
    uid = await add(console, min_severity="INFO")
    await happens(console, "alarm_before", open=True)
    await notifier.look()
    receiver.got.clear()
    async with console.store.begin() as session:
        await service.change(session, uid, {"events": "audit"}, ADMIN)
    await notifier.look()
    await done(console, "done")
    await notifier.look()
    assert (len(receiver.lines), receiver.got) == (1, [])
    async with console.store.begin() as session:
        await service.change(session, uid, {"events": "all"}, ADMIN)
    await happens(console, "alarm_after")
    await notifier.look()
    assert receiver.got[-1] == ("event", "alarm_after")
    assert len(receiver.lines) == 1
