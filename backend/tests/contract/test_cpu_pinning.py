"""Tests of lists of cores, and of settings on machines with other cores."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.contract.cpu_pinning import (
    CpuPinning,
    CpuTopology,
    NumaNode,
    core_sets,
    format_cores,
    parse_cores,
    pinning_error,
)

ONE = CpuTopology(numa_nodes=[NumaNode(id=0, cores="0-3")])
TWO = CpuTopology(
    numa_nodes=[NumaNode(id=0, cores="0-1,4-5"), NumaNode(id=1, cores="2-3,6-7"), NumaNode(id=2, cores="")]
)


@given(st.frozensets(st.integers(0, 300)))
def test_formatted_lists_contain_the_same_cores(cores: frozenset[int]) -> None:
    assert parse_cores(format_cores(cores)) == cores


def test_lists_are_formatted_as_ranges() -> None:
    assert format_cores(parse_cores(" 8, 0-3 ,4")) == "0-4,8"
    assert format_cores([]) == ""


@pytest.mark.parametrize("text", ["a", "1,", ",", "3-1", "-1", "1--2", "1-2-3", "0x1", "1.5", "9999", "٣", "0;1"])
def test_malformed_lists_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="core"):
        parse_cores(text)


@pytest.mark.parametrize(
    ("topology", "setting", "expected"),
    [
        (ONE, {"mode": "numa"}, ["0-3"]),
        (TWO, {"mode": "numa"}, ["0-1,4-5", "2-3,6-7"]),
        (TWO, {"mode": "numa", "proxy": "0,4,2,6"}, ["1,5", "3,7"]),
        (TWO, {"mode": "numa", "proxy": "2-3,6-7"}, ["0-1,4-5"]),
        (TWO, {"mode": "cores", "shards": "1-3"}, ["1-3"]),
        (TWO, {"mode": "cores", "shards": "1-3", "cores_per_shard": 1}, ["1", "2", "3"]),
        (TWO, {"mode": "cores", "shards": "0-4", "cores_per_shard": 2}, ["0-1", "2-3"]),
        (TWO, {"mode": "cores", "proxy": "0"}, []),
    ],
)
def test_core_sets_of_shards(topology: CpuTopology, setting: dict[str, Any], expected: list[str]) -> None:
    pinning = CpuPinning(**setting)
    assert pinning_error(pinning, topology) == ("", "")
    assert [format_cores(cores) for cores in core_sets(pinning, topology)] == expected


@pytest.mark.parametrize(
    ("setting", "field", "reason"),
    [
        ({"mode": "cores"}, "shards", "must contain a core"),
        ({"mode": "cores", "shards": "0-9"}, "shards", "cores 4-9 do not exist or are offline; available are 0-3"),
        ({"mode": "cores", "shards": "0", "proxy": "4"}, "proxy", "cores 4 do not exist"),
        ({"mode": "cores", "shards": "x"}, "shards", "is not a core"),
        ({"mode": "cores", "shards": "0-1", "cores_per_shard": 3}, "cores_per_shard", "must not exceed"),
        ({"mode": "numa", "shards": "0"}, "shards", "applies to mode cores only"),
        ({"mode": "numa", "cores_per_shard": 1}, "cores_per_shard", "applies to mode cores only"),
        ({"mode": "numa", "proxy": "0-3"}, "proxy", "leaves no core for shards"),
    ],
)
def test_settings_that_cannot_be_applied_are_rejected(setting: dict[str, Any], field: str, reason: str) -> None:
    found, message = pinning_error(CpuPinning(**setting), ONE)
    assert found == field
    assert reason in message


def test_turning_pinning_off_is_always_possible() -> None:
    assert pinning_error(CpuPinning(mode="off", shards="99"), ONE) == ("", "")
