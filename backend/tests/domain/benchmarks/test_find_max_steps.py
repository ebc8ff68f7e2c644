"""Tests of the evaluation of one step of a search."""

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from backend.tests.support import fake_load_generator

from shardboard.domain.benchmarks import benchmark_results, find_max_steps, workload
from shardboard.domain.benchmarks.benchmark_plan import LoadStatus
from shardboard.domain.benchmarks.find_max import PlannedStep, Step, Target

RATE = PlannedStep("search", 1_000.0)
PHASES = [
    {"name": "populate", "workload": {}},
    {
        "name": "measure",
        "workload": {"test_time": 4},
        "find_max": {"limit": "average_ms", "ms": 1.0, "confirmations": 2},
    },
]


def evaluate(micros: list[int], *, ops: int = 1_000, planned: PlannedStep = RATE, **more: Any) -> Step:
    """Evaluate a step whose seconds have these latencies, with a limit of 1 ms on average and 20 connections."""
    lines = [fake_load_generator.second_line(t, t + 1.0, ops, each, **more) for t, each in enumerate(micros)]
    last = fake_load_generator.end_line(4.0, float(len(micros)), ops * len(micros))
    last["average_us"] = sum(micros) / len(micros)
    result = benchmark_results.result(lines, [fake_load_generator.begin_line(0.0)], [last])
    return find_max_steps.evaluate(planned, Target("average_ms", 1.0, 3), result, lines, 20)


def test_step_meets_the_limit_if_the_latency_is_low_and_the_rate_is_reached() -> None:
    assert asdict(evaluate([800] * 4)) == {
        "purpose": "search",
        "rate": 1_000.0,
        "ops_per_second": 1_000.0,
        "average_ms": 0.8,
        "p99_ms": 0.2,
        "met": True,
        "steady": True,
        "limited_by": None,
    }
    assert not evaluate([1_100] * 4).met
    assert not evaluate([800] * 4, ops=985).met
    assert evaluate([800] * 4, ops=985, planned=PlannedStep("peak", None)).met


@pytest.mark.parametrize(
    ("micros", "met", "steady"),
    [
        ([800, 900, 700, 800], True, True),
        ([800, 1_050, 700, 800], True, True),
        ([1_100, 1_200, 900, 1_100], False, True),
        ([1_300, 1_050, 400, 500], True, False),
        ([400, 400, 400, 9_000], False, False),
    ],
)
def test_step_is_steady_if_most_seconds_agree(micros: list[int], met: bool, steady: bool) -> None:
    step = evaluate(micros)
    assert (step.met, step.steady) == (met, steady)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"service_average_us": 5_000.0, "in_flight": 20}, "database"),
        ({"service_average_us": 300.0, "in_flight": 20}, "connections"),
        ({"service_average_us": 300.0, "in_flight": 3, "schedule_lag_us": 6_000}, "generator"),
        ({"service_average_us": 300.0, "in_flight": 3, "schedule_lag_us": 40}, "connections"),
        ({"service_average_us": 5_000.0, "threads_cpu": [0.2, 0.95]}, "generator"),
    ],
)
def test_reason_of_a_missed_limit(more: dict[str, Any], reason: str) -> None:
    assert evaluate([6_000] * 4, **more).limited_by == reason


def test_connections_of_all_generators_are_counted() -> None:
    assert workload.outstanding({}) == 200
    assert workload.outstanding({"threads": 2, "clients": 10, "pipeline": 4}) == 80


def test_stored_steps_give_the_workload_the_label_and_the_results() -> None:
    search = find_max_steps.begin(PHASES)
    assert search == [{"purpose": "peak", "rate": None}]
    assert find_max_steps.begin(PHASES[:1]) == []
    step = evaluate([800] * 4)
    search = find_max_steps.extended(search, Step(**{**asdict(step), "purpose": "peak", "rate": None}), 2)
    assert search[-1] == {"purpose": "search", "rate": 1_000.0}
    assert find_max_steps.workload_of(PHASES[1], search, 1) == {"test_time": 4, "rate": 1_000.0}
    assert find_max_steps.workload_of(PHASES[0], search, 0) == {}
    assert find_max_steps.label(search, 0) == ", closed loop"
    assert find_max_steps.label(search, 1) == ", 1,000 requests/s"
    assert find_max_steps.label([], 0) == ""
    assert find_max_steps.further(PHASES, search) == find_max_steps.expected(PHASES) - 2
    is_measured = find_max_steps.measured_steps(PHASES, search)
    assert not is_measured(1, 0)
    confirmed = asdict(step) | {"purpose": "confirmation"}
    is_measured = find_max_steps.measured_steps(PHASES, [*search[:1], asdict(step), confirmed, confirmed])
    assert [is_measured(1, repetition) for repetition in range(4)] == [False, False, True, True]
    assert not is_measured(0, 2)


def test_progress_includes_steps_that_are_not_planned_yet() -> None:
    search = find_max_steps.begin(PHASES)
    loads = [
        SimpleNamespace(phase=phase, repetition=0, status=status, progress=None)
        for phase, status in ((0, LoadStatus.ENDED), (1, LoadStatus.RUNNING))
    ]
    steps = 1 + find_max_steps.expected(PHASES)
    assert find_max_steps.plan_position(loads, PHASES, search).progress == round(100 / steps, 1)


def test_an_interrupted_confirmation_is_repeated_and_is_no_result() -> None:
    met = asdict(evaluate([800] * 4))
    planned = {"purpose": "confirmation", "rate": 1_000.0}
    search = [met | {"purpose": "peak", "rate": None}, met, met | planned, planned]
    assert find_max_steps.is_open(search)
    repeated = find_max_steps.repeated(search)
    assert repeated == [*search, planned]
    assert [find_max_steps.is_interrupted(repeated, number) for number in range(5)] == [False] * 3 + [True, False]
    assert find_max_steps.further(PHASES, repeated) == find_max_steps.further(PHASES, search)
    assert len(find_max_steps.ended(repeated)) == 3
    finished = [*repeated[:-1], met | planned]
    assert not find_max_steps.is_open(finished)
    is_measured = find_max_steps.measured_steps(PHASES, finished)
    assert [is_measured(1, repetition) for repetition in range(5)] == [False, False, True, False, True]


def test_a_step_is_repeated_twice_at_most() -> None:
    search = find_max_steps.begin(PHASES)
    for _ in range(find_max_steps.MAX_REPEATS):
        search = find_max_steps.repeated(search)
    assert len(search) == 1 + find_max_steps.MAX_REPEATS
    assert find_max_steps.repeated(search) == []
    assert find_max_steps.repeated([asdict(evaluate([800] * 4))]) == [], "no step is open"
    assert find_max_steps.repeated([]) == []
