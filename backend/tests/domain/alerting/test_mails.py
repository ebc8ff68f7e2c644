"""Tests of email messages about events."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.alerting import mails

START = datetime(2026, 11, 26, 10, 0, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    description: str = "It happened."
    ended_at: datetime | None = None
    uid: int = 812
    type: str = "alarm_no_replica"
    severity: str = "WARNING"
    source: str = "bdb"
    time: datetime = START
    originator: str = "system"
    bdb_uid: int | None = 1
    node_uid: int | None = None
    shard_uid: int | None = None
    action_uid: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    acknowledgement: None = None


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("mailto:ann@example.org", ""),
        ("mailto:ann@example.org, bob+x@mail.example.org", ""),
        ("ann@example.org", "must start with mailto:"),
        ("mailto:", "must start with mailto:"),
        ("mailto:ann", "contains 'ann'"),
        ("mailto:ann@example.org?bcc=eve@example.org", "contains"),
        ("mailto:ann@example.org\r\nBcc: eve@example.org", "contains"),
        ("mailto:" + ",".join(f"a{n}@b" for n in range(21)), "can contain at most 20"),
    ],
)
def test_mailto_urls_are_validated(url: str, fault: str) -> None:
    assert mails.url_error(url).startswith(fault)
    assert bool(mails.url_error(url)) == bool(fault)


def test_mail_contains_description_cluster_and_time() -> None:
    message = mails.event_mail(Event(), "raised", "prod", "3-812-raised")
    assert message["Subject"] == "[WARNING] prod: It happened."
    assert message["Message-ID"] == "<shardboard-3-812-raised@prod>"
    assert message.get_content().splitlines() == [
        "It happened.",
        "",
        "Cluster: prod",
        "Database: 1",
        "Severity: warning",
        "Started: 2026-11-26 10:00:00 UTC",
        "Event: 812, alarm_no_replica",
    ]


def test_end_mail_replies_to_the_first_mail() -> None:
    message = mails.event_mail(Event(ended_at=START), "ended", "prod", "3-812-ended")
    assert message["In-Reply-To"] == "<shardboard-3-812-raised@prod>"
    assert "Ended: 2026-11-26 10:00:00 UTC" in message.get_content()


@given(st.text(max_size=400))
def test_headers_stay_on_one_line_for_any_text(text: str) -> None:
    message = mails.event_mail(Event(text), "event", "prod", "1-2-event")
    assert "\n" not in message["Subject"]
    assert len(message["Subject"]) <= mails.MAX_SUBJECT_LENGTH
    assert message.as_bytes()


def test_times_are_in_the_time_zone_of_the_cluster() -> None:
    lines = mails.event_mail(Event(), "raised", "prod", "3-812-raised", "Europe/Berlin").get_content().splitlines()
    assert "Started: 2026-11-26 11:00:00 CET" in lines
