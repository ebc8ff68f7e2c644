"""What a request would change of an existing database, and whether that can be done."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import bdb_rules, io_threads
from shardboard.errors import NotAcceptable
from shardboard.orders.movement import rooms_of
from shardboard.schemas import bdb_fields
from shardboard.services import access
from shardboard.services.bdb_creation import hosts_of, insist
from shardboard.state import bdbs, nodes, shards
from shardboard.state.bdbs import Bdb
from shardboard.state.cluster import Cluster

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
        "shards_placement",
        "slave_ha",
        "slave_ha_priority",
    }
)
BESIDE_SHARDS_COUNT = frozenset({"shards_count", "memory_size", "bigstore_ram_size", "name", "tags", "eviction_policy"})
"""What one order may change together with the number of shards."""
_ACTED_UPON = frozenset({*bdb_fields.COLUMNS, *bdb_fields.EFFECTIVE, *bdb_fields.UNSUPPORTED})


async def changes(session: AsyncSession, bdb: Bdb, given: Mapping[str, Any], cluster: Cluster) -> dict[str, Any]:
    """The fields that differ from the present, after every check. Clients may echo the rest of the object."""
    present = _present(bdb)
    if "io_threads" in given and given["io_threads"] != present["io_threads"]:
        given = {**given, "io_threads": await _threads(session, bdb, given["io_threads"])}
    changed = _differing(bdb, present, given)
    wanted = present | changed
    if "shards_count" in changed:
        _insist_on_sharding(bdb, changed)
    if "bigstore" in changed:
        kind = "on flash" if wanted["bigstore"] else "in RAM"
        sentence = f"bigstore cannot be changed once a database exists: create one {kind}, and copy the data there."
        raise NotAcceptable("not_supported", sentence, field="bigstore")
    insist(bdb_rules.of_itself(wanted))
    if changed.get("replication"):
        await _insist_on_two_nodes(session)
    if "roles_permissions" in changed:
        await access.insist_on_permissions(session, changed["roles_permissions"])
    fixed = sorted(changed.keys() & (_ACTED_UPON - CHANGEABLE))
    if fixed:
        sentence = f"{fixed[0]} cannot be changed once a database exists; leave it out or send it as it is."
        raise NotAcceptable("not_supported", sentence, field=fixed[0])
    if apart := sorted(changed.keys() - BESIDE_SHARDS_COUNT) if "shards_count" in changed else []:
        sentence = f"shards_count and {apart[0]} cannot be changed by one order; send one after the other."
        raise NotAcceptable("not_supported", sentence, field=apart[0])
    if "shards_count" not in changed and changed.keys() & {"memory_size", "bigstore_ram_size"}:
        await _insist_on_room(session, bdb, wanted, overbooking=cluster.rules.shards_overbooking)
    return changed


def incomplete(bdb: Bdb) -> dict[str, Any]:
    """What was ordered before and may not have reached all shards, as it is wanted."""
    present = _present(bdb)
    return {name: present[name] for name in bdb.incomplete_changes if name in present}


def _differing(bdb: Bdb, present: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in given.items() if name not in present or value != present[name]}
    if changed.get("port") == bdb.port:
        del changed["port"]
    if "authentication_redis_pass" in changed and bdb.config.get("other_passwords"):
        changed["other_passwords"] = []  # whoever sets the password means the only one
    return changed


def _present(bdb: Bdb) -> dict[str, Any]:
    columns = {
        "uid": bdb.uid,
        "name": bdb.name,
        "memory_size": bdb.memory_size,
        "port": bdb.port_requested,
        "sharding": bdb.sharding,
        "shards_count": bdb.shards_count,
        "replication": bdb.replication,
    }
    present = {**bdb_fields.CONFIG_DEFAULTS, **bdb.config, **columns}
    if not bdb.on_flash:
        present["bigstore_ram_size"] = 0  # earlier versions kept whatever was sent
    return present


async def _threads(session: AsyncSession, bdb: Bdb, asked: int) -> int:
    """As many as were asked for, if its nodes can give them; 0 is what they usually give."""
    rows = await shards.every(session)
    chosen = {row.node_uid for row in rows if row.bdb_uid == bdb.uid}
    hosts = hosts_of(await nodes.every(session), [row.node_uid for row in rows], chosen)
    threads = asked or io_threads.usual(hosts)
    if 0 < threads <= io_threads.MOST:
        insist(io_threads.fault(threads, hosts))
    return threads


def _insist_on_sharding(bdb: Bdb, changed: Mapping[str, Any]) -> None:
    if bdb.sharding or "sharding" in changed:
        return
    sentence = (
        f"Database {bdb.name} is not sharded, and its clients do not expect it to be: create a database with sharding and "
        "copy the data there."
    )
    raise NotAcceptable("invalid_sharding", sentence, field="shards_count")


async def _insist_on_two_nodes(session: AsyncSession) -> None:
    if len(await nodes.every(session)) < 2:
        sentence = (
            "Replication needs at least two nodes, because a replica on its primary's node would be lost with it."
        )
        raise NotAcceptable("replication_node_violation", sentence, field="replication")


async def _insist_on_room(session: AsyncSession, bdb: Bdb, wanted: Mapping[str, Any], *, overbooking: bool) -> None:
    """The nodes of the database must have the flash and, without overbooking, the memory by which its shards may grow."""
    before, after = bdb.share, bdb_rules.share(wanted)
    ram = 0 if overbooking or (before.ram == 0) else after.ram - before.ram
    disk = (after.flash or 0) - (before.flash or 0)
    if ram <= 0 and disk <= 0:
        return
    occupying = await shards.occupying(session)
    for room in rooms_of(await nodes.every(session), occupying, await bdbs.every(session)):
        count = sum(shard.bdb_uid == bdb.uid and shard.node_uid == room.node_uid for shard in occupying)
        for more, free, what, way in (
            (ram, room.free_memory, "bytes", "add a node or allow overbooking"),
            (disk, room.free_flash or 0, "bytes of flash", "add a node with flash or make the database smaller"),
        ):
            if count * more > max(free, 0):
                sentence = f"Node {room.node_uid} has no room for {count * more} {what} more; {way}."
                raise NotAcceptable("insufficient_resources", sentence, field="memory_size")
