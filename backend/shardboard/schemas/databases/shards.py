"""Shards in the format of replies and the event stream.

In the Redis Enterprise REST API, the uids of a shard and its node are strings, and the uid of its database is a number.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.databases.shard_status import RESPONDING, ShardActivity, ShardLink, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.row_protocols import ShardRow
from shardboard.schemas.timestamps import iso

SAMPLED_METRICS = ("used_memory", "repl_lag_bytes")
"""Metrics of the newest sample that are part of a rendered shard."""
INFO_FIELDS = {
    "allocator_active": "allocator_active",
    "allocator_allocated": "allocator_allocated",
    "allocator_resident": "allocator_resident",
    "blocked_clients": "blocked_clients",
    "connected_clients": "clients",
    "connected_slaves": "replicas",
    "evicted_keys": "evicted",
    "expired_keys": "expired",
    "instantaneous_ops_per_sec": "instantaneous_ops",
    "keyspace_hits": "hits",
    "keyspace_misses": "misses",
    "master_repl_offset": "repl_offset",
    "maxclients": "connection_limit",
    "maxmemory": "maxmemory",
    "mem_fragmentation_ratio": "fragmentation",
    "pubsub_channels": "pubsub_channels",
    "pubsub_patterns": "pubsub_patterns",
    "rdb_changes_since_last_save": "unsaved_changes",
    "rdb_last_save_time": "last_save",
    "rejected_connections": "rejected",
    "sync_full": "sync_full",
    "sync_partial_err": "sync_partial_err",
    "sync_partial_ok": "sync_partial_ok",
    "total_connections_received": "connections",
    "used_memory": "used_memory",
    "used_memory_lua": "memory_lua",
    "used_memory_peak": "memory_peak",
    "used_memory_rss": "used_memory_rss",
}
"""Fields of INFO that the agents sample, with the names of their samples (`contract/samples.py`)."""
_STATUSES: list[JsonValue] = list(ShardStatus)


class Loading(BaseModel):
    status: str = Field(json_schema_extra={"enum": [ShardLink.IDLE, ShardLink.IN_PROGRESS]})


class Sync(BaseModel):
    status: str = Field(json_schema_extra={"enum": [ShardLink.IDLE, ShardLink.IN_PROGRESS, ShardLink.LINK_DOWN]})
    progress: int = Field(description="Bytes that the replica has not received yet, if known.")


class ShardBackup(BaseModel):
    status: str = Field(json_schema_extra={"enum": ["exporting", "succeeded", "failed"]})
    progress: float = Field(description="0-100")


class Shard(BaseModel):
    uid: str
    bdb_uid: int
    node_uid: str
    node: int = Field(description="Same as `node_uid`, as a number.")
    role: str = Field(description="Role according to the console.", json_schema_extra={"enum": list(ShardRole)})
    actual_role: str = Field(description="Last observed role; empty before the first observation.")
    status: str = Field(json_schema_extra={"enum": list(ShardActivity)})
    detailed_status: str = Field(
        description="`busy`: the primary runs but rejects requests, because its cluster state is `fail`.",
        json_schema_extra={"enum": _STATUSES},
    )
    detail: str = Field(description="Message if the shard is not ok.")
    assigned_slots: str = Field(description='Ranges of hash slots, for example "0-99,200-8191"; empty without slots.')
    lost_lead: bool = Field(
        description="Whether the shard was a primary when its node failed, and is now a replica. `return_primaries` makes it the "
        "primary again."
    )
    pair: int = Field(description="Number of the replication pair. A primary and its replica have the same number.")
    loading: Loading
    sync: Annotated[Sync | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Only for replicas."""
    backup: Annotated[ShardBackup | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """The last backup of the database; missing if there was none, and in the event stream."""
    marked_for_removal: bool = Field(
        default=False, description="Always false: shards that are removed are no longer returned."
    )
    redis_info: Annotated[
        dict[str, float] | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)
    ]
    """The fields of `extra_info_keys` in the newest sample; missing without the parameter, and without a sample."""
    address: str
    port: int
    pid: OptionalInt
    started_at: OptionalStr
    engine_version: OptionalStr = Field(
        description="Version of the running Valkey; missing before the first observation."
    )
    used_memory: OptionalInt = Field(
        description="Memory usage in bytes from the newest sample; missing without a sample."
    )
    report_timestamp: OptionalStr = Field(description="Time of the last observation.")


def render(shard: ShardRow, address: str, latest: Mapping[str, float | None]) -> dict[str, Any]:
    """Render a shard. `address` is its node's address; `latest` are the SAMPLED_METRICS that are known."""
    memory = latest.get("used_memory")
    is_rejecting = shard.observed_status == ShardStatus.OK and shard.observed_link == ShardLink.CLUSTER_DOWN
    reply: dict[str, Any] = {
        "uid": str(shard.uid),
        "bdb_uid": shard.bdb_uid,
        "node_uid": str(shard.node_uid),
        "node": shard.node_uid,
        "role": shard.current_role,
        "actual_role": shard.observed_role or "",
        "status": ShardActivity.ACTIVE if shard.observed_status in RESPONDING else ShardActivity.INACTIVE,
        "detailed_status": ShardStatus.BUSY if is_rejecting else shard.observed_status,
        "detail": shard.detail,
        "assigned_slots": shard.slots,
        "lost_lead": shard.should_regain_primary and shard.current_role == ShardRole.REPLICA,
        "pair": shard.pair,
        "loading": {
            "status": ShardLink.IN_PROGRESS if shard.observed_status == ShardStatus.LOADING else ShardLink.IDLE
        },
        "marked_for_removal": False,
        "address": address,
        "port": shard.port,
        **without_none(
            pid=shard.observed_pid,
            started_at=iso(shard.observed_started_at) if shard.observed_started_at else None,
            engine_version=shard.observed_version or None,
            used_memory=None if memory is None else int(memory),
            report_timestamp=iso(shard.observed_at) if shard.observed_at else None,
        ),
    }
    if shard.current_role == ShardRole.REPLICA:
        reply["sync"] = {
            "status": shard.observed_link or ShardLink.IN_PROGRESS,
            "progress": int(latest.get("repl_lag_bytes") or 0),
        }
    return reply


def info_fields(keys: Collection[str], sample: Mapping[str, float | None]) -> dict[str, float]:
    """Return these fields of INFO from a sample, without those that the engine did not report. Whole numbers are integers."""
    found = ((key, sample.get(INFO_FIELDS[key])) for key in sorted(keys))
    return {key: int(value) if value.is_integer() else value for key, value in found if value is not None}


def backup_of(operations: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the last backup of a database from its status fields; None if there was none."""
    status = operations["backup_status"]
    return {"status": status, "progress": operations["backup_progress"]} if status else None
