"""Tests that every benchmark scenario of the library can be started at every scale."""

import pytest

from shardboard.domain.benchmarks import benchmark_scenarios, workload
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate
from shardboard.schemas.benchmarks.benchmark_scenarios import Scenario, render

NAMES = sorted(library.list_all())


def test_library_contains_the_published_benchmarks() -> None:
    assert {"dram-vs-extended", "load-test", "one-node-down", "flash-85", "linear-scaling", "memory-drive"} <= set(
        NAMES
    )


@pytest.mark.parametrize("scale", [1.0, 0.01, 0.000_01])
@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_valid_at_every_scale(name: str, scale: float) -> None:
    scenario_request = benchmark_scenarios.scaled(library.get_scenario(name), scale)
    for phase in scenario_request["phases"]:
        assert workload.check(phase["workload"]) is None, phase
    scenario_request.pop("database")
    BenchmarkCreate.model_validate({**scenario_request, "bdb_uid": 1})
    Scenario.model_validate(render(library.get_scenario(name), scale))


def test_factor_scales_keys_rate_and_duration() -> None:
    unscaled = {"key_minimum": 1, "key_maximum": 1_000_000, "rate": 50_000, "test_time": 400, "data_size": 500}
    assert benchmark_scenarios.workload(unscaled, 0.01) == {
        "key_minimum": 1,
        "key_maximum": 10_000,
        "rate": 500,
        "test_time": 40,
        "data_size": 500,
    }


@pytest.mark.parametrize("text", ["[", "- 1", "name: x"])
def test_invalid_scenarios_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"YAML|mapping|field title"):
        library.parse(text)
