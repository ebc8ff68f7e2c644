"""Audit log entries for tests."""

from dataclasses import dataclass
from datetime import UTC, datetime

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class AuditEntry:
    uid: int
    time: datetime = NOON
    username: str = "admin@example.org"
    auth_method: str = "password"
    source: str = "192.0.2.1"
    method: str = "POST"
    path: str = "/v1/bdbs"
    outcome: str = "done"
    code: str = ""
    detail: str = ""
