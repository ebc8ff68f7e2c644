"""Current alarms of the cluster."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shardboard.schemas import json_limits
from shardboard.schemas.alerting import events
from shardboard.schemas.row_protocols import EventRow

STATUS_BY_SEVERITY = {"DEBUG": "ok", "INFO": "ok", "WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}
MAX_NOTE_LENGTH = 500
MAX_MINUTES = 30 * 24 * 60


class NewAcknowledgement(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    note: str = Field(default="", max_length=MAX_NOTE_LENGTH)
    minutes: int | None = Field(
        default=None,
        ge=1,
        le=MAX_MINUTES,
        description="The acknowledgement expires after this time. Default: it is valid until the alarm ends.",
    )
    assigned_to: str | None = Field(
        default=None,
        min_length=1,
        max_length=254,
        description="Username of the user who takes care of the alarm. Default: the sender of the request.",
    )

    @model_validator(mode="before")
    @classmethod
    def check_json(cls, body: Any) -> Any:
        json_limits.check_json_value(body)
        return body


class Health(BaseModel):
    """Active alarms and the resulting status."""

    status: str = Field(
        description="Status of the most severe alarm.", json_schema_extra={"enum": ["ok", "warning", "error"]}
    )
    alarms: list[events.Event]
    acknowledged: int = Field(description="Number of these alarms that are acknowledged (extension).")


def status(alarms: Sequence[EventRow]) -> str:
    """Return the status of the most severe alarm."""
    worst = max(alarms, key=_rank, default=None)
    return STATUS_BY_SEVERITY[worst.severity] if worst is not None else "ok"


def render(alarms: Sequence[EventRow], now: datetime) -> dict[str, Any]:
    """Render alarms, the most severe first, and the oldest first within a severity."""
    ranked = sorted(alarms, key=lambda event: (-_rank(event), event.time, event.uid))
    return {
        "status": status(alarms),
        "alarms": [events.render(event) for event in ranked],
        "acknowledged": sum(
            event.acknowledgement is not None and event.acknowledgement.is_valid(now) for event in ranked
        ),
    }


def _rank(event: EventRow) -> int:
    return events.SEVERITIES.index(event.severity)
