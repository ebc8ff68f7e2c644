"""Current alarms of the cluster."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from shardboard.schemas.alerting import events
from shardboard.schemas.row_protocols import EventRow

STATUS_BY_SEVERITY = {"DEBUG": "ok", "INFO": "ok", "WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}


class Health(BaseModel):
    """Active alarms and the resulting status."""

    status: str = Field(
        description="Status of the most severe alarm.", json_schema_extra={"enum": ["ok", "warning", "error"]}
    )
    alarms: list[events.Event]


def render(alarms: Sequence[EventRow]) -> dict[str, Any]:
    """Render alarms, the most severe first, and the oldest first within a severity."""
    ranked = sorted(alarms, key=lambda event: (-events.SEVERITIES.index(event.severity), event.time, event.uid))
    return {
        "status": STATUS_BY_SEVERITY[ranked[0].severity] if ranked else "ok",
        "alarms": [events.render(event) for event in ranked],
    }
