"""Events in the format of the log."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_none
from shardboard.schemas.row_protocols import EventRow
from shardboard.schemas.timestamps import iso

SEVERITIES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
SOURCES = ("cluster", "node", "bdb", "shard")


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
        ),
    }


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
