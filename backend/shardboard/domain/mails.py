"""Events as mail."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Literal

from shardboard.domain import webhooks
from shardboard.domain.incident_begins import Told

SCHEME = "mailto:"
MOST = 20
LONGEST_SUBJECT = 200
ADDRESS = re.compile(r"[^\s@,;<>\"()]{1,64}@[A-Za-z0-9.-]{1,190}")


@dataclass(frozen=True)
class MailServer:
    """How mail leaves; an empty `host` says that nobody has told."""

    host: str
    port: int
    tls_mode: Literal["none", "starttls", "tls"]
    username: str
    sender: str


def recipients(url: str) -> list[str]:
    """Of `mailto:a@example.org,b@example.org`."""
    return [each.strip() for each in url.removeprefix(SCHEME).split(",") if each.strip()]


def url_fault(url: str) -> str:
    """Why nothing can be sent there; empty when it can."""
    found = recipients(url)
    if not url.startswith(SCHEME) or not found:
        return "begins with mailto: and names a mail address, or several with commas between"
    if len(found) > MOST:
        return f"names at most {MOST} mail addresses"
    wrong = next((each for each in found if not ADDRESS.fullmatch(each)), None)
    return f"names {wrong!r}, which is no mail address" if wrong is not None else ""


def of_event(event: Told, what: webhooks.State, cluster: str, delivery: str) -> EmailMessage:
    """A mail without sender and recipients. What ends an alarm answers the mail that told of it."""
    made = _mail(webhooks.text(event.description, event.severity, what, cluster), cluster, delivery, event.time)
    if what == "ended":
        begin = delivery.removesuffix("ended") + "raised"
        made["In-Reply-To"] = made["References"] = _identity(begin, cluster)
    places = {"Database": event.bdb_uid, "Node": event.node_uid, "Shard": event.shard_uid}
    lines = [
        event.description,
        "",
        f"Cluster: {cluster}",
        *(f"{name}: {uid}" for name, uid in places.items() if uid is not None),
        f"Severity: {event.severity.lower()}",
        f"{'Began' if what != 'event' else 'Happened'}: {_words(event.time)}",
        *([f"Ended: {_words(event.ended_at)}"] if event.ended_at is not None else []),
        f"Event: {event.uid}, {event.type}",
    ]
    made.set_content("\n".join(lines) + "\n")
    return made


def trial(cluster: str, by: str, delivery: str, now: datetime) -> EmailMessage:
    """What is sent to try it out."""
    said = f"This is a test, sent by {by}."
    made = _mail(webhooks.text(said, "INFO", "test", cluster), cluster, delivery, now)
    made.set_content(f"{said}\n")
    return made


def _mail(subject: str, cluster: str, delivery: str, moment: datetime) -> EmailMessage:
    made = EmailMessage()
    # A name that somebody chose may be in it, and a line break in a header is none.
    made["Subject"] = " ".join(subject.split())[:LONGEST_SUBJECT]
    made["Date"] = format_datetime(moment.astimezone(UTC))
    made["Message-ID"] = _identity(delivery, cluster)
    made["Auto-Submitted"] = "auto-generated"
    return made


def _identity(delivery: str, cluster: str) -> str:
    """The same when it is sent again."""
    return f"<shardboard-{delivery}@{cluster}>"


def _words(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
