"""An incident as the API shows it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from shardboard.domain.incident_begins import ms
from shardboard.domain.incident_report import cause as cause_words
from shardboard.domain.incident_words import consequences
from shardboard.domain.incidents import Incident as Told
from shardboard.domain.incidents import Loss
from shardboard.schemas import logs
from shardboard.schemas.absent import OptionalInt, OptionalStr, present
from shardboard.schemas.times import iso


class Cause(BaseModel):
    kind: str = Field(json_schema_extra={"enum": ["drill", "alarm"]})
    event_uid: int
    description: str


class IncidentDatabase(BaseModel):
    """A database that lost primaries, and what its clients noticed."""

    uid: int
    name: OptionalStr = Field(description="Left out when the database is gone.")
    slots: str = Field(description="Of the lost primaries.")
    unserved_ms: int | None = Field(
        description="The longest that a slot was served at no endpoint: from the last success of a request to the first one "
        "afterwards. null: no client is known to have been refused or kept waiting."
    )
    unserved_since_ms: OptionalInt = Field(description="While a slot is not served: since when clients notice it.")
    served_again_ms: OptionalInt = Field(
        description="When the last slot that clients had noticed was served again: the first good request of the slowest one. "
        "Left out while a slot is not served, and where no client noticed anything."
    )
    failed: int = Field(description="Requests that were answered with an error, without having been executed.")
    delayed: int = Field(description="Requests that waited for a primary and were answered then.")
    lost: int = Field(description="Requests that the lost primary had got and not answered: nobody knows of them.")
    promoted_after_ms: int | None = Field(
        description="From the detection to the last promotion; null: none was promoted."
    )


class IncidentResync(BaseModel):
    event_uid: int
    bdb_uid: OptionalInt
    shard_uid: str
    began_ms: int
    ended_ms: OptionalInt
    percent: float
    bytes: OptionalInt = Field(description="That the replica received; left out when that is unknown.")
    in_sync: bool


class Incident(BaseModel):
    """A node or a single primary that was lost, with what came of it. Times are those of the console's clock."""

    uid: int = Field(description="Of the event that began it.")
    event_uid: int = Field(
        description="Of the event that tells of the loss: not the first where a shard was seen down before its node."
    )
    kind: str = Field(json_schema_extra={"enum": ["node_down", "shard_down"]})
    state: str = Field(json_schema_extra={"enum": ["down", "resyncing", "over"]})
    node_uid: int
    shard_uid: OptionalStr
    began: str
    began_ms: int
    detected_ms: int = Field(description="When the console knew.")
    returned_ms: OptionalInt = Field(description="When the node or the shard was there again.")
    ended: OptionalStr = Field(description="When all that it lost was in sync again; left out while it goes on.")
    ended_ms: OptionalInt
    cause: Cause | None
    databases: list[IncidentDatabase]
    primaries: int
    replicas: int
    failovers: list[int] = Field(description="Uids of events.")
    resyncs: list[IncidentResync]
    revived: int = Field(description="Shards that are replicas in sync again, whether or not it took a resync.")
    percent: float | None = Field(description="Of all resyncs together.")
    bytes_behind: int | None = Field(description="What the promoted replicas lacked; null when that is unknown.")
    bytes_resynced: int | None = Field(
        description="What the replicas received in all resyncs; null when that is unknown."
    )
    summary: list[str] = Field(description="What followed, in parts of a sentence.")
    timeline: list[int] = Field(description="Uids of all events that belong to it, in the order of time.")


class IncidentInFull(Incident):
    events: list[logs.Event] = Field(description="Those of the timeline.")


def render(incident: Told, names: Mapping[int, str]) -> dict[str, Any]:
    """`names` of databases by uid."""
    begin = incident.beginning
    return {
        "uid": begin.uid,
        "event_uid": begin.event.uid,
        "kind": begin.kind,
        "state": incident.state,
        "node_uid": begin.node_uid,
        "began": iso(begin.first.time),
        "began_ms": ms(begin.first.time),
        "detected_ms": begin.at,
        "cause": _cause(incident),
        "databases": [_database(loss, names) for loss in incident.databases],
        "primaries": incident.primaries,
        "replicas": incident.replicas,
        "failovers": [event.uid for event in incident.failovers],
        "resyncs": [_resync(event) for event in incident.resyncs],
        "revived": incident.revived,
        "percent": None if incident.percent is None else round(incident.percent, 1),
        "bytes_behind": incident.bytes_behind,
        "bytes_resynced": incident.bytes_resynced,
        "summary": consequences(incident, names),
        "timeline": [event.uid for event in incident.timeline],
        **present(
            shard_uid=None if begin.shard_uid is None else str(begin.shard_uid),
            returned_ms=incident.returned,
            ended=None if incident.ended is None else iso(datetime.fromtimestamp(incident.ended / 1000, UTC)),
            ended_ms=incident.ended,
        ),
    }


def render_in_full(incident: Told, names: Mapping[int, str]) -> dict[str, Any]:
    return {**render(incident, names), "events": [logs.render(event) for event in incident.timeline]}


def _cause(incident: Told) -> dict[str, Any] | None:
    if incident.cause is None:
        return None
    return {
        "kind": incident.cause.kind,
        "event_uid": incident.cause.event.uid,
        "description": cause_words(incident),
    }


def _database(loss: Loss, names: Mapping[int, str]) -> dict[str, Any]:
    account = loss.account
    return {
        "uid": loss.uid,
        "slots": loss.slots,
        "unserved_ms": account.unserved_ms,
        "failed": account.failed,
        "delayed": account.delayed,
        "lost": account.lost,
        "promoted_after_ms": loss.promoted_after_ms,
        **present(
            name=names.get(loss.uid),
            unserved_since_ms=account.unserved_since_ms,
            served_again_ms=account.served_again_ms,
        ),
    }


def _resync(event: Any) -> dict[str, Any]:
    told = event.details
    return {
        "event_uid": event.uid,
        "shard_uid": str(event.shard_uid),
        "began_ms": ms(event.time),
        "percent": float(told.get("percent") or 0),
        "in_sync": event.ended_at is not None and told.get("outcome") != "lost",
        **present(
            bdb_uid=event.bdb_uid,
            ended_ms=None if event.ended_at is None else ms(event.ended_at),
            bytes=told.get("bytes"),
        ),
    }
