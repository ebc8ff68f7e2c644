"""A shard as replies and the stream show it. Its own uid and its node's are strings in the reference, its database's is not."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from shardboard.schemas.absent import OptionalInt, OptionalStr, present, without_default
from shardboard.schemas.rows import ShardRow
from shardboard.schemas.times import iso

_STATUSES: list[JsonValue] = ["ok", "busy", "loading", "timeout", "down", "unknown"]


class Loading(BaseModel):
    status: str = Field(json_schema_extra={"enum": ["idle", "in_progress"]})


class Sync(BaseModel):
    status: str = Field(json_schema_extra={"enum": ["idle", "in_progress", "link_down"]})
    progress: int = Field(description="Bytes the replica still lacks, as far as known.")


class Shard(BaseModel):
    uid: str
    bdb_uid: int
    node_uid: str
    node: int = Field(description="The same as a number, for clients that expect one.")
    role: str = Field(description="As the console wants it.", json_schema_extra={"enum": ["master", "slave"]})
    actual_role: str = Field(description="As last observed; empty before that.")
    status: str = Field(json_schema_extra={"enum": ["active", "inactive"]})
    detailed_status: str = Field(
        description="`busy`: a primary that lives and refuses requests, as it does not believe its cluster to be whole.",
        json_schema_extra={"enum": _STATUSES},
    )
    detail: str = Field(description="One sentence when the shard is not ok.")
    assigned_slots: str = Field(description='Ranges of hash slots, for example "0-99,200-8191"; empty without any.')
    lost_lead: bool = Field(
        description="It was a primary when its node was lost, and another one leads since: "
        "`return_primaries` gives it the lead back."
    )
    pair: int = Field(description="A primary and its replica have the same.")
    loading: Loading
    sync: Annotated[Sync | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Replicas only."""
    address: str
    port: int
    pid: OptionalInt
    started_at: OptionalStr
    engine_version: OptionalStr = Field(description="Of the Valkey that runs; absent until it was seen.")
    used_memory: OptionalInt = Field(description="Bytes, from the newest sample; absent without one.")
    report_timestamp: OptionalStr = Field(description="When the shard was last looked at.")


def render(shard: ShardRow, address: str, latest: Mapping[str, float | None]) -> dict[str, Any]:
    """`address` is its node's; `latest` the newest sample by metric name, empty without one."""
    memory = latest.get("used_memory")
    refuses = shard.observed_status == "ok" and shard.observed_link == "cluster_down"
    shown: dict[str, Any] = {
        "uid": str(shard.uid),
        "bdb_uid": shard.bdb_uid,
        "node_uid": str(shard.node_uid),
        "node": shard.node_uid,
        "role": shard.current_role,
        "actual_role": shard.observed_role or "",
        "status": "active" if shard.observed_status in ("ok", "loading") else "inactive",
        "detailed_status": "busy" if refuses else shard.observed_status,
        "detail": shard.detail,
        "assigned_slots": shard.slots,
        "lost_lead": shard.leads_again and shard.current_role == "slave",
        "pair": shard.pair,
        "loading": {"status": "in_progress" if shard.observed_status == "loading" else "idle"},
        "address": address,
        "port": shard.port,
        **present(
            pid=shard.observed_pid,
            started_at=iso(shard.observed_started_at) if shard.observed_started_at else None,
            engine_version=shard.observed_version or None,
            used_memory=None if memory is None else int(memory),
            report_timestamp=iso(shard.observed_at) if shard.observed_at else None,
        ),
    }
    if shard.current_role == "slave":
        shown["sync"] = {
            "status": shard.observed_link or "in_progress",
            "progress": int(latest.get("repl_lag_bytes") or 0),
        }
    return shown
