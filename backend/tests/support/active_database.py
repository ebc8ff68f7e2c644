"""An active database of primaries and replicas, in the store and at the fake agents, without waiting for its creation."""

from datetime import UTC, datetime

from shardboard.console import Console
from shardboard.contract import ShardSpec
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FakeAgents
from shardboard.schemas.databases import bdb_fields
from shardboard.state.cluster import nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

BDB = 1


async def create_active_database(
    console: Console, agents: FakeAgents, pairs: int = 3, *, sharding: bool = True
) -> None:
    """Create database 1: primaries 1..n on nodes 1, 2, 3, 1, …; the replica of primary i is n + i, on the following node."""
    now = datetime.now(UTC)
    ranges = slots.split(pairs)
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=BDB,
                name="shop",
                status="active",
                memory_size=10**9,
                port=12000,
                sharding=sharding,
                shards_count=pairs,
                replication=True,
                config=dict(bdb_fields.CONFIG_DEFAULTS),
                admin_password="secret",
                created_at=now,
                changed_at=now,
            )
        )
        for uid in range(1, 2 * pairs + 1):
            pair, replica = (uid - 1) % pairs, uid > pairs
            row = Shard(
                uid=uid,
                bdb_uid=BDB,
                node_uid=(pair + replica) % 3 + 1,
                pair=pair,
                role="slave" if replica else "master",
                slots=slots.render((ranges[pair],)),
                port=20000 + uid,
                bus_port=25000 + uid,
                engine_id=f"{uid:040x}",
            )
            row.set_role(row.role, now)
            session.add(row)
            agents.running[row.node_uid][uid] = ShardSpec(
                uid=uid, bdb_uid=BDB, engine_id=row.engine_id, port=row.port, bus_port=row.bus_port, role=row.role
            )


async def create_sparse_database(console: Console, agents: FakeAgents) -> None:
    """Create the database as `active` does, with the placement `sparse`: primaries 1, 2, 3 on nodes 1, 2, 3; replicas 4, 5, 6 on
    nodes 2, 3, 1."""
    await create_active_database(console, agents)
    async with console.store.begin() as session:
        (await session.get_one(Cluster, 1)).next_shard_uid = 7
        bdb = await session.get_one(Bdb, BDB)
        bdb.config = {**bdb.config, "shards_placement": "sparse"}


async def kill_shards(console: Console, agents: FakeAgents, *uids: int) -> None:
    """End the processes of these shards. Their agents have reported it."""
    agents.died |= dict.fromkeys(uids, "killed")
    await set_observed_state(console, *uids, status="down")


async def set_observed_state(
    console: Console, *uids: int, status: str = "ok", role: str | None = None, link: str = ""
) -> None:
    """Record the state that a sample of these shards reports."""
    async with console.store.begin() as session:
        for uid in uids:
            row = await session.get_one(Shard, uid)
            row.observed_status, row.observed_link = status, link
            row.observed_role = role or row.observed_role


async def set_node_columns(console: Console, uid: int, **columns: str) -> None:
    async with console.store.begin() as session:
        node = await nodes.by_uid(session, uid)
        assert node is not None
        for name, value in columns.items():
            setattr(node, name, value)


async def get_shard(console: Console, uid: int) -> Shard:
    async with console.store.read() as session:
        shard = await shards.by_uid(session, uid)
    assert shard is not None
    return shard
