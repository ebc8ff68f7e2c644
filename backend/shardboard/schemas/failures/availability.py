"""Health reports of the Redis Enterprise REST API for clusters and databases, for monitoring and load balancers."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from shardboard.domain.cluster import license_terms
from shardboard.domain.cluster.node_status import AgentStatus, NodeDuty
from shardboard.domain.databases.shard_status import ShardLink, ShardStatus, is_ready
from shardboard.domain.failures import availability
from shardboard.domain.failures.availability import AvailabilityFault, CopyStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.schemas.alerting import alarms as health
from shardboard.schemas.row_protocols import BdbRow, ClusterRow, EventRow, NodeRow, ShardRow
from shardboard.schemas.timestamps import iso

_PERSISTENCE = {"snapshot": "rdb"}
_SEVERITIES = {"ok": "info", "warning": "warning", "error": "critical"}


class ActiveAlert(BaseModel):
    name: str
    severity: Literal["info", "warning", "critical"]
    threshold: str
    active_since: str


class ShardHealth(BaseModel):
    id: int
    role: Literal["leader", "follower"]
    status: Literal["active", "inactive"]
    detailed_status: str


class EndpointHealth(BaseModel):
    name: str
    availability: Literal["up", "down"]


class HighAvailability(BaseModel):
    status: Literal["up", "down", "disabled"]


class DatabaseInfo(BaseModel):
    """A database in the report of the cluster."""

    model_config = ConfigDict(extra="allow")

    id: int
    name: str
    status: Literal["active", "warning", "down"]
    detailed_status: str
    high_availability: HighAvailability
    version: str


class DatabaseHealth(DatabaseInfo):
    availability: Literal["up", "down"]
    availability_errors: list[str]
    creation_time: str
    last_configured_time: str
    persistence: Literal["disabled", "aof", "rdb"]
    shards_placement: str
    endpoints: list[EndpointHealth]
    shards: list[ShardHealth]
    active_alerts: list[ActiveAlert]


class NodeMemory(BaseModel):
    total_ram: int
    free_ram: int | None
    total_provisional_ram: int
    free_provisional_ram: int
    overbooking_depth: int


class NodeHealth(BaseModel):
    """The most used fields."""

    model_config = ConfigDict(extra="allow")

    id: int
    role: Literal["leader", "follower"]
    status: Literal["active", "warning", "down"]
    detailed_status: str
    version: str
    memory: NodeMemory
    shards: list[ShardHealth]
    in_maintenance: bool
    observed_at: int
    active_alerts: list[ActiveAlert]


class ClusterHealth(BaseModel):
    model_config = ConfigDict(extra="allow")

    fqdn: str
    status: Literal["ok", "warning", "error"]
    nodes: list[NodeHealth]
    database_infos: list[DatabaseInfo]
    active_alerts: list[ActiveAlert]


def copies(shards: Iterable[ShardRow]) -> list[CopyStatus]:
    """Convert the shards of a database for `domain.availability`, without those of pairs that serve no slots: an operation has just
    started them, or is about to remove them."""
    return [
        CopyStatus(
            shard.pair,
            shard.current_role == ShardRole.PRIMARY,
            is_ready(shard.observed_status, shard.current_role, shard.observed_link),
        )
        for shard in shards
        if shard.slots
    ]


def database(
    bdb: BdbRow, shards: Sequence[ShardRow], faults: Sequence[AvailabilityFault], alarms: Sequence[EventRow]
) -> dict[str, Any]:
    """Render the report of a database. `faults` are the result of `domain.availability`."""
    bdb_alarms = [alarm for alarm in alarms if alarm.bdb_uid == bdb.uid]
    return {
        **_info(bdb, shards, faults, bdb_alarms),
        "availability": "down" if faults else "up",
        "availability_errors": list(faults),
        "creation_time": iso(bdb.created_at),
        "last_configured_time": iso(bdb.changed_at),
        "persistence": _PERSISTENCE.get(bdb.config["data_persistence"], bdb.config["data_persistence"]),
        "shards_placement": bdb.config["shards_placement"],
        "endpoints": [{"name": f"{bdb.uid}:1", "availability": "down" if "port_unbound" in faults else "up"}],
        "shards": [_shard(shard) for shard in shards],
        "active_alerts": [_alert(alarm) for alarm in bdb_alarms],
    }


def cluster(
    row: ClusterRow,
    machines: Sequence[NodeRow],
    statuses: Mapping[int, Mapping[str, Any]],
    databases: Sequence[tuple[BdbRow, Sequence[ShardRow], Sequence[AvailabilityFault]]],
    alarms: Sequence[EventRow],
    *,
    on_flash: int,
    issues_only: bool,
) -> dict[str, Any]:
    """Render the report of the cluster. `statuses` are rendered by `schemas.nodes`; `on_flash` is the number of flash shards."""
    shards = [shard for _, rows, _ in databases for shard in rows]
    shown_nodes = [_node(machine, statuses[machine.uid], shards, alarms) for machine in machines]
    infos = [
        _info(bdb, rows, faults, [each for each in alarms if each.bdb_uid == bdb.uid])
        for bdb, rows, faults in databases
    ]
    if issues_only:
        shown_nodes = [each for each in shown_nodes if each["status"] != "active"]
        infos = [each for each in infos if each["status"] != "active"]
    return {
        "fqdn": row.name,
        "status": health.status(alarms),
        "license": {
            "expired": False,
            "shards_in_use": len(shards),
            "ram_shards_in_use": len(shards) - on_flash,
            "flex_shards_in_use": on_flash,
            "shards_limit": license_terms.UNLIMITED,
            "ram_shards_limit": license_terms.UNLIMITED,
            "flex_shards_limit": license_terms.UNLIMITED,
            "valid_until": iso(license_terms.NEVER),
        },
        "certificates": [],
        "nodes": shown_nodes,
        "active_alerts": [_alert(alarm) for alarm in alarms],
        "database_infos": infos,
    }


def _info(
    bdb: BdbRow, shards: Sequence[ShardRow], faults: Sequence[AvailabilityFault], alarms: Sequence[EventRow]
) -> dict[str, Any]:
    lagging = availability.pairs_out_of_sync(copies(shards))
    return {
        "id": bdb.uid,
        "name": bdb.name,
        "status": "down" if faults else "warning" if lagging or alarms else "active",
        "detailed_status": bdb.status,
        "high_availability": {"status": "disabled" if not bdb.replication else "down" if lagging else "up"},
        "version": max((shard.observed_version for shard in shards), default=""),
    }


def _node(
    machine: NodeRow, status: Mapping[str, Any], shards: Sequence[ShardRow], alarms: Sequence[EventRow]
) -> dict[str, Any]:
    node_alarms = [alarm for alarm in alarms if alarm.node_uid == machine.uid]
    is_down = status["node_status"] == "down"
    return {
        "id": machine.uid,
        "role": "leader" if status["role"] == ShardRole.PRIMARY else "follower",
        "status": "down"
        if is_down
        else "warning"
        if node_alarms or machine.agent_status != AgentStatus.CONNECTED
        else "active",
        "detailed_status": status["node_status"],
        "version": status["software_version"],
        "memory": {
            "total_ram": status["total_memory"],
            "free_ram": status.get("free_ram"),
            "total_provisional_ram": status["total_provisional_ram"],
            "free_provisional_ram": status["free_provisional_ram"],
            "overbooking_depth": status["node_overbooking_depth"],
        },
        "shards": [_shard(shard) for shard in shards if shard.node_uid == machine.uid],
        "services": [],
        "persistent_memory_path": machine.facts["storage_path"],
        "persistent_memory_size": machine.facts["storage_size"],
        "ephemeral_memory_path": machine.facts["storage_path"],
        "ephemeral_memory_size": machine.facts["storage_size"],
        "quorum_only": False,
        "in_maintenance": machine.duty == NodeDuty.MAINTENANCE,
        "observed_at": _epoch(machine.last_seen),
        "active_alerts": [_alert(alarm) for alarm in node_alarms],
    }


def _shard(shard: ShardRow) -> dict[str, Any]:
    ready = is_ready(shard.observed_status, shard.current_role, shard.observed_link)
    is_rejecting = shard.observed_status == ShardStatus.OK and shard.observed_link == ShardLink.CLUSTER_DOWN
    return {
        "id": shard.uid,
        "role": "leader" if shard.current_role == ShardRole.PRIMARY else "follower",
        "status": "active" if ready else "inactive",
        "detailed_status": ShardStatus.BUSY if is_rejecting else shard.observed_status,
    }


def _alert(alarm: EventRow) -> dict[str, Any]:
    return {
        "name": alarm.type.removeprefix("alarm_"),
        "severity": _SEVERITIES[health.STATUS_BY_SEVERITY[alarm.severity]],
        "threshold": str(alarm.details.get("threshold", "")),
        "active_since": iso(alarm.time),
    }


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())
