"""Tests of combining the seconds of several load generators."""

from backend.tests.support import fake_load_generator

from shardboard.domain.benchmarks import benchmark_plan, benchmark_results, benchmark_seconds
from shardboard.domain.benchmarks.benchmark_plan import PlanStep


def test_percentiles_are_computed_from_added_histograms() -> None:
    fast, slow = (
        fake_load_generator.second_line(0, 1.0, ops=990, micros=100),
        fake_load_generator.second_line(0, 1.2, ops=10, micros=9000),
    )
    [(t, both)] = benchmark_seconds.by_second([fast, slow])
    row = both.row()
    assert (t, row["ops"], row["p50_ms"], row["p99_ms"], row["p999_ms"]) == (0, 1000, 0.1, 0.1, 9.0)
    assert row["average_ms"] == (990 * 100 + 10 * 9000) / 1000 / 1000


def test_second_without_report_is_a_gap() -> None:
    seconds = benchmark_seconds.by_second([fake_load_generator.second_line(t, 10.0 + t) for t in (0, 1, 4)])
    assert benchmark_seconds.columns(seconds)["ops"] == [1000, 1000, None, None, 1000]
    assert benchmark_seconds.times(seconds) == [10.0, 11.0, 12.0, 13.0, 14.0]


def test_invalid_values_are_counted_as_zero() -> None:
    invalid = {"t": -1, "ops": "x", "errors": [1], "histogram": {"a": 1, "5": -2}, "threads_cpu": None, "max_us": True}
    [(_, tally)] = benchmark_seconds.by_second([invalid])
    assert tally.row()["ops"] == 0
    assert tally.row()["p99_ms"] is None


def test_values_missing_from_seconds_are_unknown() -> None:
    """memtier_benchmark reports command kinds and percentiles only at the end."""
    lines = [{"kind": "second", "t": t, "at": t + 1.0, "ops": 100, "average_us": 200.0, "errors": {}} for t in range(2)]
    reported = benchmark_seconds.columns(benchmark_seconds.by_second(lines))
    assert (reported["ops"], reported["average_ms"]) == ([100, 100], [0.2, 0.2])
    assert (reported["reads"], reported["redirected"], reported["p99_ms"]) == ([None, None],) * 3
    end_line = fake_load_generator.end_line(
        2.0, 2.0, 200, reads=150, writes=50, redirected=3, histogram={"190": 198, "900": 2}
    )
    result = benchmark_results.result(lines, [fake_load_generator.begin_line(0.0)], [end_line])
    assert (result["reads"], result["writes"], result["redirected"]) == (150, 50, 3)
    assert (result["p90_ms"], result["percentiles"][-1]["ms"]) == (0.19, 0.9)


def test_end_totals_are_used_if_seconds_were_discarded() -> None:
    lines = [fake_load_generator.second_line(t, t + 1.0) for t in range(4)]
    end_line = fake_load_generator.end_line(4.0, 2.0, 2000)
    result = benchmark_results.result(lines, [fake_load_generator.begin_line(0.0)], [end_line])
    assert (result["ops"], result["ops_per_second"]) == (2000, 1000.0)
    lost = benchmark_results.result(lines, [fake_load_generator.begin_line(0.0)] * 2, [end_line])
    assert lost["ops"] == 4000, "another generator ended without an end line"


def test_outage_and_its_verdict_are_reported() -> None:
    lines = [
        fake_load_generator.second_line(0, 1.0),
        fake_load_generator.second_line(1, 2.0, ops=0, errors={"CLUSTERDOWN": 7}),
    ]
    outage = {
        "shard": "a:1",
        "began": 1.0,
        "ended": 1.9,
        "seconds": 0.9,
        "errors": {"CLUSTERDOWN": 7},
        "lost": 2,
        "retried": 0,
    }
    end_line = fake_load_generator.end_line(2.0, 2.0, 1000, outages=[outage])
    result = benchmark_results.result(lines, [fake_load_generator.begin_line(0.0)], [end_line])
    assert (result["ops"], result["errors"], result["longest_outage_seconds"]) == (1000, {"CLUSTERDOWN": 7}, 0.9)
    assert result["outages"] == [outage]
    verdict = benchmark_results.verdict([result], {"max_outage_seconds": 0.5, "max_errors": 10})
    assert [each["kept"] for each in verdict["limits"]] == [False, True]


def test_generator_with_saturated_cpu_is_a_bottleneck() -> None:
    busy = [fake_load_generator.second_line(t, t + 1.0, threads_cpu=[0.2, 0.97]) for t in range(3)]
    assert benchmark_results.result(busy, [], [])["generator"]["is_bottleneck"] is True
    idle = [fake_load_generator.second_line(t, t + 1.0, threads_cpu=[0.2, 0.3]) for t in range(3)]
    assert benchmark_results.result(idle, [], [])["generator"]["is_bottleneck"] is False


def test_steps_and_shares_of_generators_are_planned() -> None:
    assert benchmark_plan.steps(2, 2) == [PlanStep(0, 0), PlanStep(1, 0), PlanStep(1, 1)]
    options = {"rate": 90, "key_pattern": "P:P", "key_minimum": 1, "key_maximum": 10}
    shares = [benchmark_plan.workload_share(options, index, 3) for index in range(3)]
    assert [(each["rate"], each["key_minimum"], each["key_maximum"]) for each in shares] == [
        (30, 1, 3),
        (30, 4, 7),
        (30, 8, 10),
    ]
