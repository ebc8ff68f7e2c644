"""Tests of the ports of new shards, which are unique on their node."""

import pytest

from shardboard.actions import new_shards
from shardboard.actions.new_shards import PortAllocator
from shardboard.domain.placement.shard_placement import BUS_OFFSET, SHARD_PORTS, PlacedShard
from shardboard.errors import NotAcceptable
from shardboard.state.databases.shards import Shard

FIRST = SHARD_PORTS[0]


def shard(uid: int, node_uid: int, port: int) -> Shard:
    return Shard.planned(uid, 1, node_uid, 0, "master", "", port)


def test_each_port_of_a_node_is_assigned_once() -> None:
    ports = PortAllocator([shard(1, 1, FIRST), shard(2, 1, FIRST + 2), shard(3, 2, FIRST + 1)], [])
    assert [ports.allocate(1), ports.allocate(1), ports.allocate(2), ports.allocate(3)] == [
        FIRST + 1,
        FIRST + 3,
        FIRST,
        FIRST,
    ]


def test_shard_rows_follow_the_plan() -> None:
    plan = [PlacedShard(node_uid=1, pair=0, role="master"), PlacedShard(node_uid=2, pair=1, role="slave")]
    rows = new_shards.new_shard_rows(plan, 7, 40, [shard(1, 1, FIRST)], [], {0: "0-99"})
    assert [(row.uid, row.bdb_uid, row.node_uid, row.pair, row.role, row.slots, row.port) for row in rows] == [
        (40, 7, 1, 0, "master", "0-99", FIRST + 1),
        (41, 7, 2, 1, "slave", "", FIRST),
    ]
    assert all(row.bus_port == row.port + BUS_OFFSET for row in rows)
    assert len({row.engine_id for row in rows}) == 2


def test_node_without_free_ports_is_reported() -> None:
    existing = [shard(number, 1, port) for number, port in enumerate(SHARD_PORTS)]
    with pytest.raises(NotAcceptable, match="Node 1 has no free port"):
        new_shards.new_shard_rows([PlacedShard(node_uid=1, pair=0, role="master")], 7, 1, existing, [], {})
