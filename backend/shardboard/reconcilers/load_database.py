"""Databases as plain values for loops, read in one short session, so that no session is open during calls to machines."""

from dataclasses import dataclass

from shardboard.domain.access.internals import hiding_rules
from shardboard.domain.databases import disabled_commands
from shardboard.domain.databases.connection_reserve import engine_limit
from shardboard.domain.databases.creation import DesiredShard
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import NodeRef, ShardTls
from shardboard.driver.valkey_cluster import EngineSettings, ShardRef
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import ReadNode
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store


@dataclass(frozen=True)
class DesiredDatabase:
    """Desired state of one database."""

    name: str
    status: str
    port: int
    engine: EngineSettings
    shards: list[ShardRef]
    primaries: list[ShardRef]
    """The shards that are primaries now and not known to be down."""
    living: list[ShardRef]
    """The shards that are not known to be down."""

    @property
    def desired_shards(self) -> list[DesiredShard]:
        return [DesiredShard(shard.uid, shard.node.uid, shard.role, shard.pair) for shard in self.shards]


async def database(store: Store, uid: int) -> DesiredDatabase | None:
    """Return the database with this uid, or None."""
    async with store.read() as session:
        bdb = await bdbs.by_uid(session, uid)
        if bdb is None:
            return None
        node_refs = {node.uid: node_ref(node) for node in await nodes.list_stored(session)}
        rows = await shards.list_conditions(session, bdb_uid=uid)
    references = {row.uid: shard_ref(row, node_refs[row.node_uid]) for row in rows}
    primaries = [
        references[row.uid]
        for row in rows
        if row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
    ]
    live_shards = [references[row.uid] for row in rows if row.observed_status != ShardStatus.DOWN]
    return DesiredDatabase(
        bdb.name, bdb.status, bdb.port, engine_settings(bdb), list(references.values()), primaries, live_shards
    )


def node_ref(node: ReadNode) -> NodeRef:
    return NodeRef(node.uid, node.addr, node.agent_port)


def engine_settings(bdb: Bdb) -> EngineSettings:
    """Return the engine settings that follow from the database's fields."""
    config = bdb.config
    persistence = config["data_persistence"]
    return EngineSettings(
        uid=bdb.uid,
        cluster=bdb.sharding,
        admin_password=bdb.admin_password,
        next_admin_password=bdb.next_admin_password,
        client_passwords=bdb.passwords,
        default_user=config["default_user"],
        memory=bdb.shard_memory,
        eviction_policy=config["eviction_policy"],
        appendonly=persistence == "aof",
        appendfsync_always=config["aof_policy"] == "appendfsync-always",
        save=[(point["secs"], point["writes"]) for point in config["snapshot_policy"]]
        if persistence == "snapshot"
        else [],
        maxclients=engine_limit(
            config["maxclients"], bdb.shards_count * (2 if bdb.replication else 1) if bdb.sharding else 1
        ),
        io_threads=bdb.io_threads,
        disabled_commands=(
            *disabled_commands.rules(config.get("disabled_commands", "")),
            *(hiding_rules(bdb.info_sections) if bdb.hides_internals else ()),
        ),
        tls=shard_tls(bdb),
    )


def shard_tls(bdb: Bdb) -> ShardTls | None:
    """Return the credentials of the database's shards and proxies; None if they use unencrypted connections."""
    if bdb.shard_certificates is None:
        return None
    certificates = ShardCertificates.read(bdb.shard_certificates)
    return ShardTls(cas=certificates.trusted, certificate=certificates.certificate, key=certificates.key)


def shard_ref(row: ReadShard, node: NodeRef) -> ShardRef:
    return ShardRef(
        uid=row.uid,
        node=node,
        pair=row.pair,
        role=row.role,
        slots=slots.parse(row.slots),
        port=row.port,
        bus_port=row.bus_port,
        engine_id=row.engine_id,
        engine_version=row.observed_version,
    )
