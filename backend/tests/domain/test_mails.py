"""Events as mail."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain import mails

BEGAN = datetime(2026, 11, 26, 10, 0, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    description: str = "It happened."
    ended_at: datetime | None = None
    uid: int = 812
    type: str = "alarm_no_replica"
    severity: str = "WARNING"
    source: str = "bdb"
    time: datetime = BEGAN
    originator: str = "system"
    bdb_uid: int | None = 1
    node_uid: int | None = None
    shard_uid: int | None = None
    action_uid: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


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
def test_addresses(url: str, fault: str) -> None:
    assert mails.url_fault(url).startswith(fault)
    assert bool(mails.url_fault(url)) == bool(fault)


def test_a_mail_says_what_where_and_when() -> None:
    made = mails.of_event(Event(), "raised", "prod", "3-812-raised")
    assert made["Subject"] == "[WARNING] prod: It happened."
    assert made["Message-ID"] == "<shardboard-3-812-raised@prod>"
    assert made.get_content().splitlines() == [
        "It happened.",
        "",
        "Cluster: prod",
        "Database: 1",
        "Severity: warning",
        "Started: 2026-11-26 10:00:00 UTC",
        "Event: 812, alarm_no_replica",
    ]


def test_an_end_answers_the_beginning() -> None:
    made = mails.of_event(Event(ended_at=BEGAN), "ended", "prod", "3-812-ended")
    assert made["In-Reply-To"] == "<shardboard-3-812-raised@prod>"
    assert "Ended: 2026-11-26 10:00:00 UTC" in made.get_content()


@given(st.text(max_size=400))
def test_whatever_a_name_holds_headers_stay_one_line(text: str) -> None:
    made = mails.of_event(Event(text), "event", "prod", "1-2-event")
    assert "\n" not in made["Subject"]
    assert len(made["Subject"]) <= mails.LONGEST_SUBJECT
    assert made.as_bytes()
