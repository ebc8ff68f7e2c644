"""Plan of a new database: its row, its shards and warnings. Nothing is written here.

`domain/databases/creation.py` decides the steps that start the database afterwards.
"""

import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import new_shards
from shardboard.actions.movement import node_capacities
from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.cluster.policy import Policy
from shardboard.domain.databases import bdb_rules, flash, hashing, io_threads, proxy_policy
from shardboard.domain.databases.bdb_rules import ClusterContext
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.io_threads import Host
from shardboard.domain.placement import shard_placement, slots
from shardboard.domain.placement.shard_placement import NodeCapacity, PlacedShard
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.zones import Zones
from shardboard.domain.rules import ValidationError
from shardboard.errors import ApiError, BadRequest, Conflict, NotAcceptable
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.schemas.cluster.cluster import reserved_ports
from shardboard.schemas.databases import bdb_fields
from shardboard.services.access import roles_and_acls
from shardboard.services.access.authorization import Principal
from shardboard.services.data import locations
from shardboard.state.access import roles_and_acls as roles
from shardboard.state.cluster import nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

_ERRORS: dict[str, type[ApiError]] = {"schema": BadRequest, "invalid": NotAcceptable, "conflict": Conflict}


@dataclass
class NewDatabase:
    """A planned database. Its rows do not belong to a session yet."""

    bdb: Bdb
    shards: list[Shard]
    warnings: list[str]


def raise_validation_error(error: ValidationError | None) -> None:
    """Raise the API error for a validation error."""
    if error is not None:
        raise _ERRORS[error.kind](error.code, error.message, field=error.field)


async def plan_creation(
    session: AsyncSession,
    payload: Mapping[str, Any],
    cluster: Cluster,
    principal: Principal,
    *,
    allow_duplicate_name: bool = False,
    may_overbook: bool = True,
) -> NewDatabase:
    """Validate the requested database and choose uids, ports and nodes. Raises the error of the first rule that it violates.

    With `may_overbook`, its nodes need not have enough free memory if the policy allows this.
    """
    policy = cluster.rules
    payload = await locations.check_scheduled(session, payload, {}, principal)
    desired = with_defaults(payload, policy)
    raise_validation_error(bdb_rules.check_fields(desired))
    databases, machines = await bdbs.list_all(session), await nodes.list_all(session)
    occupying = await shards.list_occupying(session)
    unknown = [node.unknown_shards for node in machines]
    taken_ports = {bdb.port for bdb in databases} | {shard.port for shard in occupying}
    taken_ports = taken_ports.union(*(each.ports for each in unknown))
    reserved = reserved_ports(cluster)
    eligible = [node for node in machines if _eligible(node, desired)]
    context = ClusterContext(
        taken_uids={bdb.uid for bdb in databases}.union(
            {shard.bdb_uid for shard in occupying}, *(each.bdb_uids for each in unknown)
        ),
        uids_in_roles={uid for role in await roles.list_roles(session) for uid in role.bdb_uids},
        taken_ports=taken_ports,
        reserved_ports=reserved,
        eligible_nodes=[node.uid for node in eligible],
        known_nodes=[node.uid for node in machines],
        taken_names=() if allow_duplicate_name else bdbs.names_in_use(databases),
        rack_aware=policy.rack_aware,
    )
    raise_validation_error(bdb_rules.check_conflicts(desired, context))
    await roles_and_acls.check_roles_permissions(session, desired["roles_permissions"])
    port = desired["port"] or bdb_rules.first_free_port(taken_ports | reserved)
    if port is None:
        raise NotAcceptable("port_unavailable", "All ports for databases are in use.", field="port")
    capacities = node_capacities(eligible, occupying, databases)
    zones = {node.uid: node.zones for node in machines} if desired["rack_aware"] else None
    plan = _place(capacities, desired, zones, overbooking=policy.shards_overbooking and may_overbook)
    node_uids = [shard.node_uid for shard in occupying] + [shard.node_uid for shard in plan]
    hosts = hosts_with_shard_counts(machines, node_uids, {shard.node_uid for shard in plan})
    desired["io_threads"] = desired["io_threads"] or io_threads.default_threads(hosts)
    raise_validation_error(io_threads.validation_error(desired["io_threads"], hosts))
    reserved_uids = context.taken_uids | context.uids_in_roles
    bdb = _row(desired, desired.get("uid") or bdb_rules.free_uid(cluster.next_bdb_uid, reserved_uids), port)
    shares = {pair: slots.render((each,)) for pair, each in enumerate(slots.split(bdb.shards_count))}
    rows = new_shards.new_shard_rows(plan, bdb.uid, cluster.next_shard_uid, occupying, machines, shares)
    places = [proxy_policy.ShardLocation(row.node_uid, row.pair, row.role == ShardRole.PRIMARY) for row in rows]
    bdb.endpoint_nodes = proxy_policy.bind(desired["proxy_policy"], [], places, [node.uid for node in machines])
    bdb.endpoint_retiring = {}
    return NewDatabase(bdb, rows, [*_warnings(desired, payload, machines), *_overbooked(capacities, rows, bdb)])


