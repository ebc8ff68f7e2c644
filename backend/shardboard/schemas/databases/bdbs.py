"""Databases in the format of replies and the event stream."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.data.status_fields import status_fields
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.bdb_status import NEVER_SET, BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus, is_ready
from shardboard.domain.databases.store_mismatch import describe, plan_repair
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.data.locations import without_secrets
from shardboard.schemas.databases import bdb_fields
from shardboard.schemas.databases.backup_settings import BackupRetention, BackupSchedule
from shardboard.schemas.databases.bdb_requests import (
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
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.row_protocols import BdbRow, ClusterRow, NodeRow, ShardRow
from shardboard.schemas.timestamps import iso


class OldAddress(BaseModel):
    addr: str
    until: str = Field(description="ISO 8601 time until which the address works; earlier if its node is removed.")


class Endpoint(BaseModel):
    uid: str = Field(description='"<bdb>:<endpoint>"')
    addr: list[str] = Field(description="Addresses of the nodes that serve the port.")
    old_addr: list[OldAddress] = Field(
        description="Addresses that still work but that clients have to stop using (extension)."
    )
    addr_type: str
    dns_name: str = Field(
        description="`redis-<port>.<dns_suffix>` if the cluster setting `dns_suffix` is set, otherwise the first address."
    )
    port: int
    proxy_policy: str
    oss_cluster_api_preferred_ip_type: str
    oss_cluster_api_preferred_endpoint_type: str


ReshardPace = Literal["gentle", "fast"]


class ReshardEstimate(BaseModel):
    """Estimate for one pace. It is rounded up, and based on measurements on other machines."""

    pace: ReshardPace
    seconds: OptionalInt = Field(description="Estimated duration in seconds; missing if the sizes are unknown.")
    time: str = Field(description='Duration as text such as "about 40 s", or the reason why it is unknown.')
    latency: str = Field(description="Expected effect on latency, with measurements.")
    basis: str = Field(description="Source of the rates.")


class ReshardPreview(BaseModel):
    """Estimated cost of a different number of replication pairs."""

    slots: int = Field(description="Number of slots to move.")
    keys: OptionalInt = Field(description="Number of keys to move, from the newest samples.")
    bytes: OptionalInt = Field(description="Memory to move in bytes.")
    pace: ReshardPace = Field(description="Current pace of the policy.")
    estimates: list[ReshardEstimate]


class Bdb(BaseModel):
    """The most used fields. Responses contain all fields of the Redis Enterprise REST API."""

    model_config = ConfigDict(extra="allow")

    uid: int
    name: str
    type: str
    status: str = Field(
        description="Status of the database.",
        json_schema_extra={"enum": [each for each in BdbStatus if each not in NEVER_SET]},
    )
    status_detail: str = Field(description="Message, for example why the creation failed; otherwise empty.")
    internal: bool = Field(
        description="Whether this is the temporary database of a verification, which is deleted when the verification ends."
    )
    scenario_run_uid: OptionalInt = Field(
        description="The scenario run that created the database; missing for other databases (extension)."
    )
    incomplete_changes: list[str] = Field(
        description="Fields of an earlier change that may not have reached all shards. The next change includes them; an empty "
        "change, `{}`, retries them (extension)."
    )
    mismatch: OptionalStr = Field(
        description="How its shards differ from the store; missing if they agree. `POST /v1/bdbs/{uid}/actions/repair` repairs it "
        "(extension)."
    )
    progress: float = Field(description="0-100 while an action runs on the database, otherwise 100.")
    action_uid: OptionalStr = Field(description="Uid of the running action; missing if there is none.")
    memory_size: int = Field(description="Memory limit of the database in bytes, including replicas; 0 = no limit.")
    port: int = Field(description="Port of the endpoint. The console assigned it if the request contained none.")
    endpoints: list[Endpoint]
    sharding: bool
    shards_count: int = Field(description="Number of primaries.")
    shard_list: list[int]
    shards_in_sync: int = Field(description="Number of running primaries and in-sync replicas.")
    shards_total: int
    shards_down: int = Field(description="Number of shards whose process does not run or does not respond.")
    primaries_down: int = Field(description="Number of these shards that are primaries. Their slots are not served.")
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
        description="First password of the default user; the others are not returned. Empty for users who cannot edit the database."
    )
    passwords_count: int = Field(description="Number of passwords of the default user (extension).")
    authentication: bool = Field(
        description="Whether clients need a password. Unlike the password, it is visible to all users."
    )
    default_user: bool
    bigstore: bool = Field(description="Whether the database is on flash: memory_size is the sum of RAM and flash.")
    bigstore_ram_size: int = Field(
        description="RAM limit in bytes, as a part of memory_size; 0 if the database is not on flash."
    )
    traffic_manually_disabled: bool = Field(description="Whether `stop_traffic` has closed the endpoints.")
    io_threads: int = Field(description="Threads of each shard that read requests and write replies; 1 = off.")
    backup: bool = Field(description="Whether backups are made on a schedule.")
    backup_interval: int
    backup_interval_offset: int
    backup_schedule: BackupSchedule
    backup_location: dict[str, Any] = Field(
        description="Location of scheduled backups without secrets; empty for users who cannot edit the database."
    )
    backup_location_uid: int
    backup_history: int
    backup_retention: BackupRetention
    backup_status: str = Field(
        description="Status of the last backup; empty if there is none. The other status fields apply to exports, "
        "and to imports and restores.",
        json_schema_extra={"enum": ["", "exporting", "succeeded", "failed"]},
    )
    backup_progress: float = Field(description="0-100")
    backup_failure_reason: str
    last_backup_time: OptionalStr = Field(description="End of the last successful backup; missing: never.")
    export_status: str = Field(json_schema_extra={"enum": ["", "exporting", "succeeded", "failed"]})
    export_progress: float
    export_failure_reason: str
    last_export_time: OptionalStr
    import_status: str = Field(json_schema_extra={"enum": ["", "importing", "succeeded", "failed"]})
    import_progress: float
    import_failure_reason: str
    tags: list[Tag]
    redis_version: str
    version: str
    created_time: str
    last_changed_time: str
    reshard_preview: Annotated[
        ReshardPreview | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)
    ] = Field(description="Estimated cost, in a dry run that changes shards_count (extension).")


NO_OPERATIONS = {
    name: value for kind in ("backup", "export", "import") for name, value in status_fields(kind, None).items()
}
_FIXED = {"audit_settings": bdb_fields.UNSUPPORTED["audit_settings"], "availability_api": True}
"""Fields for which earlier releases stored any value."""
_NOT_RETURNED = bdb_fields.ALIASES.keys() | bdb_fields.HIDDEN
_REPLACED_FIELDS = dict.fromkeys(bdb_fields.HIDDEN, "authentication_redis_pass")


def render(
    bdb: BdbRow,
    shards: Sequence[ShardRow],
    nodes: Iterable[NodeRow],
    cluster: ClusterRow,
    *,
    progress: float | None = None,
    secrets: bool = False,
    operations: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Render all fields. `progress` is the progress of the running action. `secrets` includes passwords. `operations` are the
    fields about the last backup, export and import; None if there were none."""
    config = {**bdb_fields.CONFIG_DEFAULTS, **bdb.config}
    passwords = bdb.passwords
    config = {name: value for name, value in config.items() if name not in _NOT_RETURNED}
    config["backup_schedule"] = backup_rules.schedule_options(config)
    config["backup_location"] = without_secrets(config["backup_location"])
    config["dataset_import_sources"] = [without_secrets(each) for each in config["dataset_import_sources"]]
    if not secrets:
        config |= bdb_fields.SECRETS
    return {
        "uid": bdb.uid,
        "name": bdb.name,
        "status": bdb.status,
        "status_detail": bdb.status_detail,
        "incomplete_changes": list(dict.fromkeys(_REPLACED_FIELDS.get(name, name) for name in bdb.incomplete_changes)),
        "progress": 100.0 if progress is None else progress,
        "memory_size": bdb.memory_size,
        "port": bdb.port,
        "endpoints": [_endpoint(bdb, config, nodes, cluster)],
        "sharding": bdb.sharding,
        "shards_count": bdb.shards_count,
        "shard_list": [shard.uid for shard in shards],
        "shards_in_sync": sum(in_sync(shard) for shard in shards),
        "shards_total": len(shards),
        "shards_down": sum(is_down(shard) for shard in shards),
        "primaries_down": sum(is_down(shard) and shard.current_role == ShardRole.PRIMARY for shard in shards),
        "replication": bdb.replication,
        "authentication": bool(passwords),
        "passwords_count": len(passwords),
        **bdb_fields.CONSTANT_FIELDS,
        **(operations if operations is not None else NO_OPERATIONS),
        **config,
        **_FIXED,
        "bigstore_ram_weights": [{"shard_uid": shard.uid, "weight": 1.0} for shard in shards if config["bigstore"]],
        "created_time": iso(bdb.created_at),
        "last_changed_time": iso(bdb.changed_at),
        **without_none(
            action_uid=bdb.action_uid,
            mismatch=_mismatch(bdb, shards),
            scenario_run_uid=bdb.scenario_run_uid,
        ),
    }


