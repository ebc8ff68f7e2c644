"""A database as replies and the stream show it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.observe import is_ready
from shardboard.schemas import bdb_fields
from shardboard.schemas.absent import OptionalInt, OptionalStr, present, without_default
from shardboard.schemas.bdb_requests import (
    AofPolicy,
    EvictionPolicy,
    Persistence,
    Placement,
    ProxyPolicy,
    RegexRule,
    RolePermission,
    SnapshotPoint,
    Tag,
)
from shardboard.schemas.rows import BdbRow, ClusterRow, NodeRow, ShardRow
from shardboard.schemas.times import iso


class OldAddress(BaseModel):
    addr: str
    until: str = Field(description="ISO time; earlier when its node leaves.")


class Endpoint(BaseModel):
    uid: str = Field(description='"<bdb>:<endpoint>"')
    addr: list[str] = Field(description="Addresses of the nodes that serve the port.")
    old_addr: list[OldAddress] = Field(description="Addresses that clients must leave, while they answer (ours).")
    addr_type: str
    dns_name: str
    port: int
    proxy_policy: str
    oss_cluster_api_preferred_ip_type: str
    oss_cluster_api_preferred_endpoint_type: str


ReshardPace = Literal["gentle", "fast"]


class ReshardEstimate(BaseModel):
    """At one pace; rounded up, and of other machines."""

    pace: ReshardPace
    seconds: OptionalInt = Field(description="About so many; absent when sizes are not known.")
    time: str = Field(description='"about 40 s", or a sentence that says why nobody knows.')
    latency: str = Field(description="What clients notice, with what was measured.")
    basis: str = Field(description="Where the rates come from.")


class ReshardPreview(BaseModel):
    """What another number of pairs would cost."""

    slots: int = Field(description="That move.")
    keys: OptionalInt = Field(description="That move, by the newest samples.")
    bytes: OptionalInt = Field(description="Of memory that move.")
    pace: ReshardPace = Field(description="That the policy has now.")
    estimates: list[ReshardEstimate]


class Bdb(BaseModel):
    """The fields used most; replies carry all of the REST reference's."""

    model_config = ConfigDict(extra="allow")

    uid: int
    name: str
    type: str
    status: str = Field(
        description="State of the database's life.",
        json_schema_extra={"enum": ["pending", "active", "active-change-pending", "delete-pending", "creation-failed"]},
    )
    status_detail: str = Field(description="One sentence, for example why the creation failed; else empty.")
    incomplete_changes: list[str] = Field(
        description="Fields of an earlier change that may not have reached all shards; the next change brings them along, and one "
        "without a difference, `{}`, tries again (ours)."
    )
    progress: float = Field(description="0-100 while an action runs on the database, else 100.")
    action_uid: OptionalStr = Field(description="Running action; absent when idle.")
    memory_size: int = Field(description="Bytes for the whole database, replicas included; 0 = no limit.")
    port: int = Field(description="As asked for: 0 when assigned. The real one is in endpoints.")
    endpoints: list[Endpoint]
    sharding: bool
    shards_count: int = Field(description="Primaries.")
    shard_list: list[int]
    shards_in_sync: int = Field(description="Shards that run and, being replicas, have caught up.")
    shards_total: int
    shards_down: int = Field(description="Shards whose process does not run or does not answer.")
    primaries_down: int = Field(description="How many of these are primaries: their slots are not served.")
    shard_key_regex: list[RegexRule]
    oss_cluster: bool
    proxy_policy: ProxyPolicy
    shards_placement: Placement
    replication: bool
    data_persistence: Persistence
    aof_policy: AofPolicy
    snapshot_policy: list[SnapshotPoint]
    eviction_policy: EvictionPolicy
    roles_permissions: list[RolePermission]
    authentication_redis_pass: str = Field(
        description="Empty for users who may not edit the database. The first of its passwords; the others are not shown."
    )
    passwords_count: int = Field(description="By how many passwords the default user gets in (ours).")
    authentication: bool = Field(description="Whether clients need a password; told to everybody, unlike the password.")
    default_user: bool
    bigstore: bool = Field(description="On flash: memory_size is RAM and flash together.")
    bigstore_ram_size: int = Field(description="Bytes of memory_size that may be RAM; 0 when not on flash.")
    traffic_manually_disabled: bool = Field(description="Its endpoints are closed by `stop_traffic`.")
    io_threads: int = Field(description="Threads of each shard that read requests and write replies; 1 = off.")
    tags: list[Tag]
    redis_version: str
    version: str
    created_time: str
    last_changed_time: str
    reshard_preview: Annotated[
        ReshardPreview | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)
    ] = Field(description="Of a dry run of another shards_count: what it would cost (ours).")


