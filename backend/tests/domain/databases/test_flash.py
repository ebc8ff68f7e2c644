"""Tests of how the memory of a database is divided between RAM and flash."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.databases import flash
from shardboard.domain.databases.flash import ShardMemory, Tier

MIB = 2**20


def test_values_move_to_flash_before_the_engine_evicts_keys() -> None:
    tier = ShardMemory(160 * MIB, 840 * MIB).tier
    assert tier == Tier(ram_limit=150 * MIB, flash_limit=840 * MIB)


def test_without_flash_size_values_stay_in_ram() -> None:
    assert ShardMemory(160 * MIB, 0).tier == Tier(0, 0)
    assert ShardMemory(160 * MIB).tier is None


def test_changed_number_of_shards_shares_the_same_memory() -> None:
    assert ShardMemory(100, 300).scaled(4, 2) == ShardMemory(200, 600)
    assert ShardMemory(100).scaled(2, 4) == ShardMemory(50)
    assert ShardMemory(100, 300).maximum(ShardMemory(150, 200)) == ShardMemory(150, 300)
    assert ShardMemory(0).maximum(ShardMemory(100)) == ShardMemory(0), "0 means no limit"


@given(size=st.integers(1, 2**40), copies=st.integers(1, 1024), percent=st.integers(10, 100))
def test_ram_and_flash_of_all_shards_are_within_the_memory_size(size: int, copies: int, percent: int) -> None:
    share = flash.shard_memory(size, size * percent // 100, copies, on_flash=True)
    assert share.flash is not None
    assert 0 <= (share.ram + share.flash) * copies <= size


def test_default_ram_is_sufficient_for_all_shards() -> None:
    assert flash.default_ram(1000 * MIB, 2) == 100 * MIB
    assert flash.default_ram(100 * MIB, 2) == 32 * MIB
    assert flash.default_ram(20 * MIB, 2) == 20 * MIB
