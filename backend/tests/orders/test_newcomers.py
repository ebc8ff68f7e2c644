"""Shards that are to be started get a port each that nobody else of their node has."""

import pytest

from shardboard.domain.placement import BUS_OFFSET, SHARD_PORTS, Placed
from shardboard.errors import NotAcceptable
from shardboard.orders import newcomers
from shardboard.orders.newcomers import Ports
from shardboard.state.shards import Shard

FIRST = SHARD_PORTS[0]


def shard(uid: int, node_uid: int, port: int) -> Shard:
    return Shard.planned(uid, 1, node_uid, 0, "master", "", port)


def test_ports_of_a_node_are_taken_once() -> None:
    ports = Ports([shard(1, 1, FIRST), shard(2, 1, FIRST + 2), shard(3, 2, FIRST + 1)], [])
    assert [ports.take(1), ports.take(1), ports.take(2), ports.take(3)] == [FIRST + 1, FIRST + 3, FIRST, FIRST]


def test_rows_are_where_the_plan_puts_them() -> None:
    plan = [Placed(node_uid=1, pair=0, role="master"), Placed(node_uid=2, pair=1, role="slave")]
    made = newcomers.rows(plan, 7, 40, [shard(1, 1, FIRST)], [], {0: "0-99"})
    assert [(row.uid, row.bdb_uid, row.node_uid, row.pair, row.role, row.slots, row.port) for row in made] == [
        (40, 7, 1, 0, "master", "0-99", FIRST + 1),
        (41, 7, 2, 1, "slave", "", FIRST),
    ]
    assert all(row.bus_port == row.port + BUS_OFFSET for row in made)
    assert len({row.engine_id for row in made}) == 2


def test_a_node_that_is_full_is_told() -> None:
    held = [shard(number, 1, port) for number, port in enumerate(SHARD_PORTS)]
    with pytest.raises(NotAcceptable, match="Node 1 has no free port"):
        newcomers.rows([Placed(node_uid=1, pair=0, role="master")], 7, 1, held, [], {})
