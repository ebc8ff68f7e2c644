"""Tests of the messages and headers that are sent to webhooks."""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.alerting import webhooks

NOW = datetime(2026, 11, 20, 12, 0, 0, 250_000, tzinfo=UTC)


def event(type_: str = "alarm_no_replica", severity: str = "WARNING", **fields: Any) -> Any:
    defaults: dict[str, Any] = {"uid": 7, "time": NOW, "ended_at": None, "description": "Two primaries had no replica."}
    defaults |= dict.fromkeys(("bdb_uid", "node_uid", "shard_uid", "action_uid"))
    return SimpleNamespace(
        type=type_, severity=severity, originator="system", details={"open": True, "count": 2}, **defaults | fields
    )


@pytest.mark.parametrize(
    ("type_", "severity", "selection", "min_severity", "expected"),
    [
        ("alarm_clock", "WARNING", "alarms", "WARNING", True),
        ("alarm_clock", "WARNING", "alarms", "ERROR", False),
        ("bdb_created", "INFO", "alarms", "INFO", False),
        ("bdb_created", "INFO", "all", "INFO", True),
        ("bdb_created", "INFO", "all", "WARNING", False),
        ("node_failed", "CRITICAL", "all", "ERROR", True),
    ],
)
def test_events_are_filtered_by_type_and_severity(
    type_: str, severity: str, selection: str, min_severity: str, expected: bool
) -> None:
    assert webhooks.matches_filter(event(type_, severity), selection, min_severity) is expected


def test_message_contains_event_state_and_cluster() -> None:
    payload = webhooks.message(event(bdb_uid=3), "raised", "prod")
    assert payload["text"] == "[WARNING] prod: Two primaries had no replica."
    assert (payload["state"], payload["cluster"]) == ("raised", "prod")
    assert payload["event"]["time"] == "2026-11-20T12:00:00.250Z"
    assert (payload["event"]["bdb_uid"], payload["event"]["ended_at"]) == (3, None)
    assert payload["event"]["details"] == {"count": 2}
    assert webhooks.message(event(), "ended", "prod")["text"].startswith("[ENDED] prod: ")
    assert webhooks.build_test_payload("prod", "ann")["text"] == "[TEST] prod: This is a test message, sent by ann."


def test_state_of_an_event_is_derived() -> None:
    assert webhooks.state(event()) == "raised"
    assert webhooks.state(event(ended_at=NOW + timedelta(seconds=1))) == "ended"
    assert webhooks.state(SimpleNamespace(ended_at=None, details={})) == "event"  # type: ignore[arg-type]


def test_body_is_signed_with_the_secret() -> None:
    body = b'{"text":"x"}'
    defaults = webhooks.headers("secret", body, "1-7-raised")
    assert defaults["X-Shardboard-Delivery"] == "1-7-raised"
    assert defaults["X-Shardboard-Signature"] == "sha256=" + hmac.new(b"secret", body, hashlib.sha256).hexdigest()
    assert "X-Shardboard-Signature" not in webhooks.headers("", body, "1-7-raised")


@pytest.mark.parametrize(
    "url", ["https://hooks.example.org/a?b=c", "http://127.0.0.1:9093/x", "https://[::1]:8080/", "HTTPS://Example.org"]
)
def test_valid_urls_are_accepted(url: str) -> None:
    assert webhooks.url_error(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "https://",
        "https://user:pass@example.org",
        "https://a b",
        "https://example.org:99999",
        "https://example.org:0/",
        "https://[::1",
        "https://example.org/\n",
        "https://example.org/" + "x" * 2000,
    ],
)
def test_invalid_urls_are_rejected(url: str) -> None:
    assert webhooks.url_error(url)


@given(st.text())
def test_arbitrary_text_raises_no_error(text: str) -> None:
    webhooks.url_error(text)