def _mismatch(bdb: BdbRow, shards: Sequence[ShardRow]) -> str | None:
    """Return the differences that an administrator must repair."""
    found = bdb.mismatch
    if not found or not (found.unresolved or plan_repair(shards, found, bdb.copies).is_needed):
        return None
    return describe(shards, found)


def blueprint(shards: Sequence[ShardRow]) -> list[dict[str, Any]]:
    """Return the nodes of each replication pair, in the format of the Redis Enterprise REST API."""
    pairs: dict[int, list[ShardRow]] = {}
    for shard in shards:
        pairs.setdefault(shard.pair, []).append(shard)
    return [
        {
            "nodes": [
                {"node_uid": str(shard.node_uid), "role": shard.current_role}
                for shard in sorted(pair_shards, key=lambda shard: shard.current_role)
            ],
            "slot_range": pair_shards[0].slots,
        }
        for _, pair_shards in sorted(pairs.items())
    ]


def in_sync(shard: ShardRow) -> bool:
    """Return whether the shard is a primary that serves its slots, or a replica that is in sync."""
    return is_ready(shard.observed_status, shard.current_role, shard.observed_link)


def is_down(shard: ShardRow) -> bool:
    """Return whether the process does not run or does not respond. A shard without observation yet is being started."""
    return shard.observed_status not in (ShardStatus.OK, ShardStatus.LOADING, ShardStatus.UNKNOWN)