def with_defaults(payload: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return all fields: the given values, else the cluster's policy, else the defaults of the REST reference."""
    desired: dict[str, Any] = {"port": 0, "sharding": False, "shards_count": 1, "replication": False}
    desired |= bdb_fields.CONFIG_DEFAULTS
    desired["shards_placement"] = policy.default_shards_placement
    desired["oss_cluster"] = policy.default_oss_cluster and payload.get("sharding", False)
    desired["data_internode_encryption"] = policy.data_internode_encryption
    desired["io_threads"] = 0  # chosen once the nodes are known
    desired |= payload
    if "proxy_policy" not in payload:
        default_policy = (
            policy.default_sharded_proxy_policy if desired["sharding"] else policy.default_non_sharded_proxy_policy
        )
        desired["proxy_policy"] = "all-master-shards" if desired["oss_cluster"] else default_policy
    if desired["sharding"] and not desired["shard_key_regex"]:
        desired["shard_key_regex"] = [{"regex": rule} for rule in hashing.STANDARD]
    if "version" in payload and "redis_version" not in payload:
        desired["redis_version"] = ".".join(desired["version"].split(".")[:2])
    elif "redis_version" in payload and "version" not in payload:
        desired["version"] = desired["redis_version"]
    if desired["bigstore"] and not desired["bigstore_ram_size"]:
        processes = desired["shards_count"] * bdb_rules.copies(desired)
        desired["bigstore_ram_size"] = flash.default_ram(desired["memory_size"], max(1, processes))
    if desired["backup"] and "backup_interval" not in payload and not desired["backup_schedule"]["cron"]:
        desired["backup_interval"] = 0
    if not desired.get("uid"):
        desired.pop("uid", None)
    return desired


def hosts_with_shard_counts(machines: Sequence[Node], places: Sequence[int], chosen: Collection[int]) -> list[Host]:
    """Return the `chosen` nodes with the number of shards on their machines. `places` are the node uids of all shards."""
    machine = {node.uid: node.facts["machine_id"] for node in machines}
    shard_counts = Counter(machine.get(uid) for uid in places)
    return [
        Host(node.uid, node.facts["cores"], shard_counts[machine[node.uid]], node.facts["engine_version"])
        for node in machines
        if node.uid in chosen
    ]


def _eligible(node: Node, desired: Mapping[str, Any]) -> bool:
    name = str(node.uid)
    is_eligible = name not in desired["avoid_nodes"] and (not desired["use_nodes"] or name in desired["use_nodes"])
    return is_eligible and node.accept_servers and not node.duty and node.agent_status == AgentStatus.CONNECTED


def _place(
    capacities: Sequence[NodeCapacity],
    desired: Mapping[str, Any],
    zones: Mapping[int, Zones] | None,
    *,
    overbooking: bool,
) -> list[PlacedShard]:
    share = bdb_rules.shard_memory(desired)
    try:
        return shard_placement.place(
            capacities,
            pairs=desired["shards_count"],
            replication=desired["replication"],
            policy=desired["shards_placement"],
            shard_memory=share.ram,
            shard_flash=share.flash,
            overbooking=overbooking,
            zones=zones,
        )
    except shard_placement.InsufficientZones as reason:
        raise NotAcceptable("rack_awareness_violation", str(reason), field="rack_aware") from reason
    except shard_placement.InsufficientCapacity as reason:
        raise NotAcceptable("insufficient_resources", str(reason)) from reason


def _row(desired: Mapping[str, Any], uid: int, port: int) -> Bdb:
    now = datetime.now(UTC)
    return Bdb(
        uid=uid,
        name=desired["name"],
        status=BdbStatus.PENDING,
        status_detail="",
        incomplete_changes=[],
        memory_size=desired["memory_size"],
        port=port,
        port_requested=desired["port"],
        sharding=desired["sharding"],
        shards_count=desired["shards_count"],
        replication=desired["replication"],
        config={name: value for name, value in desired.items() if name not in bdb_fields.COLUMNS},
        admin_password=secrets.token_urlsafe(32),
        next_admin_password="",
        shard_certificates=ShardCertificates.issue().stored() if desired["data_internode_encryption"] else None,
        action_uid=None,
        created_at=now,
        changed_at=now,
    )


def _warnings(desired: Mapping[str, Any], payload: Mapping[str, Any], machines: Sequence[Node]) -> list[str]:
    """Return the properties of the database that the client may not expect, one sentence each."""
    warnings = []
    name = desired["name"]
    rules = [rule["regex"] for rule in desired["shard_key_regex"]]
    if rules and hashing.judge(rules, implicit_shard_key=desired["implicit_shard_key"]).misprint:
        warnings.append(
            f"The shard_key_regex of database {name} was interpreted as the standard policy: "
            "only the part of a key in braces is hashed if there is one, otherwise the complete key."
        )
    if desired["version"] != bdb_fields.ENGINE_VERSION:
        engines = sorted({node.facts.get("engine_version", "") for node in machines} - {""})
        warnings.append(
            f"Database {name} was created for version {desired['version']} and runs on Valkey "
            f"{', '.join(engines) or '8'}, which supports the commands of Redis {bdb_fields.ENGINE_VERSION}."
        )
    ineffective = ineffective_fields(payload)
    if ineffective:
        warnings.append(f"Fields of database {name} were stored without effect: {', '.join(ineffective)}.")
    return warnings


def ineffective_fields(payload: Mapping[str, Any]) -> list[str]:
    """Return the given fields that differ from their defaults and have no effect."""
    active = {*bdb_fields.COLUMNS, *bdb_fields.IMPLEMENTED, *bdb_fields.UNSUPPORTED, *bdb_fields.HIDDEN}
    return sorted(
        field
        for field, value in payload.items()
        if field not in active
        and (field not in bdb_fields.STORED_WITHOUT_EFFECT or value != bdb_fields.STORED_WITHOUT_EFFECT[field])
    )


def _overbooked(capacities: Sequence[NodeCapacity], rows: Sequence[Shard], bdb: Bdb) -> list[str]:
    size = bdb.shard_memory.ram
    short = [
        str(capacity.node_uid)
        for capacity in capacities
        if (count := sum(row.node_uid == capacity.node_uid for row in rows)) and count * size > capacity.free_memory
    ]
    if not short:
        return []
    return [
        f"Database {bdb.name} may grow beyond the memory of node {', '.join(short)}: the policy allows overbooking."
    ]
