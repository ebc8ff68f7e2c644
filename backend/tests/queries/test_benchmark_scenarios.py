"""The library: every scenario can be ordered, at every size."""

import pytest

from shardboard.domain import benchmark_scenarios, workload
from shardboard.queries import benchmark_scenarios as library
from shardboard.schemas.benchmark_requests import BenchmarkCreate
from shardboard.schemas.benchmark_scenarios import Scenario, render

NAMES = sorted(library.every())


def test_those_of_the_published_benchmarks_are_there() -> None:
    assert {"dram-vs-extended", "load-test", "one-node-down", "flash-85", "linear-scaling", "memory-drive"} <= set(
        NAMES
    )


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.000_01])
@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_ordered_at_every_size(name: str, scale: float) -> None:
    order = benchmark_scenarios.scaled(library.find(name), scale)
    for phase in order["phases"]:
        assert workload.check(phase["workload"]) is None, phase
    order.pop("database")
    BenchmarkCreate.model_validate({**order, "bdb_uid": 1})
    Scenario.model_validate(render(library.find(name), scale))


def test_one_factor_scales_all_that_has_a_size() -> None:
    full = {"key_minimum": 1, "key_maximum": 1_000_000, "rate": 50_000, "test_time": 400, "data_size": 500}
    assert benchmark_scenarios.workload(full, 0.01) == {
        "key_minimum": 1,
        "key_maximum": 10_000,
        "rate": 500,
        "test_time": 40,
        "data_size": 500,
    }


@pytest.mark.parametrize("text", ["[", "- 1", "name: x"])
def test_what_is_no_scenario(text: str) -> None:
    with pytest.raises(ValueError, match=r"YAML|mapping|field title"):
        library.load(text)
