"""Incidents in the format of the API."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.failures.incident_report import cause as cause_words
from shardboard.domain.failures.incident_start import ms
from shardboard.domain.failures.incident_summary import Figure, consequences, figures
from shardboard.domain.failures.incidents import Incident as DomainIncident
from shardboard.domain.failures.incidents import Loss
from shardboard.schemas.alerting import events as logs
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.timestamps import iso


class Cause(BaseModel):
    kind: str = Field(json_schema_extra={"enum": ["drill", "alarm"]})
    event_uid: int
    description: str


class IncidentDatabase(BaseModel):
    """A database that lost primaries, and the effect on its clients."""

    uid: int
    name: OptionalStr = Field(description="Missing if the database no longer exists.")
    slots: str = Field(description="Slots of the lost primaries.")
    unserved_ms: int | None = Field(
        description="Longest time without a successful request to a slot at any endpoint: from the last success to the next one. "
        "null: no request is known to have failed or waited."
    )
    unserved_since_ms: OptionalInt = Field(
        description="Start of the interruption for clients, while a slot is not served."
    )
    served_again_ms: OptionalInt = Field(
        description="Time of the first successful request to the slot that was interrupted last. Missing while a slot is not "
        "served, and if no client was affected."
    )
    failed: int = Field(description="Requests that were rejected with an error and not executed.")
    delayed: int = Field(description="Requests that waited for a primary and then succeeded.")
    lost: int = Field(
        description="Requests that the lost primary received but did not reply to. Their result is unknown."
    )
    promoted_after_ms: int | None = Field(
        description="Time from the detection to the last promotion; null: no replica was promoted."
    )


class IncidentResync(BaseModel):
    event_uid: int
    bdb_uid: OptionalInt
    shard_uid: str
    began_ms: int
    ended_ms: OptionalInt
    percent: float
    bytes: OptionalInt = Field(description="Bytes that the replica received; missing if unknown.")
    in_sync: bool


class IncidentFigure(BaseModel):
    name: str = Field(
        description="`down`: until the node or shard was back. `unserved`: the longest outage of a database for clients. "
        "`promoted`: from the detection until the last lost primary was replaced. `in_sync`: from the detection until all affected "
        "pairs were in sync.",
        json_schema_extra={"enum": ["down", "unserved", "promoted", "in_sync"]},
    )
    ms: int | None = Field(description="Duration; null if it is unknown or has not ended.")
    count: OptionalInt = Field(description="For `promoted`: number of lost primaries that were replaced.")
    total: OptionalInt = Field(description="For `promoted`: number of lost primaries.")
    events: list[int] = Field(description="Uids of the events that the figure is computed from.")


class IncidentZone(BaseModel):
    """Zone in which several nodes were down at the same time."""

    rack_id: str
    nodes: list[int] = Field(description="Uids of the nodes that were down.")
    total: int = Field(description="Number of nodes of the zone.")
    events: list[int] = Field(
        description="Uids of the events of these failures, which are also the uids of their incidents."
    )


class Incident(BaseModel):
    """Failure of a node or a single primary, with its effects. Times are those of the console's clock."""

    uid: int = Field(description="Uid of the event that started the incident.")
    event_uid: int = Field(
        description="Uid of the event of the failure. Not the first event if a shard was detected as down before its node."
    )
    kind: str = Field(json_schema_extra={"enum": ["node_down", "shard_down"]})
    state: str = Field(json_schema_extra={"enum": ["down", "resyncing", "over"]})
    node_uid: int
    shard_uid: OptionalStr
    began: str
    began_ms: int
    detected_ms: int = Field(description="When the console detected the failure.")
    returned_ms: OptionalInt = Field(description="When the node or the shard was available again.")
    ended: OptionalStr = Field(
        description="When the last affected pair was in sync again; missing while the incident continues."
    )
    ended_ms: OptionalInt
    cause: Cause | None
    databases: list[IncidentDatabase]
    primaries: int
    replicas: int
    failovers: list[int] = Field(
        description="Uids of the failover events, one for each lost primary that was replaced."
    )
    resyncs: list[IncidentResync]
    revived: int = Field(description="Number of shards that are replicas in sync again, with or without a resync.")
    percent: float | None = Field(description="Progress of all resyncs in percent.")
    bytes_behind: int | None = Field(description="Bytes that the promoted replicas had not received; null if unknown.")
    bytes_resynced: int | None = Field(description="Bytes that the replicas received in all resyncs; null if unknown.")
    figures: list[IncidentFigure] = Field(description="The four figures of the incident, always in the same order.")
    summary: list[str] = Field(description="Effects of the failure, as parts of a sentence.")
    zone: Annotated[IncidentZone | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Missing if no other node of the zone was down at the same time."""
    timeline: list[int] = Field(description="Uids of all events of the incident, in chronological order.")


class IncidentWithEvents(Incident):
    events: list[logs.Event] = Field(description="Events of the timeline.")


def render(incident: DomainIncident, names: Mapping[int, str]) -> dict[str, Any]:
    """Render an incident. `names` are names of databases by uid."""
    start = incident.start
    return {
        "uid": start.uid,
        "event_uid": start.event.uid,
        "kind": start.kind,
        "state": incident.state,
        "node_uid": start.node_uid,
        "began": iso(start.first.time),
        "began_ms": ms(start.first.time),
        "detected_ms": start.at,
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
        "figures": [_figure(each) for each in figures(incident)],
        "summary": consequences(incident, names),
        "timeline": [event.uid for event in incident.timeline],
        **without_none(
            shard_uid=None if start.shard_uid is None else str(start.shard_uid),
            returned_ms=incident.returned,
            ended=None if incident.ended is None else iso(datetime.fromtimestamp(incident.ended / 1000, UTC)),
            ended_ms=incident.ended,
            zone=_zone(incident),
        ),
    }


def render_with_events(incident: DomainIncident, names: Mapping[int, str]) -> dict[str, Any]:
    return {**render(incident, names), "events": [logs.render(event) for event in incident.timeline]}


def _zone(incident: DomainIncident) -> dict[str, Any] | None:
    if (zone := incident.zone) is None:
        return None
    return {
        "rack_id": zone.rack_id,
        "nodes": [event.node_uid for event in zone.failures],
        "total": zone.nodes,
        "events": [event.uid for event in zone.failures],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "ms": figure.ms,
        "events": figure.events,
        **without_none(count=figure.count, total=figure.total),
    }


def _cause(incident: DomainIncident) -> dict[str, Any] | None:
    if incident.cause is None:
        return None
    return {
        "kind": incident.cause.kind,
        "event_uid": incident.cause.event.uid,
        "description": cause_words(incident),
    }


def _database(loss: Loss, names: Mapping[int, str]) -> dict[str, Any]:
    account = loss.outage_summary
    return {
        "uid": loss.uid,
        "slots": loss.slots,
        "unserved_ms": account.unserved_ms,
        "failed": account.failed,
        "delayed": account.delayed,
        "lost": account.lost,
        "promoted_after_ms": loss.promoted_after_ms,
        **without_none(
            name=names.get(loss.uid),
            unserved_since_ms=account.unserved_since_ms,
            served_again_ms=account.served_again_ms,
        ),
    }


def _resync(event: Any) -> dict[str, Any]:
    details = event.details
    return {
        "event_uid": event.uid,
        "shard_uid": str(event.shard_uid),
        "began_ms": ms(event.time),
        "percent": float(details.get("percent") or 0),
        "in_sync": event.ended_at is not None and details.get("outcome") != "lost",
        **without_none(
            bdb_uid=event.bdb_uid,
            ended_ms=None if event.ended_at is None else ms(event.ended_at),
            bytes=details.get("bytes"),
        ),
    }
