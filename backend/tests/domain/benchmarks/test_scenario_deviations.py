"""Tests of the sentences about differences between a scenario run and its document."""

import pytest

from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_deviations
from shardboard.queries.benchmarks import benchmark_scenarios as library


def sentences(name: str, scale: float, nodes: int, load_nodes: int) -> list[str]:
    scenario = library.get_scenario(name)
    parts = benchmark_scenarios.parts(scenario, scale)
    return scenario_deviations.deviations(scenario, parts, scale, nodes=nodes, load_nodes=load_nodes)


@pytest.mark.parametrize("name", sorted(library.list_all()))
def test_the_published_size_has_no_deviations(name: str) -> None:
    assert sentences(name, 1.0, nodes=26, load_nodes=17) == []


def test_smaller_sizes_are_named_with_the_published_ones() -> None:
    assert sentences("dram-vs-extended", 0.01, nodes=3, load_nodes=1) == [
        (
            "Part DRAM uses 1 instead of 40 shards, 60,000,000 instead of 6,000,000,000 keys, "
            "13.7 GiB instead of 1.2 TiB of memory, 12 instead of 120 s of measurement."
        ),
        (
            "Part extended memory uses 1 instead of 40 shards, 60,000,000 instead of 6,000,000,000 keys, "
            "7.9 GiB instead of 698.5 GiB of memory, 12 instead of 120 s of measurement."
        ),
    ]


def test_omitted_parts_and_missing_machines_are_named() -> None:
    found = sentences("linear-scaling", 0.01, nodes=3, load_nodes=1)
    assert "Omitted, because other parts have the same size at this scale: 120 shards, 512 shards." in found
    assert "The cluster has 3 nodes for shards instead of 26." in found
    assert "The load comes from 1 node instead of 17." in found


def test_parts_with_the_same_differences_share_a_sentence() -> None:
    [first, *_] = sentences("flash-hit-ratio", 0.01, nodes=1, load_nodes=1)
    assert first.startswith("Parts 50%, 85% and 95% use 1 instead of 12 shards, ")
