"""Tests of the number of keys that fill the memory."""

from dataclasses import replace

import pytest

from shardboard.domain.benchmarks import memory_fill
from shardboard.domain.benchmarks.memory_fill import MemoryFill

GIB = 2**30


@pytest.mark.parametrize(("value_bytes", "keys"), [(1_000, 2_275_590), (100_000, 22_743)])
def test_keys_are_those_of_the_guide(value_bytes: int, keys: int) -> None:
    """`free -g` shows 754 GiB on its server with 768 GB."""
    assert memory_fill.keys_per_server(754 * GIB, 8 * GIB, value_bytes, 288) == keys


def test_small_numbers_are_not_rounded() -> None:
    assert memory_fill.keys_per_server(11_000, 0, 100, 1) == 90
    assert memory_fill.keys_per_server(5 * GIB, 8 * GIB, 100, 1) == 0


def test_keys_of_small_values_need_more_memory_than_in_the_guide() -> None:
    assert memory_fill.typical_overhead(1_000, "memtier-") == 1.1
    assert memory_fill.typical_overhead(500, "memtier-") == 1.21


FILL = MemoryFill(
    basis="database",
    memory=2 * GIB,
    reserve_bytes=0,
    share_of_memory=0.9,
    overhead=1.1,
    value_bytes=500,
    copies=2,
    servers=3,
    database_servers=3,
)


def test_replicas_need_half_of_the_memory() -> None:
    assert FILL.keys == 3 * (1_750_000 // 3)
    assert replace(FILL, copies=1).keys == 3 * (3_510_000 // 3)
    assert FILL.formula == "2.0 GiB × 90 % / 1.1 / 2 copies / 500 bytes"


def test_a_database_uses_its_part_of_memory_that_many_servers_share() -> None:
    shared = replace(FILL, basis="nodes", reserve_bytes=GIB, copies=1, servers=288, database_servers=1)
    assert shared.keys == shared.keys_per_server == 1_750_000 // 288
    assert shared.formula == "(2.0 GiB − 1.0 GiB) × 90 % / 1.1 / 500 bytes / 288 × 1 servers"
