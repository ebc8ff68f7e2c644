"""Validation of changes to an existing database."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.movement import node_capacities
from shardboard.domain.databases import backup_rules, bdb_rules, io_threads
from shardboard.errors import NotAcceptable
from shardboard.schemas.databases import bdb_fields
from shardboard.services.access import roles_and_acls
from shardboard.services.access.authorization import Principal
from shardboard.services.data import locations
from shardboard.services.databases.bdb_creation import hosts_with_shard_counts, raise_validation_error
from shardboard.state.cluster import nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb

CHANGEABLE = frozenset(
    {
        "name",
        "memory_size",
        "bigstore_ram_size",
        "shards_count",
        "tags",
        "eviction_policy",
        "data_persistence",
        "aof_policy",
        "snapshot_policy",
        "maxclients",
        "authentication_redis_pass",
        "disabled_commands",
        "roles_permissions",
        "proxy_policy",
        "tls_mode",
        "max_connections",
        "io_threads",
        "replication",
        "rack_aware",
        "shards_placement",
        "slave_ha",
        "slave_ha_priority",
        "backup",
        "backup_interval",
        "backup_interval_offset",
        "backup_schedule",
        "backup_location",
        "backup_location_uid",
        "backup_history",
        "backup_retention",
    }
)
CHANGEABLE_WITH_SHARDS_COUNT = frozenset(
    {"shards_count", "memory_size", "bigstore_ram_size", "name", "tags", "eviction_policy"}
)
"""Fields that one request may change together with the number of shards."""
_EFFECTIVE = frozenset({*bdb_fields.COLUMNS, *bdb_fields.IMPLEMENTED, *bdb_fields.UNSUPPORTED})


async def validated_changes(
    session: AsyncSession,
    bdb: Bdb,
    payload: Mapping[str, Any],
    cluster: Cluster,
    principal: Principal,
    *,
    allow_duplicate_name: bool = False,
) -> dict[str, Any]:
    """Return the fields that differ from the current values, after all checks. Clients may send unchanged fields as well."""
    current = _present(bdb)
    payload = await locations.check_scheduled(session, payload, current["backup_location"], principal)
    if "io_threads" in payload and payload["io_threads"] != current["io_threads"]:
        payload = {**payload, "io_threads": await _threads(session, bdb, payload["io_threads"])}
    changed = _changed_fields(bdb, current, payload)
    desired = current | changed
    if "shards_count" in changed:
        _require_sharding(bdb, changed)
    if "bigstore" in changed:
        kind = "on flash" if desired["bigstore"] else "in RAM"
        message = (
            f"bigstore of an existing database cannot be changed: create one {kind}, and restore a backup into it."
        )
        raise NotAcceptable("not_supported", message, field="bigstore")
    raise_validation_error(bdb_rules.check_fields(desired))
    await _check_redundancy(session, changed, cluster)
    if "roles_permissions" in changed:
        await roles_and_acls.check_roles_permissions(session, changed["roles_permissions"])
    fixed = sorted(changed.keys() & (_EFFECTIVE - CHANGEABLE))
    if fixed:
        message = f"{fixed[0]} of an existing database cannot be changed; omit it or send its current value."
        raise NotAcceptable("not_supported", message, field=fixed[0])
    if rejected := sorted(changed.keys() - CHANGEABLE_WITH_SHARDS_COUNT) if "shards_count" in changed else []:
        message = f"shards_count and {rejected[0]} cannot be changed by one request. Send two requests."
        raise NotAcceptable("not_supported", message, field=rejected[0])
    if "name" in changed and not allow_duplicate_name:
        raise_validation_error(bdb_rules.check_name(changed["name"], bdbs.names_in_use(await bdbs.list_all(session))))
    if "shards_count" not in changed and changed.keys() & {"memory_size", "bigstore_ram_size"}:
        await _check_capacity(session, bdb, desired, overbooking=cluster.rules.shards_overbooking)
    return changed


def incomplete_changes(bdb: Bdb) -> dict[str, Any]:
    """Return the desired values of fields that an earlier request changed and that may not have reached all shards."""
    current = _present(bdb)
    return {name: current[name] for name in bdb.incomplete_changes if name in current}


def _changed_fields(bdb: Bdb, present: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in payload.items() if name not in present or value != present[name]}
    if changed.get("port") == 0:
        del changed["port"]  # clients can send back the port of a database to which one was assigned as 0
    if "authentication_redis_pass" in changed and bdb.config.get("other_passwords"):
        changed["other_passwords"] = []  # a new password replaces all current ones
    return changed


def _present(bdb: Bdb) -> dict[str, Any]:
    columns = {
        "uid": bdb.uid,
        "name": bdb.name,
        "memory_size": bdb.memory_size,
        "port": bdb.port,
        "sharding": bdb.sharding,
        "shards_count": bdb.shards_count,
        "replication": bdb.replication,
    }
    config = {**bdb_fields.CONFIG_DEFAULTS, **bdb.config, **columns}
    config["backup_schedule"] = backup_rules.schedule_options(config)
    if not bdb.on_flash:
        config["bigstore_ram_size"] = 0  # earlier versions stored any value for databases in RAM
    config["audit_settings"] = bdb_fields.UNSUPPORTED["audit_settings"]  # earlier versions stored any value
    return config


async def _threads(session: AsyncSession, bdb: Bdb, requested: int) -> int:
    """Return `requested` if the nodes can provide that many threads; for 0, the default of the nodes."""
    rows = await shards.list_all(session)
    node_uids = {row.node_uid for row in rows if row.bdb_uid == bdb.uid}
    hosts = hosts_with_shard_counts(await nodes.list_all(session), [row.node_uid for row in rows], node_uids)
    threads = requested or io_threads.default_threads(hosts)
    if 0 < threads <= io_threads.MAX_THREADS:
        raise_validation_error(io_threads.validation_error(threads, hosts))
    return threads


def _require_sharding(bdb: Bdb, changed: Mapping[str, Any]) -> None:
    if bdb.sharding or "sharding" in changed:
        return
    message = (
        f"Database {bdb.name} is not sharded, and its clients may not support sharding: create a sharded database and "
        "restore a backup into it."
    )
    raise NotAcceptable("invalid_sharding", message, field="shards_count")


async def _check_redundancy(session: AsyncSession, changed: Mapping[str, Any], cluster: Cluster) -> None:
    if changed.get("rack_aware"):
        raise_validation_error(bdb_rules.check_rack_awareness(is_rack_aware=cluster.rules.rack_aware))
    if changed.get("replication") and len(await nodes.list_all(session)) < 2:
        message = "Replication needs at least two nodes: a replica on the node of its primary would be lost with it."
        raise NotAcceptable("replication_node_violation", message, field="replication")


async def _check_capacity(session: AsyncSession, bdb: Bdb, desired: Mapping[str, Any], *, overbooking: bool) -> None:
    """Check that nodes have the flash and, without overbooking, the memory by which the database's shards may grow."""
    before, after = bdb.shard_memory, bdb_rules.shard_memory(desired)
    ram = 0 if overbooking or (before.ram == 0) else after.ram - before.ram
    disk = (after.flash or 0) - (before.flash or 0)
    if ram <= 0 and disk <= 0:
        return
    occupying = await shards.list_occupying(session)
    for capacity in node_capacities(await nodes.list_all(session), occupying, await bdbs.list_all(session)):
        count = sum(shard.bdb_uid == bdb.uid and shard.node_uid == capacity.node_uid for shard in occupying)
        for needed, free, resource, remedy in (
            (ram, capacity.free_memory, "bytes", "add a node or allow overbooking"),
            (
                disk,
                capacity.free_flash or 0,
                "bytes of flash",
                "add a node with flash or reduce the size of the database",
            ),
        ):
            if count * needed > max(free, 0):
                message = f"Node {capacity.node_uid} needs {count * needed} more {resource} and has {max(free, 0)} free; {remedy}."
                raise NotAcceptable("insufficient_resources", message, field="memory_size")
