"""Tests that every benchmark scenario of the library can be started at every scale, and has the published parameters."""

from typing import Any

import pytest

from shardboard.domain.benchmarks import benchmark_cost, memtier_command_line, workload
from shardboard.domain.benchmarks.scenarios import benchmark_scenarios, scenario_fit, scenario_results
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate
from shardboard.schemas.benchmarks.benchmark_scenarios import Scenario, render
from shardboard.schemas.benchmarks.scenario_results import ScenarioResult
from shardboard.schemas.benchmarks.scenarios import MIN_SCALE, ScenarioPart
from shardboard.schemas.databases.bdb_requests import BdbCreate

NAMES = sorted(library.list_all())
GIB = 2**30


def parts(name: str, scale: float = 1.0) -> list[dict[str, Any]]:
    return benchmark_scenarios.parts(library.get_scenario(name), scale)


def test_library_contains_all_documents() -> None:
    documents = [scenario["document"] for scenario in library.list_all().values()]
    assert documents == ["000, use case 1", "000, use case 2", "000, use case 3", "001", "002", "003", "004"]


@pytest.mark.parametrize("scale", [1.0, 0.01, MIN_SCALE])
@pytest.mark.parametrize("name", NAMES)
def test_every_part_is_valid_at_every_scale(name: str, scale: float) -> None:
    for part in parts(name, scale):
        ScenarioPart.model_validate(part)
        BdbCreate.model_validate({**part["database"], "name": "scenario-1"})
        for phase in part["phases"]:
            assert workload.check(phase["workload"]) is None, phase
        fields = ("phases", "repetitions", "sla", "drill", "find_max")
        request = {field: part[field] for field in fields if part[field] is not None}
        BenchmarkCreate.model_validate({**request, "name": name, "bdb_uid": 1, "scenario": name})
        assert part["nodes"] >= 1
        assert scenario_fit.memory(part) > 0


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.01, MIN_SCALE])
@pytest.mark.parametrize("name", NAMES)
def test_memory_is_enough_for_the_data_at_every_scale(name: str, scale: float) -> None:
    for part in parts(name, scale):
        needed = benchmark_cost.cost(part["phases"], 1).memory * scenario_fit.copies(part["database"])
        assert part["database"]["memory_size"] >= needed, part["name"]
        if part["database"].get("bigstore"):
            assert part["database"]["bigstore_ram_size"] <= part["database"]["memory_size"]
            assert scale > 0.1 or part["database"]["memory_size"] >= 1.5 * needed, "overwriting needs more space"


@pytest.mark.parametrize("name", NAMES)
def test_first_part_can_be_started_on_an_existing_database(name: str) -> None:
    scenario = Scenario.model_validate(render(library.get_scenario(name), 0.01))
    request = scenario.order.model_dump(exclude={"database"}, exclude_none=True)
    find_max = BenchmarkCreate.model_validate({**request, "bdb_uid": 1}).find_max
    assert (find_max and find_max.model_dump()) == parts(name)[0]["find_max"]


@pytest.mark.parametrize("name", NAMES)
def test_scenarios_that_search_say_so(name: str) -> None:
    is_search = "Searches for" in library.get_scenario(name)["about"]
    assert [part["find_max"] is not None for part in parts(name)] == [is_search] * len(parts(name))


@pytest.mark.parametrize("name", NAMES)
def test_published_results_belong_to_parts_and_phases(name: str) -> None:
    scenario = library.get_scenario(name)
    phases = {part["name"]: {phase["name"] for phase in part["phases"]} for part in parts(name)}
    for table in scenario["published"]["tables"]:
        for row in table["rows"]:
            assert len(row.get("published") or table["columns"]) == len(table["columns"]), row
            for part in (row.get("part"), row.get("other")):
                assert part is None or part in phases, row
            assert "phase" not in row or row["phase"] in phases[row["part"]]
    ScenarioResult.model_validate(scenario_results.published(scenario))


def test_document_002_has_the_printed_command_lines() -> None:
    [part] = parts("flash-115k")
    lines = [
        "memtier_benchmark --key-maximum=75000000 -n allkeys -d 500 --key-pattern=P:P --ratio=1:0",
        "memtier_benchmark --key-minimum=27250000 --key-maximum=47750000 -n allkeys --key-pattern=P:P --ratio=0:1",
        (
            "memtier_benchmark --pipeline=11 -c 20 -t 1 -d 500 --key-maximum=75000000 --key-pattern=G:G "
            "--key-stddev=5125000 --ratio=1:1 --distinct-client-seed --randomize --test-time=600"
        ),
    ]
    assert [phase["workload"] for phase in part["phases"]] == [
        memtier_command_line.parse(line).workload for line in lines
    ]
    database = part["database"]
    assert (database["memory_size"], database["bigstore_ram_size"]) == (100 * 10**9, 30 * 10**9)
    assert (database["shards_count"], database["replication"], part["nodes"]) == (2, True, 2)


