"""A node as replies and the stream show it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.absent import OptionalInt, present
from shardboard.schemas.bdb_fields import ENGINE_VERSION
from shardboard.schemas.rows import NodeRow, ShardRow
from shardboard.schemas.times import iso

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
}

Latest = Mapping[str, float | None]


class Node(BaseModel):
    """The fields used most; replies carry those of the REST reference."""

    model_config = ConfigDict(extra="allow")

    uid: int
    addr: str
    status: str = Field(json_schema_extra={"enum": ["active", "down"]})
    hostname: str
    machine_id: str = Field(description="The same for all agents of one machine.")
    architecture: str
    cores: int
    os_name: str
    os_family: str
    os_version: str
    software_version: str
    agent_version: str
    agent_status: str = Field(json_schema_extra={"enum": ["connected", "lost"]})
    engine_version: str = Field(description="Version of valkey-server; empty when it is missing.")
    last_seen: str
    total_memory: int
    free_ram: OptionalInt = Field(description="Bytes that the machine has available; absent without a recent sample.")
    persistent_storage_size: float
    shard_count: int
    shard_list: list[int]
    accept_servers: bool
    max_redis_servers: int
    uptime: int


class NodeStatus(BaseModel):
    hostname: str
    role: str = Field(description="master for the node with the lowest uid, slave for the others.")
    node_status: str
    cores: int
    total_memory: int
    free_ram: OptionalInt
    total_provisional_ram: int
    free_provisional_ram: int
    node_overbooking_depth: int
    master_shards: list[int]
    slave_shards: list[int]
    software_version: str
    software_version_sha: str


def render(node: NodeRow, shards: Sequence[ShardRow], latest: Latest, now: datetime) -> dict[str, Any]:
    """`shards` are the node's, `latest` its newest sample by metric name, empty without one."""
    facts = node.facts
    uids = sorted(shard.uid for shard in shards)
    # Facts are as old as the last contact, and the machine has been running on since.
    silence = max(0, int((now - node.last_seen).total_seconds()))
    return {
        "uid": node.uid,
        "addr": node.addr,
        "status": _status(node),
        "accept_servers": node.accept_servers,
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
        "last_seen": iso(node.last_seen),
        "supported_database_versions": SUPPORTED_DATABASE_VERSIONS if facts["engine_version"] else [],
        "total_memory": facts["total_memory"],
        **present(free_ram=_free(latest)),
        "persistent_storage_size": float(facts["storage_size"]),
        "persistent_storage_path": facts["storage_path"],
        "ephemeral_storage_size": float(facts["storage_size"]),
        "ephemeral_storage_path": facts["storage_path"],
        "bigstore_enabled": False,
        "bigstore_size": 0,
        "bigredis_storage_path": "",
        **CONFIG_DEFAULTS,
        **node.config,
        "shard_count": len(uids),
        "ram_shard_count": len(uids),
        "flash_shard_count": 0,
        "shard_list": uids,
        "uptime": facts["uptime"] + (silence if node.agent_status == "connected" else 0),
        "system_time": iso(now),
        "fips_enabled": False,
        "use_internal_ipv6": False,
    }


def render_status(
    node: NodeRow, shards: Sequence[ShardRow], latest: Latest, *, promised: int, leader: bool
) -> dict[str, Any]:
    """`promised` is the memory that databases may use on this node."""
    facts = node.facts
    free = facts["total_memory"] - promised
    return {
        "hostname": facts["hostname"],
        "role": "master" if leader else "slave",
        "node_status": _status(node),
        "cores": facts["cores"],
        "total_memory": facts["total_memory"],
        **present(free_ram=_free(latest)),
        "total_provisional_ram": facts["total_memory"],
        "free_provisional_ram": max(0, free),
        "node_overbooking_depth": max(0, -free),
        "master_shards": sorted(shard.uid for shard in shards if shard.current_role == "master"),
        "slave_shards": sorted(shard.uid for shard in shards if shard.current_role == "slave"),
        "software_version": facts["agent_version"],
        "software_version_sha": "",
    }


def _status(node: NodeRow) -> str:
    # A lost agent says nothing about the machine: `agent_status` tells of it.
    return "down" if node.health == "down" else "active"


def _free(latest: Latest) -> int | None:
    available = latest.get("available_memory")
    return None if available is None else int(available)