def _endpoint(bdb: BdbRow, config: Mapping[str, Any], nodes: Iterable[NodeRow], cluster: ClusterRow) -> dict[str, Any]:
    machines = sorted(nodes, key=lambda node: node.uid)
    endpoint_nodes = [node for node in machines if node.uid in bdb.endpoint_nodes]
    up_nodes = [node for node in endpoint_nodes if node.health != NodeHealth.DOWN]
    addresses = [node.addr for node in up_nodes or endpoint_nodes]
    suffix = cluster.settings.dns_suffix
    return {
        "uid": f"{bdb.uid}:1",
        "addr": addresses,
        "old_addr": [
            {"addr": node.addr, "until": iso(bdb.retiring[node.uid])}
            for node in machines
            if node.uid in bdb.retiring and node.health != NodeHealth.DOWN
        ],
        "addr_type": config["oss_cluster_api_preferred_ip_type"],
        "dns_name": f"redis-{bdb.port}.{suffix}" if suffix else next(iter(addresses), ""),
        "port": bdb.port,
        "proxy_policy": config["proxy_policy"],
        "oss_cluster_api_preferred_ip_type": config["oss_cluster_api_preferred_ip_type"],
        "oss_cluster_api_preferred_endpoint_type": config["oss_cluster_api_preferred_endpoint_type"],
    }
