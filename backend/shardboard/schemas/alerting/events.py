"""Events in the format of the log."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain import acknowledgement as domain
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.row_protocols import EventRow
from shardboard.schemas.timestamps import iso

SEVERITIES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
SOURCES = ("cluster", "node", "bdb", "shard")


class Acknowledgement(BaseModel):
    """Acknowledgement of an alarm (extension)."""

    username: str = Field(description="The user who acknowledged the alarm.")
    time: str
    until: OptionalStr = Field(description="Expiry; missing if it is valid until the alarm ends.")
    until_ms: OptionalInt
    note: str
    assigned_to: str = Field(description="The user who takes care of the alarm, also after the expiry.")


class Event(BaseModel):
    """An event. It has additional fields, which depend on its type."""

    model_config = ConfigDict(extra="allow")

    uid: int
    time: str
    time_ms: int = Field(description="Same as `time`, in milliseconds since the epoch.")
    ended_at: OptionalStr = Field(description="End of an event with a duration; missing until it has ended.")
    ended_ms: OptionalInt
    type: str
    severity: str = Field(json_schema_extra={"enum": list(SEVERITIES)})
    source: str = Field(json_schema_extra={"enum": list(SOURCES)})
    originator: str
    description: str
    bdb_uid: OptionalInt
    node_uid: OptionalInt
    shard_uid: OptionalStr
    action_uid: OptionalStr
    acknowledgement: Acknowledgement | SkipJsonSchema[None] = Field(
        default=None, json_schema_extra=without_default, description="Of an alarm that was acknowledged (extension)."
    )


def render(event: EventRow) -> dict[str, Any]:
    """Render an event. References to objects are omitted if the event does not concern any."""
    return {
        **event.details,
        "uid": event.uid,
        "time": iso(event.time),
        "time_ms": _ms(event.time),
        "type": event.type,
        "severity": event.severity,
        "source": event.source,
        "originator": event.originator,
        "description": event.description,
        **without_none(
            bdb_uid=event.bdb_uid,
            node_uid=event.node_uid,
            shard_uid=None if event.shard_uid is None else str(event.shard_uid),
            action_uid=event.action_uid,
            ended_at=iso(event.ended_at) if event.ended_at else None,
            ended_ms=_ms(event.ended_at) if event.ended_at else None,
            acknowledgement=_render_acknowledgement(event.acknowledgement),
        ),
    }


def _render_acknowledgement(acknowledgement: domain.Acknowledgement | None) -> dict[str, Any] | None:
    if acknowledgement is None:
        return None
    until = acknowledgement.until
    return {
        "username": acknowledgement.username,
        "time": iso(acknowledgement.time),
        "note": acknowledgement.note,
        "assigned_to": acknowledgement.assigned_to,
        **without_none(until=iso(until) if until else None, until_ms=_ms(until) if until else None),
    }


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
