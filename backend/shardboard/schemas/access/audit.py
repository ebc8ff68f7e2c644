"""Models of lines of the audit log."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.access import audit
from shardboard.schemas.timestamps import iso


class AuditLine(BaseModel):
    uid: int = Field(description="Number of the record. Numbers have no gaps.")
    time: str
    time_ms: int = Field(description="Same as `time`, in milliseconds since the epoch.")
    username: str = Field(description="Username; for a rejected sign-in, the claimed username.")
    proof: str = Field(
        description="Credential: password, session, token, service token, join token, or shell; empty if there was none."
    )
    source: str = Field(description="Source address of the request.")
    method: str = Field(description="HTTP method; empty for commands on the console's machine.")
    path: str = Field(description="Path of the request, or the command.")
    outcome: audit.RequestOutcome
    code: str = Field(description="Error code; empty if the request succeeded.")
    detail: str = Field(description="Description of what happened.")
    link: str = Field(description="Hash that links the record to the previous one.")


class AuditCheck(BaseModel):
    whole: bool = Field(description="Whether the audit log is intact: no record was changed, inserted, or removed.")
    lines: int
    first_uid: int | None = Field(description="Uid of the oldest stored record; null if there are no records.")
    last_uid: int | None
    faults: list[str] = Field(description="The first 20 problems.")


class AuditLineRow(audit.Line, Protocol):
    @property
    def link(self) -> str: ...


def render(row: AuditLineRow) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "time": iso(row.time),
        "time_ms": _ms(row.time),
        "username": row.username,
        "proof": row.auth_method,
        "source": row.source,
        "method": row.method,
        "path": row.path,
        "outcome": row.outcome,
        "code": row.code,
        "detail": row.detail,
        "link": row.link,
    }


def render_check(check: audit.ChainVerification) -> dict[str, Any]:
    is_known = check.ends.last >= check.ends.first
    return {
        "whole": not check.faults,
        "lines": check.lines,
        "first_uid": check.ends.first if is_known else None,
        "last_uid": check.ends.last if is_known else None,
        "faults": check.faults,
    }


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
