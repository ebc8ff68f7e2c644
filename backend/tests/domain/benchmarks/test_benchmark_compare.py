"""Tests of the comparison of benchmark runs."""

from typing import Any

from shardboard.domain.benchmarks import benchmark_compare, benchmark_results


def results(*ops: float, average: float = 0.5, p99: float = 0.9) -> list[dict[str, Any]]:
    return [
        {
            "ops": int(each),
            "ops_per_second": each,
            "average_ms": average,
            "p99_ms": p99,
            "errors": {},
            "longest_outage_seconds": 0.0,
            **dict.fromkeys(("p50_ms", "p90_ms", "p999_ms", "max_ms")),
        }
        for each in ops
    ]


def compare_throughput(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> Any:
    summaries = [{"spread": benchmark_results.spread(each)} for each in (one, other)]
    table = benchmark_compare.figures(summaries, [len(one), len(other)])
    return next(each for each in table if each["name"] == "ops_per_second")["differences"][0]


def test_difference_within_noise_does_not_stand_out() -> None:
    comparison = compare_throughput(results(100, 110, 90), results(104, 114, 95))
    assert comparison["stands_out"] is False
    assert comparison["noise"] > 0.04


def test_difference_above_noise_stands_out() -> None:
    comparison = compare_throughput(results(100, 101, 99), results(150, 151, 149))
    assert (comparison["ratio"], comparison["stands_out"]) == (1.5, True)


def test_single_repetition_has_no_noise_estimate() -> None:
    assert compare_throughput(results(100), results(200, 201))["stands_out"] is None


def test_only_different_settings_are_listed() -> None:
    runs = [{"a": {"b": 1, "c": [1, 2]}, "d": "x"}, {"a": {"b": 2, "c": [1, 2]}}]
    assert benchmark_compare.settings(runs) == [
        {"name": "a.b", "values": [1, 2]},
        {"name": "d", "values": ["x", None]},
    ]


def test_highest_throughput_within_a_limit_is_selected() -> None:
    run_results = [*results(100, average=0.2), *results(300, average=0.9), *results(500, average=1.4)]
    best = benchmark_compare.best_within_limit(run_results, "average_ms", 1.0)
    assert best is not None
    assert best["ops_per_second"] == 300
    assert benchmark_compare.best_within_limit(run_results, "average_ms", 0.1) is None


def test_verdict_requires_a_measurement() -> None:
    assert benchmark_results.verdict([], {"p99_ms": 1.0})["kept"] is None
    assert benchmark_results.verdict(results(100), None) == {"kept": None, "limits": []}
    assert benchmark_results.verdict(results(100), {"p99_ms": 1.0, "max_errors": 0})["kept"] is True
    assert benchmark_results.verdict(results(100, p99=1.1), {"p99_ms": 1.0})["kept"] is False
