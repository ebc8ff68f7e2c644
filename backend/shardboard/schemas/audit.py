"""Lines of the audit trail on the wire."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain import audit
from shardboard.schemas.times import iso


class AuditLine(BaseModel):
    uid: int = Field(description="Numbers the lines without a gap.")
    time: str
    time_ms: int = Field(description="The same in milliseconds since the epoch.")
    username: str = Field(description="Who; of a refused login who it claimed to be.")
    proof: str = Field(
        description="How that was proven: password, session, token, service token, join token, shell; empty: not at all."
    )
    source: str = Field(description="Address that it came from.")
    method: str = Field(description="Of the request; empty of commands on the console's machine.")
    path: str = Field(description="Of the request, or the command.")
    outcome: audit.Outcome
    code: str = Field(description="Why it was refused or failed; empty when it was done.")
    detail: str = Field(description="What happened, in sentences.")
    link: str = Field(description="Seals the line together with the one before it.")


class AuditCheck(BaseModel):
    whole: bool = Field(description="Nothing was changed, inserted or removed since the lines were written.")
    lines: int
    first_uid: int | None = Field(description="Of the oldest line that is kept; null without any.")
    last_uid: int | None
    faults: list[str] = Field(description="The first 20, in sentences.")


class Row(audit.Line, Protocol):
    @property
    def link(self) -> str: ...


def render(row: Row) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "time": iso(row.time),
        "time_ms": _ms(row.time),
        "username": row.username,
        "proof": row.proof,
        "source": row.source,
        "method": row.method,
        "path": row.path,
        "outcome": row.outcome,
        "code": row.code,
        "detail": row.detail,
        "link": row.link,
    }


def render_check(check: audit.Check) -> dict[str, Any]:
    known = check.ends.last >= check.ends.first
    return {
        "whole": not check.faults,
        "lines": check.lines,
        "first_uid": check.ends.first if known else None,
        "last_uid": check.ends.last if known else None,
        "faults": check.faults,
    }


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
