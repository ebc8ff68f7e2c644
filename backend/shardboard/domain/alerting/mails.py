"""Events as email messages."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Literal
from zoneinfo import ZoneInfo

from shardboard.domain import host_names
from shardboard.domain.alerting import webhooks
from shardboard.domain.failures.incident_start import LogEvent

SCHEME = "mailto:"
MAX_RECIPIENTS = 20
MAX_SUBJECT_LENGTH = 200
ADDRESS = re.compile(r"[^\s@,;:<>\"()\[\]\\]{1,64}@(?=.{1,190}$)" + host_names.NAME)


@dataclass(frozen=True)
class MailServer:
    """Mail server settings; an empty `host` means that none is configured."""

    host: str
    port: int
    tls_mode: Literal["none", "starttls", "tls"]
    username: str
    sender: str


def recipients(url: str) -> list[str]:
    """Return the addresses of `mailto:a@example.org,b@example.org`."""
    return [each.strip() for each in url.removeprefix(SCHEME).split(",") if each.strip()]


def url_error(url: str) -> str:
    """Return why a URL is not a valid mail target, as a predicate; empty if it is valid."""
    addresses = recipients(url)
    if not url.startswith(SCHEME) or not addresses:
        return "must start with mailto: and contain one or more email addresses separated by commas"
    if len(addresses) > MAX_RECIPIENTS:
        return f"can contain at most {MAX_RECIPIENTS} email addresses"
    invalid = next((each for each in addresses if not ADDRESS.fullmatch(each)), None)
    return f"contains {invalid!r}, which is not an email address" if invalid is not None else ""


def event_mail(
    event: LogEvent, what: webhooks.MessageKind, cluster: str, delivery: str, time_zone: str = "UTC"
) -> EmailMessage:
    """Return a message without sender and recipients. The message about the end of an alarm is a reply to the first message."""
    message = _mail(webhooks.text(event.description, event.severity, what, cluster), cluster, delivery, event.time)
    if what == "ended":
        raised_delivery = delivery.removesuffix("ended") + "raised"
        message["In-Reply-To"] = message["References"] = _message_id(raised_delivery, cluster)
    related = {"Database": event.bdb_uid, "Node": event.node_uid, "Shard": event.shard_uid}
    lines = [
        event.description,
        "",
        f"Cluster: {cluster}",
        *(f"{name}: {uid}" for name, uid in related.items() if uid is not None),
        f"Severity: {event.severity.lower()}",
        f"{'Started' if what != 'event' else 'Time'}: {_time(event.time, time_zone)}",
        *([f"Ended: {_time(event.ended_at, time_zone)}"] if event.ended_at is not None else []),
        f"Event: {event.uid}, {event.type}",
    ]
    message.set_content("\n".join(lines) + "\n")
    return message


def build_test_mail(cluster: str, sender: str, delivery: str, now: datetime) -> EmailMessage:
    """Return a test message."""
    text = f"This is a test message, sent by {sender}."
    message = _mail(webhooks.text(text, "INFO", "test", cluster), cluster, delivery, now)
    message.set_content(f"{text}\n")
    return message


def _mail(subject: str, cluster: str, delivery: str, moment: datetime) -> EmailMessage:
    message = EmailMessage()
    # The subject can contain a user-defined name, and a header must not contain line breaks.
    message["Subject"] = " ".join(subject.split())[:MAX_SUBJECT_LENGTH]
    message["Date"] = format_datetime(moment.astimezone(UTC))
    message["Message-ID"] = _message_id(delivery, cluster)
    message["Auto-Submitted"] = "auto-generated"
    return message


def _message_id(delivery: str, cluster: str) -> str:
    """Return a message ID that is the same if the message is sent again."""
    return f"<shardboard-{delivery}@{cluster}>"


def _time(moment: datetime, time_zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(time_zone)):%Y-%m-%d %H:%M:%S %Z}"