def test_document_001_has_the_printed_command_line() -> None:
    line = (
        "memtier_benchmark --pipeline=20 -c 10 -t 20 -d 1000 --key-maximum=42949673 --key-pattern=G:G --key-stddev=1177484 "
        "--ratio=1:1 --distinct-client-seed --randomize --test-time=120"
    )
    [measure] = [part["phases"][-1]["workload"] for part in parts("flash-hit-ratio") if part["name"] == "95%"]
    assert measure == memtier_command_line.parse(line).workload


def test_document_000_has_the_published_sizes() -> None:
    first, second = parts("dram-vs-extended")
    for part in (first, second):
        assert (part["nodes"], part["database"]["shards_count"]) == (1, 40)
        assert part["phases"][0]["workload"]["key_maximum"] == 6_000_000_000
        assert part["phases"][0]["workload"]["data_size"] == 100
    for name in ("load-test", "one-node-down"):
        part = parts(name)[0]
        assert (part["nodes"], part["database"]["shards_count"], part["database"]["replication"]) == (3, 90, True)
        assert part["phases"][0]["workload"]["key_maximum"] == 1_800_000_000
        assert part["phases"][0]["workload"]["data_size"] == 750
    assert parts("one-node-down")[0]["drill"]["seconds"] == 300


def test_document_003_has_the_published_numbers_of_keys() -> None:
    """The guide computes them from the memory of the node."""

    def keys_per_server(memory_gib: int, value_bytes: int) -> int:
        total = (memory_gib - 8) * GIB * 90 // 110 // value_bytes
        return total // 10_000 * 10_000 // 288

    sizes = {1000: 2_275_590, 100_000: 22_743}
    assert {size: keys_per_server(754, size) for size in sizes} == sizes
    for part in parts("memory-drive"):
        assert part["databases"] == 288
        spec = part["phases"][0]["workload"]
        assert workload.keys(spec) == sizes[spec["data_size"]]
        assert [phase["name"] for phase in part["phases"]] == ["SET 1", "GET 1", "SET 2", "GET 2", "SET 3", "GET 3"]


def test_document_004_has_the_published_sizes() -> None:
    sizes = [(part["database"]["shards_count"], part["nodes"]) for part in parts("linear-scaling")]
    assert sizes == [(60, 3), (120, 6), (240, 12), (360, 18), (480, 24), (512, 26)]


def test_scale_reduces_databases_before_their_sizes() -> None:
    part = parts("memory-drive", 0.1)[0]
    assert part["databases"] == 29
    assert abs(workload.keys(part["phases"][0]["workload"]) - 2_275_590) < 30_000
    assert parts("memory-drive", 0.001)[0]["databases"] == 1


def test_parts_of_the_same_size_are_measured_once() -> None:
    assert [part["database"]["shards_count"] for part in parts("linear-scaling", 0.01)] == [1, 2, 4, 5]
    assert len(parts("linear-scaling", MIN_SCALE)) == 1


def test_a_failure_fits_into_its_phase_at_every_scale() -> None:
    for scale in (1.0, 0.01, MIN_SCALE):
        [part] = parts("one-node-down", scale)
        drill = part["drill"]
        assert drill["at_seconds"] + drill["seconds"] < part["phases"][-1]["workload"]["test_time"]


def test_factor_scales_keys_rate_and_duration() -> None:
    unscaled = {"key_minimum": 1, "key_maximum": 1_000_000, "rate": 50_000, "test_time": 400, "data_size": 500}
    assert benchmark_scenarios.workload(unscaled, 0.01) == {
        "key_minimum": 1,
        "key_maximum": 10_000,
        "rate": 500,
        "test_time": 40,
        "data_size": 500,
    }


def test_a_file_with_one_part_contains_its_fields() -> None:
    scenario = library.parse(
        "{name: x, title: X, source: y, database: {memory_size: 100000000}, phases: [{name: a, workload: {}}]}"
    )
    request = benchmark_scenarios.scaled(scenario, 0.5)
    assert (request["name"], [phase["name"] for phase in request["phases"]]) == ("X", ["a"])
    assert request["find_max"] is None


@pytest.mark.parametrize(
    "text",
    [
        "{name: x, title: X, source: y, database: {}, phases: [], find_max: {limit: p99_ms, ms: 2}}",
        "{name: x, title: X, source: y, parts: [{name: p, database: {}, phases: [], find_max: {limit: p99_ms, ms: 2}}]}",
    ],
)
def test_a_file_can_contain_a_search(text: str) -> None:
    text = text.replace("database: {}, phases: []", "database: {memory_size: 1}, phases: [{name: a, workload: {}}]")
    assert benchmark_scenarios.scaled(library.parse(text), 0.5)["find_max"] == {"limit": "p99_ms", "ms": 2}


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "- 1",
        "name: x",
        "{name: x, title: x, source: x, document: x, parts: []}",
        "{name: x, title: x, source: x, parts: [{name: y}]}",
    ],
)
def test_invalid_scenarios_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"YAML|mapping|field"):
        library.parse(text)
