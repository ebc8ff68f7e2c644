"""Tests of the ports, nodes and uids of new databases."""

from typing import Any

import pytest

from shardboard.console import Console
from shardboard.services.access.authorization import Principal
from shardboard.services.cluster import cluster
from shardboard.services.databases import bdbs as service
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

PRINCIPAL = Principal("admin@example.org", "admin")

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]


async def create(console: Console, **fields: Any) -> tuple[Bdb, list[Shard]]:
    async with console.store.begin() as session:
        bdb, rows = await service.create(
            session, {"name": "db", "memory_size": 2**30, **fields}, PRINCIPAL, allow_duplicate_name=True
        )
        return bdb, list(rows)


async def test_shards_have_unique_ports_and_primary_nodes_serve_the_endpoint(console: Console) -> None:
    bdb, rows = await create(console, sharding=True, shards_count=6, replication=True, shards_placement="sparse")
    assert bdb.endpoint_nodes == [1], "the proxy policy is single"
    for node_uid in (1, 2, 3):
        node_shards = [row for row in rows if row.node_uid == node_uid]
        assert sorted(row.port for row in node_shards) == [20000, 20001, 20002, 20003]
        assert all(row.bus_port == row.port + 5000 for row in node_shards)
    multi_node, _ = await create(
        console, name="b", sharding=True, shards_count=3, shards_placement="sparse", proxy_policy="all-master-shards"
    )
    assert multi_node.endpoint_nodes == [1, 2, 3]


async def test_replica_has_the_slots_of_its_primary_on_another_node(console: Console) -> None:
    _, rows = await create(console, sharding=True, shards_count=6, replication=True)
    for pair in range(6):
        primary, replica = [row for row in rows if row.pair == pair]
        assert (primary.role, replica.role) == ("master", "slave")
        assert primary.slots == replica.slots
        assert primary.node_uid != replica.node_uid
    assert len({row.engine_id for row in rows}) == 12


async def test_ports_of_databases_being_deleted_stay_reserved(console: Console) -> None:
    first, rows = await create(console)
    async with console.store.begin() as session:
        await service.delete(session, first.uid, PRINCIPAL)
    second, second_rows = await create(console, use_nodes=[str(rows[0].node_uid)])
    assert second.port == first.port + 1
    assert second_rows[0].bus_port == rows[0].bus_port + 1


async def test_reserved_ports_of_the_cluster_are_skipped(console: Console) -> None:
    async with console.store.begin() as session:
        await cluster.update(session, {"reserved_ports": [12000, 12001]}, PRINCIPAL)
    bdb, _ = await create(console)
    assert bdb.port == 12002


@pytest.mark.parametrize("fields", [{"avoid_nodes": ["1", "3"]}, {"use_nodes": ["2"]}])
async def test_shards_are_placed_on_the_chosen_nodes(console: Console, fields: dict[str, Any]) -> None:
    _, rows = await create(console, sharding=True, shards_count=3, **fields)
    assert {row.node_uid for row in rows} == {2}


async def test_unavailable_and_closed_nodes_get_no_shards(console: Console) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Node, 1)).agent_status = "lost"
        (await session.get_one(Node, 3)).accept_servers = False
    _, rows = await create(console, sharding=True, shards_count=3)
    assert {row.node_uid for row in rows} == {2}


async def test_dry_run_changes_no_counters(console: Console) -> None:
    async with console.store.begin() as session:
        bdb, _ = await service.create(session, {"name": "db", "memory_size": 2**30}, PRINCIPAL, dry_run=True)
    assert bdb.uid == 1
    async with console.store.read() as session:
        assert await shards.list_occupying(session) == []
    assert (await create(console))[0].uid == 1
