"""Tests of syslog messages, parsed according to RFC 5424."""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from backend.tests.domain.audit_entries import AuditEntry
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.alerting import syslog

NOON = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
LINE = AuditEntry(7, NOON, "ann", "session", detail="Database demo was ordered.")
MESSAGE = re.compile(
    rb"<(?P<pri>\d{1,3})>1 (?P<time>\S+) (?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) - (?P<kind>[!-~]{1,32}) "
    rb'\[shardboard@32473(?P<data>(?: [^\s="\]]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*)\] \xef\xbb\xbf(?P<text>[^\n]*)',
    re.DOTALL,
)


@dataclass(frozen=True)
class Event:
    uid: int = 9
    type: str = "alarm_clock"
    severity: str = "WARNING"
    description: str = "It is late."
    originator: str = "system"
    time: datetime = NOON
    ended_at: datetime | None = None
    bdb_uid: int | None = 3
    node_uid: int | None = None
    shard_uid: int | None = None
    action_uid: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    acknowledgement: None = None


def test_audit_log_entry_is_formatted() -> None:
    assert syslog.audit_line_message(LINE, "ab12", "prod.example.org") == (
        b"<110>1 2026-03-01T12:00:00.250000Z prod.example.org shardboard - audit "
        b'[shardboard@32473 uid="7" username="ann" proof="session" source="192.0.2.1" method="POST" path="/v1/bdbs" '
        b'outcome="done" code="" link="ab12"] '
        b"\xef\xbb\xbfann from 192.0.2.1: POST /v1/bdbs done. Database demo was ordered."
    )


def test_refused_request_has_severity_warning() -> None:
    assert syslog.audit_line_message(replace(LINE, outcome="refused", username=""), "", "c").startswith(b"<108>1 ")


def test_event_and_its_end_are_formatted() -> None:
    message = syslog.event_message(Event(), "raised", "c")
    assert message.startswith(b"<28>1 2026-03-01T12:00:00.250000Z c shardboard - alarm_clock ")
    assert b'uid="9" state="raised" originator="system" bdb="3"' in message
    ended = syslog.event_message(Event(ended_at=NOON.replace(hour=13)), "ended", "c")
    assert ended.startswith(b"<30>1 2026-03-01T13:00:00.250000Z c ")


def test_test_message_is_formatted() -> None:
    assert syslog.build_test_message("c", "ann", NOON).endswith(b"[TEST] c: This is a test message, sent by ann.")


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60), st.text(max_size=300))
def test_messages_with_arbitrary_texts_are_valid(host: str, username: str, path: str, detail: str) -> None:
    line = replace(LINE, username=username, path=path, detail=detail)
    match = MESSAGE.fullmatch(syslog.audit_line_message(line, "ab", host))
    assert match is not None
    data = dict(re.findall(r' ([^=]+)="((?:[^"\\\]]|\\["\\\]])*)"', match["data"].decode()))
    assert set(data) == {"uid", "username", "proof", "source", "method", "path", "outcome", "code", "link"}
    if username.isprintable():
        assert re.sub(r'\\(["\\\]])', r"\1", data["username"]) == username


@given(st.binary(max_size=50))
def test_frames_start_with_their_length(message: bytes) -> None:
    length, _, remainder = syslog.frame(message).partition(b" ")
    assert (int(length), remainder) == (len(message), message)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("syslog+tls://siem.example.org", ("siem.example.org", 6514, True)),
        ("syslog+tls://siem.example.org:1234/", ("siem.example.org", 1234, True)),
        ("syslog+tcp://[2001:db8::1]", ("2001:db8::1", 601, False)),
    ],
)
def test_valid_urls_are_parsed(url: str, expected: tuple[str, int, bool]) -> None:
    assert syslog.url_error(url) == ""
    assert syslog.address(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://siem.example.org",
        "syslog://siem.example.org",
        "syslog+tls://",
        "syslog+tls://a:b@siem.example.org",
        "syslog+tls://siem.example.org/path",
        "syslog+tls://siem.example.org?x=1",
        "syslog+tls://siem.example.org#x",
        "syslog+tls://siem.example.org:0",
        "syslog+tls://siem.example.org:70000",
        "syslog+tls://siem .example.org",
        "syslog+tls://[siem",
        f"syslog+tls://{'a' * 300}",
    ],
)
def test_invalid_urls_are_rejected(url: str) -> None:
    assert syslog.url_error(url)