_KEPT_ONLY = bdb_fields.ALIASES.keys() | bdb_fields.HIDDEN
_SHOWN_AS = dict.fromkeys(bdb_fields.HIDDEN, "authentication_redis_pass")


def render(
    bdb: BdbRow,
    shards: Sequence[ShardRow],
    nodes: Iterable[NodeRow],
    cluster: ClusterRow,
    *,
    progress: float | None = None,
    secrets: bool = False,
) -> dict[str, Any]:
    """All fields of the reference and ours. `progress` is that of the running action; `secrets` shows passwords."""
    config = {**bdb_fields.CONFIG_DEFAULTS, **bdb.config}
    passwords = bdb.passwords
    config = {name: value for name, value in config.items() if name not in _KEPT_ONLY}
    if not secrets:
        config |= bdb_fields.SECRETS
    return {
        "uid": bdb.uid,
        "name": bdb.name,
        "status": bdb.status,
        "status_detail": bdb.status_detail,
        "incomplete_changes": list(dict.fromkeys(_SHOWN_AS.get(name, name) for name in bdb.incomplete_changes)),
        "progress": 100.0 if progress is None else progress,
        "memory_size": bdb.memory_size,
        "port": bdb.port_requested,
        "endpoints": [_endpoint(bdb, config, nodes, cluster)],
        "sharding": bdb.sharding,
        "shards_count": bdb.shards_count,
        "shard_list": [shard.uid for shard in shards],
        "shards_in_sync": sum(in_sync(shard) for shard in shards),
        "shards_total": len(shards),
        "shards_down": sum(is_down(shard) for shard in shards),
        "primaries_down": sum(is_down(shard) and shard.current_role == "master" for shard in shards),
        "replication": bdb.replication,
        "authentication": bool(passwords),
        "passwords_count": len(passwords),
        **bdb_fields.STATIC,
        **config,
        "created_time": iso(bdb.created_at),
        "last_changed_time": iso(bdb.changed_at),
        **present(action_uid=bdb.action_uid),
    }


def blueprint(shards: Sequence[ShardRow]) -> list[dict[str, Any]]:
    """Where each pair is, in the form of the REST reference (3.9)."""
    pairs: dict[int, list[ShardRow]] = {}
    for shard in shards:
        pairs.setdefault(shard.pair, []).append(shard)
    return [
        {
            "nodes": [
                {"node_uid": str(shard.node_uid), "role": shard.current_role}
                for shard in sorted(held, key=lambda shard: shard.current_role)
            ],
            "slot_range": held[0].slots,
        }
        for _, held in sorted(pairs.items())
    ]


def in_sync(shard: ShardRow) -> bool:
    """A primary that serves, or a replica that has caught up with it."""
    return is_ready(shard.observed_status, shard.current_role, shard.observed_link)


def is_down(shard: ShardRow) -> bool:
    """Its process does not run, or does not answer; one that nobody has seen yet is being started."""
    return shard.observed_status not in ("ok", "loading", "unknown")


def _endpoint(bdb: BdbRow, config: Mapping[str, Any], nodes: Iterable[NodeRow], cluster: ClusterRow) -> dict[str, Any]:
    machines = sorted(nodes, key=lambda node: node.uid)
    serving = [node for node in machines if node.uid in bdb.endpoint_nodes]
    living = [node for node in serving if node.health != "down"]
    return {
        "uid": f"{bdb.uid}:1",
        "addr": [node.addr for node in living or serving],
        "old_addr": [
            {"addr": node.addr, "until": iso(bdb.retiring[node.uid])}
            for node in machines
            if node.uid in bdb.retiring and node.health != "down"
        ],
        "addr_type": config["oss_cluster_api_preferred_ip_type"],
        "dns_name": f"redis-{bdb.port}.{cluster.name}",
        "port": bdb.port,
        "proxy_policy": config["proxy_policy"],
        "oss_cluster_api_preferred_ip_type": config["oss_cluster_api_preferred_ip_type"],
        "oss_cluster_api_preferred_endpoint_type": config["oss_cluster_api_preferred_endpoint_type"],
    }
