"""Tests of the result tables of scenarios, and of the figures that they are computed from."""

from typing import Any

import pytest

from shardboard.domain.benchmarks.benchmark_seconds import Tally
from shardboard.domain.benchmarks.scenarios import (
    benchmark_scenarios,
    scenario_measurements,
    scenario_report,
    scenario_results,
)
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.schemas.benchmarks.scenario_results import ScenarioResult


def result_of(ops_per_second: float, phase: str = "measure", **changes: Any) -> dict[str, Any]:
    return {
        "phase_name": phase,
        "ops": 1000,
        "ops_per_second": ops_per_second,
        "average_ms": 0.5,
        "p50_ms": 0.4,
        "p99_ms": 0.9,
        "p999_ms": 1.5,
        "max_ms": 9.0,
        "seconds": 120.0,
        "longest_outage_seconds": 0.0,
        "errors": {},
        "generator": {"is_bottleneck": False},
        **changes,
    }


def measured(name: str, summaries: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a scenario's result and measurements for summaries by part."""
    scenario = library.get_scenario(name)
    parts = benchmark_scenarios.parts(scenario, 1.0)
    measurements = {
        part["name"]: scenario_measurements.figures(summaries[part["name"]], part)
        for part in parts
        if part["name"] in summaries
    }
    result = scenario_results.result(scenario, parts, measurements, ["One deviation."])
    ScenarioResult.model_validate(result)
    return result, measurements


def figure(result: dict[str, Any], start: str) -> dict[str, Any]:
    return next(each for each in result["figures"] if each["name"].startswith(start))


def test_figures_combine_repetitions_and_databases() -> None:
    part = benchmark_scenarios.parts(library.get_scenario("memory-drive"), 1.0)[0]
    summaries = [
        {"results": [result_of(100, "SET 1", average_ms=1.0, seconds=10.0), result_of(200, "SET 1", average_ms=1.0)]},
        {"results": [result_of(450, "SET 1", average_ms=2.0, p99_ms=7.0, errors={"mismatch": 2})]},
    ]
    figures = scenario_measurements.figures(summaries, part)["SET 1"]
    assert figures["ops_per_second"] == 600
    assert figures["average_ms"] == pytest.approx((150 * 1 + 450 * 2) / 600)
    assert (figures["p99_ms"], figures["errors"], figures["databases"]) == (7.0, 2, 2)
    assert figures["value_bits_per_second"] == 600 * 1000 * 8
    assert figures["keys_per_database"] == 2_275_590


def test_a_search_replaces_the_figures_of_its_steps() -> None:
    found = {
        "limit": "average_ms",
        "rate": 4e6,
        "ops_per_second": 4e6,
        "average_ms": 0.97,
        "p99_ms": 2.0,
        "curve": [[1e6, 0.1, 0.2, True], [5e6, 1.2, None, False]],
    }
    summaries = {"average latency": [{"results": [result_of(1.0)], "find_max": found}]}
    result, _ = measured("load-test", summaries)
    [row, unmeasured] = result["tables"][0]["rows"]
    assert (row["measured"], unmeasured["measured"]) == ([4e6, 0.97, 2.0], None)
    assert row["published"] == [4_520_000, 0.97, None]
    assert [series["points"] for series in result["series"]] == [[(1e6, 0.1), (5e6, 1.2)], [(1e6, 0.2)]]


def test_a_missed_limit_is_a_deviation_and_the_nearest_rate_is_in_the_table() -> None:
    found = {
        "limit": "p99_ms",
        "rate": None,
        "ops_per_second": None,
        "average_ms": None,
        "p99_ms": None,
        "curve": [[100.0, 0.1, 1.9, False], [200.0, 0.2, 1.2, False], [400.0, 0.5, None, False]],
        "text": "No measured rate had a P99 latency of at most 1 ms.",
    }
    result, _ = measured("load-test", {"P99 latency": [{"results": [result_of(1.0)], "find_max": found}]})
    assert result["tables"][0]["rows"][1]["measured"] == [200.0, 0.2, 1.2]
    text = f"Part P99 latency: {found['text']} The table contains the rate with the lowest latency."
    assert result["deviations"] == ["One deviation.", text]


def test_dram_and_extended_memory_are_compared() -> None:
    result, _ = measured(
        "dram-vs-extended",
        {
            "DRAM": [{"results": [result_of(2_340_000, average_ms=0.90)]}],
            "extended memory": [{"results": [result_of(2_130_000, average_ms=0.927)]}],
        },
    )
    assert [row["measured"][0] for row in result["tables"][0]["rows"]] == [2_340_000, 2_130_000]
    throughput, latency = figure(result, "Throughput"), figure(result, "Average latency")
    assert (throughput["published"], round(throughput["measured"])) == (91, 91)
    assert (latency["published"], round(latency["measured"])) == (3, 3)
    assert figure(result, "1,000,000 ops/s")["measured"] == "met by DRAM and extended memory"


def test_a_run_without_measurements_has_only_published_values() -> None:
    for scenario in library.list_all().values():
        result = scenario_results.published(scenario)
        ScenarioResult.model_validate(result)
        assert all(row["measured"] is None for table in result["tables"] for row in table["rows"])
        assert all(each["measured"] is None for each in result["figures"])


def test_table_of_the_memory_drive_guide_is_reproduced_from_its_times() -> None:
    """The published throughput agrees with the published times, so the unit of the columns is bits per second."""
    scenario = library.get_scenario("memory-drive")
    rows = scenario["published"]["tables"][0]["rows"]
    summaries: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        keys, servers, *_, seconds = row["published"]
        for part in (row["part"], row["other"]):
            one = {"results": [result_of(keys / seconds, row["phase"], seconds=seconds)]}
            summaries.setdefault(part, [{"results": []} for _ in range(servers)])
            for summary in summaries[part]:
                summary["results"] += one["results"]
    result, _ = measured("memory-drive", summaries)
    for row in result["tables"][0]["rows"]:
        keys, servers, native, _, _, seconds = row["published"]
        assert row["measured"][:2] == [keys, servers]
        assert row["measured"][2] == pytest.approx(native, rel=0.02)
        assert row["measured"][4:] == [100, seconds]


def test_linear_scaling_has_figures_and_series() -> None:
    sizes = [("60 shards", 5.0e6), ("120 shards", 10.0e6), ("512 shards", 40.0e6)]
    summaries = {name: [{"results": [result_of(ops), result_of(ops), result_of(ops)]}] for name, ops in sizes}
    result, _ = measured("linear-scaling", summaries)
    first = result["tables"][0]["rows"][0]
    assert first["measured"][2:] == [pytest.approx(5e6 / 3), pytest.approx(5e6 / 60)]
    assert [row["label"] for row in result["tables"][0]["rows"]][-1] == "2,000 nodes (published later)"
    spread = figure(result, "Variation of the throughput per node")
    assert (spread["published"], spread["measured"]) == (
        pytest.approx(13),
        pytest.approx(100 * (1 - 40 / 26 / (5 / 3))),
    )
    assert [(series["name"], series["ideal"], len(series["points"])) for series in result["series"]] == [
        ("Throughput", False, 3),
        ("Ideal", True, 3),
        ("Throughput per node", False, 3),
    ]


def test_a_part_that_ended_early_has_no_result() -> None:
    result, measurements = measured("load-test", {"average latency": [{"results": [result_of(1.0, "populate")]}]})
    assert measurements["average latency"]["populate"]["ops_per_second"] == 1.0
    assert [row["measured"] for row in result["tables"][0]["rows"]] == [None, None]


def test_improvement_factors_compare_two_runs() -> None:
    scenario = library.get_scenario("flash-hit-ratio")
    _, slow = measured("flash-hit-ratio", {"50%": [{"results": [result_of(10_000)]}]})
    _, fast = measured(
        "flash-hit-ratio", {"50%": [{"results": [result_of(92_000)]}], "85%": [{"results": [result_of(1.0)]}]}
    )
    [table] = scenario_results.factors(scenario, fast, slow)
    assert [row["published"] for row in table["rows"]] == [[9.2], [9.7], [2.8]]
    assert [row["measured"] for row in table["rows"]] == [[9.2], None, None]
    [without_baseline] = scenario_results.factors(scenario, fast, {})
    assert [row["measured"] for row in without_baseline["rows"]] == [None, None, None]
    assert scenario_results.published(scenario)["tables"][-1] == without_baseline
    assert scenario_results.factors(library.get_scenario("load-test"), fast, slow) == []


def test_intervals_of_a_failure_are_measured() -> None:
    seconds = []
    for second in range(100):
        tally = Tally()
        tally.counts["ops"] = 50 if 20 <= second < 60 else 100
        seconds.append((second, tally))
    intervals = scenario_measurements.intervals(seconds, 20, 60)
    assert {name: (each["seconds"], each["ops_per_second"]) for name, each in intervals.items()} == {
        "before": (20.0, 100.0),
        "down": (40.0, 50.0),
        "after": (40.0, 100.0),
    }
    result, measurements = measured("one-node-down", {"one node down": [{"results": [result_of(80, "one node down")]}]})
    measurements["one node down"] |= intervals
    scenario = library.get_scenario("one-node-down")
    result = scenario_results.result(scenario, benchmark_scenarios.parts(scenario, 1.0), measurements, [])
    assert result["tables"][0]["rows"][0]["measured"][0] == 80
    assert [row["measured"][:2] for row in result["tables"][1]["rows"]] == [[20.0, 100.0], [40.0, 50.0], [40.0, 100.0]]
    assert figure(result, "Throughput afterwards")["measured"] == pytest.approx(100)


def test_a_skipped_drill_is_a_deviation() -> None:
    _, measurements = measured("one-node-down", {"one node down": [{"results": [result_of(80, "one node down")]}]})
    measurements["one node down"]["one node down"]["drill_skipped"] = True
    scenario = library.get_scenario("one-node-down")
    result = scenario_results.result(scenario, benchmark_scenarios.parts(scenario, 1.0), measurements, [])
    assert result["deviations"] == ["Part one node down: the drill did not take place, so no node was down."]
    assert [row["measured"] for row in result["tables"][1]["rows"]] == [None, None, None]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"generator": {"is_bottleneck": True}},
            "The load generator was the bottleneck of part average latency: the database may be faster.",
        ),
        (
            {"errors": {"OOM": 2, "mismatch": 1}},
            "Part average latency: 3 requests failed. See the errors of its benchmark run.",
        ),
    ],
)
def test_a_generator_at_its_limit_and_failed_requests_are_deviations(changes: dict[str, Any], sentence: str) -> None:
    result, _ = measured("load-test", {"average latency": [{"results": [result_of(1.0, **changes)]}]})
    assert result["deviations"] == ["One deviation.", sentence]


def test_reports_contain_all_values() -> None:
    result, _ = measured("dram-vs-extended", {"DRAM": [{"results": [result_of(2_000_000)]}]})
    run = {
        "uid": 7,
        "title": "DRAM <compared>",
        "document": "000, use case 1",
        "scale": 0.01,
        "status": "failed",
        "detail": "Node 2 is down.",
        "baseline_detail": "Scenario run 3 no longer exists.",
        "parts": [{"name": "DRAM", "status": "failed", "detail": "", "benchmark_uids": [3]}],
        "result": result,
    }
    markdown, page, table = scenario_report.markdown(run), scenario_report.page(run), scenario_report.table(run)
    for text in (markdown, page):
        assert "2,340,000" in text
        assert "2,000,000" in text
        assert "Node 2 is down." in text
        assert "Scenario run 3 no longer exists." in text
        assert "One deviation." in text
        assert "<compared>" not in text
    assert "Figure 3. Throughput within 1 ms average latency,DRAM-only server,Throughput,ops/s,2340000,2000000" in table
