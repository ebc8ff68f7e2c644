"""Nodes in the format of replies and the event stream."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from shardboard.domain.cluster.node_status import AgentStatus, NodeDuty, NodeHealth, NodeState
from shardboard.domain.databases.flash import ShardMemory
from shardboard.domain.placement import zones
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.rules import AddressRule, ListRule, Rule, TextRule
from shardboard.schemas.cluster.cpu_pinning import NOT_PINNED, CpuPinning, CpuPinningUpdate, Cpus, PinningState
from shardboard.schemas.cluster.node_actions import SnapshotRow
from shardboard.schemas.databases.bdb_fields import ENGINE_VERSION
from shardboard.schemas.optional_fields import OptionalInt, OptionalStr, without_default, without_none
from shardboard.schemas.row_protocols import NodeRow, ShardRow
from shardboard.schemas.timestamps import iso

SUPPORTED_DATABASE_VERSIONS = [
    {
        "db_type": "redis",
        "major": True,
        "redis_version": ENGINE_VERSION.rpartition(".")[0],
        "version": ENGINE_VERSION,
    }
]

CONFIG_DEFAULTS: dict[str, Any] = {
    "external_addr": [],
    "rack_id": "",
    "second_rack_id": "",
    "recovery_path": "",
    "max_listeners": 100,
    "max_redis_servers": 512,
    "max_redis_forks": -1,
    "max_slave_full_syncs": -1,
    "oss_cluster_ip_mapping": [],
    "cpu_pinning": CpuPinningUpdate().model_dump(),
}

READ_ONLY = (
    *("os_semantic_version", "supported_database_versions", "persistent_storage_path", "ephemeral_storage_size"),
    *("ephemeral_storage_path", "ram_shard_count", "system_time", "fips_enabled", "use_internal_ipv6"),
    *("bigstore_driver", "public_addr"),
)
"""Fields of the rendered node that `Node` does not declare. Clients send back the object that they received."""

LatestSample = Mapping[str, float | None]


class Node(BaseModel):
    """The most used fields. Responses contain all fields of the Redis Enterprise REST API."""

    model_config = ConfigDict(extra="allow")

    uid: int
    addr: str
    status: str = Field(json_schema_extra={"enum": list(NodeState)})
    hostname: str
    machine_id: str = Field(description="Id of the machine. It is the same for all agents of a machine.")
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    software_version: str
    agent_version: str
    agent_status: str = Field(json_schema_extra={"enum": list(AgentStatus)})
    engine_version: str = Field(description="Version of valkey-server; empty if it is not installed.")
    memtier_version: str = Field(
        description="Version of memtier_benchmark on the agent's PATH; empty if it is not installed."
    )
    unavailable_since: OptionalStr = Field(
        description="Last contact with the machine or, if only the agent is lost, with the agent; missing while it is connected."
    )
    last_seen: str
    total_memory: int
    free_ram: OptionalInt = Field(
        description="Available memory of the machine, in bytes; missing without a recent sample."
    )
    persistent_storage_size: float
    shard_count: int
    shard_list: list[int]
    accept_servers: bool
    rack_id: str = Field(description="Zone (rack) of the node; empty if it has none.")
    second_rack_id: str = Field(description="Second zone whose loss also takes the node down; empty if it has none.")
    in_maintenance: bool = Field(
        description="Whether the node is in maintenance: its shards were moved, and it gets no new ones."
    )
    max_redis_servers: int
    bigstore_enabled: bool = Field(description="Whether the node has flash for databases on flash.")
    bigstore_size: int = Field(description="Flash that shards can use, in bytes.")
    bigredis_storage_path: str = Field(description="Path of the flash; empty without flash.")
    flash_shard_count: int = Field(description="Number of shards of databases on flash.")
    uptime: int
    probes_per_second: OptionalInt = Field(
        description="Maximum number of PINGs and canary writes per second that each shard of the node receives. "
        "The agent lowers the rate when many engine processes share few cores."
    )
    firewall: OptionalStr = Field(
        description="`active` if the ports of shards are open to the nodes of the cluster only, `off` if the policy "
        "`shard_firewall` is off or a node has an agent of the previous release, `unavailable` if the agent cannot filter "
        "packets. Missing if the agent does not report it."
    )
    firewall_detail: OptionalStr = Field(description="Why `firewall` is `unavailable`.")
    cpus: Annotated[Cpus | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)]
    """Missing if the agent does not report its cores."""
    cpu_pinning: CpuPinning
    cpu_pinning_state: PinningState


class MaintenanceSnapshot(BaseModel):
    name: str
    node_uid: str
    created_time: str


class NodeStatusReport(BaseModel):
    hostname: str
    role: str = Field(description="`master` for the node with the lowest uid, `slave` for the others.")
    node_status: str
    cores: int
    total_memory: int
    free_ram: OptionalInt
    total_provisional_ram: int
    free_provisional_ram: int
    node_overbooking_depth: int
    provisional_flash: OptionalInt = Field(
        description="Flash that is not assigned to shards, in bytes; missing without flash."
    )
    master_shards: list[int]
    slave_shards: list[int]
    software_version: str
    software_version_sha: str
    maintenance_snapshot: Annotated[
        MaintenanceSnapshot | SkipJsonSchema[None], Field(default=None, json_schema_extra=without_default)
    ]
    """Only while the node is in maintenance."""


def render(
    node: NodeRow, shards: Sequence[ShardRow], latest: LatestSample, now: datetime, *, on_flash: Collection[int]
) -> dict[str, Any]:
    """Render a node.

    `shards` are the node's shards. `latest` is its newest sample by metric name, empty without a sample. `on_flash` are the uids of
    the databases on flash.
    """
    facts = node.facts
    uids = sorted(shard.uid for shard in shards)
    flash_shards = sum(shard.bdb_uid in on_flash for shard in shards)
    # Facts are as old as the last contact, but the machine has been running since then.
    since_contact = max(0, int((now - node.last_seen).total_seconds()))
    return {
        "uid": node.uid,
        "addr": node.addr,
        "status": _status(node),
        "accept_servers": node.accept_servers,
        "in_maintenance": node.duty == NodeDuty.MAINTENANCE,
        "architecture": facts["architecture"],
        "cores": facts["cores"],
        "hostname": facts["hostname"],
        "machine_id": facts["machine_id"],
        "os_name": facts["os_name"],
        "os_family": facts["os_family"],
        "os_version": facts["os_version"],
        "os_semantic_version": facts["os_version"],
        "software_version": facts["agent_version"],
        "agent_version": facts["agent_version"],
        "agent_status": node.agent_status,
        "engine_version": facts["engine_version"],
        "memtier_version": facts.get("memtier_version", ""),
        **without_none(probes_per_second=facts.get("probes_per_second")),
        **_firewall(facts.get("firewall")),
        **without_none(cpus=facts.get("cpus")),
        "cpu_pinning_state": node.pinning or NOT_PINNED,
        **without_none(unavailable_since=iso(node.unavailable_since) if node.unavailable_since else None),
        "last_seen": iso(node.last_seen),
        "supported_database_versions": SUPPORTED_DATABASE_VERSIONS if facts["engine_version"] else [],
        "total_memory": facts["total_memory"],
        **without_none(free_ram=_free(latest, facts["total_memory"])),
        "persistent_storage_size": float(facts["storage_size"]),
        "persistent_storage_path": facts["storage_path"],
        "ephemeral_storage_size": float(facts["storage_size"]),
        "ephemeral_storage_path": facts["storage_path"],
        "bigstore_enabled": node.flash_size > 0,
        "bigstore_size": node.flash_size,
        "bigredis_storage_path": facts.get("flash_path", ""),
        "bigstore_driver": "",
        **CONFIG_DEFAULTS,
        **node.config,
        "public_addr": next(iter(node.config.get("external_addr", ())), ""),
        "shard_count": len(uids),
        "ram_shard_count": len(uids) - flash_shards,
        "flash_shard_count": flash_shards,
        "shard_list": uids,
        "uptime": facts["uptime"] + (since_contact if node.agent_status == AgentStatus.CONNECTED else 0),
        "system_time": iso(now),
        "fips_enabled": False,
        "use_internal_ipv6": False,
    }


def _firewall(report: Mapping[str, str] | None) -> dict[str, str]:
    if report is None:
        return {}
    return {"firewall": report["state"], **({"firewall_detail": report["detail"]} if report["detail"] else {})}


def render_status(
    node: NodeRow,
    shards: Sequence[ShardRow],
    latest: LatestSample,
    *,
    promised: Collection[ShardMemory],
    leader: bool,
    snapshot: SnapshotRow | None,
) -> dict[str, Any]:
    """Render the status of a node. `promised` are the limits of its shards; `snapshot` is its maintenance snapshot."""
    facts = node.facts
    free = facts["total_memory"] - sum(share.ram for share in promised)
    flash = node.flash_size - sum(share.flash or 0 for share in promised)
    return {
        "hostname": facts["hostname"],
        "role": ShardRole.PRIMARY if leader else ShardRole.REPLICA,
        "node_status": _status(node),
        "cores": facts["cores"],
        "total_memory": facts["total_memory"],
        **without_none(free_ram=_free(latest, facts["total_memory"])),
        "total_provisional_ram": facts["total_memory"],
        "free_provisional_ram": max(0, free),
        "node_overbooking_depth": max(0, -free),
        **without_none(provisional_flash=max(0, flash) if node.flash_size else None),
        "master_shards": sorted(shard.uid for shard in shards if shard.current_role == ShardRole.PRIMARY),
        "slave_shards": sorted(shard.uid for shard in shards if shard.current_role == ShardRole.REPLICA),
        "software_version": facts["agent_version"],
        "software_version_sha": "",
        **without_none(
            maintenance_snapshot={
                "name": snapshot.name,
                "node_uid": str(snapshot.node_uid),
                "created_time": iso(snapshot.created_at),
            }
            if snapshot is not None
            else None
        ),
    }


def _status(node: NodeRow) -> str:
    # A lost agent does not imply that the machine is down. `agent_status` shows it.
    if node.health == NodeHealth.DOWN:
        return NodeState.DOWN
    return NodeState.DECOMMISSIONING if node.duty == NodeDuty.REMOVAL else NodeState.ACTIVE


def _free(latest: LatestSample, usable_memory: int) -> int | None:
    """Return the free memory, at most the memory that the node can use, which may be less than the machine has."""
    available = latest.get("available_memory")
    return None if available is None else min(int(available), usable_memory)


RACK_ID = TextRule(
    "a zone of letters, digits, hyphens and underscores that starts with a letter and ends with a letter or digit",
    zones.RACK_ID,
    zones.MAX_RACK_ID,
)
RULES: dict[str, Rule] = {
    "external_addr": ListRule(AddressRule(), 16),
    "rack_id": RACK_ID,
    "second_rack_id": RACK_ID,
    "recovery_path": TextRule("an absolute path", "|/.*", 4096),
}
"""Rules of text fields. `external_addr` and `recovery_path` are stored without effect."""


class NodeUpdate(BaseModel):
    """Fields of a node to change. Read-only and unknown fields are ignored, because clients send back the object that
    they received.
    """

    model_config = ConfigDict(strict=True, extra="ignore")

    KNOWN_FIELDS: ClassVar = (*CONFIG_DEFAULTS, *READ_ONLY)

    accept_servers: bool | None = Field(default=None, description="Whether the node can get new shards.")
    max_redis_servers: int | None = Field(default=None, ge=1, le=4096, description="Maximum number of shards.")
    max_slave_full_syncs: int | None = Field(
        default=None,
        ge=-1,
        le=1000,
        description="Maximum number of concurrent full syncs of the node; -1 = as in the policy, 0 = unlimited.",
    )
    max_redis_forks: int | None = Field(default=None, ge=-1, le=1000)
    max_listeners: int | None = Field(default=None, ge=1, le=10000)
    external_addr: list[str] | None = Field(default=None, max_length=16)
    rack_id: str | None = Field(
        default=None,
        max_length=64,
        description="Zone (rack) of the node; empty for none. Not case-sensitive.",
    )
    second_rack_id: str | None = Field(
        default=None, max_length=64, description="Second zone whose loss also takes the node down; empty for none."
    )
    recovery_path: str | None = Field(default=None, max_length=4096)
    cpu_pinning: CpuPinningUpdate | None = None

    @field_validator("external_addr", "rack_id", "second_rack_id", "recovery_path")
    @classmethod
    def _check(cls, value: Any, about: ValidationInfo) -> Any:
        name = str(about.field_name)
        if value is not None and (error := RULES[name].validation_error(value)):
            raise PydanticCustomError("field", "{field} {what}", {"field": name, "what": error})
        return value

    def changes(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)
