"""Tests of the search for the highest rate, with simulated databases of known capacity."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from shardboard.domain.benchmarks import find_max
from shardboard.domain.benchmarks.find_max import PlannedStep, Step, Target

Measure = Callable[[PlannedStep], Step]
TARGET = Target("average_ms", 1.0, 3)


def database(capacity: float, peak: float) -> Measure:
    """Return a database that serves up to `capacity` requests per second within the limit, and `peak` at most."""

    def measure(planned: PlannedStep) -> Step:
        rate = planned.rate or peak
        met = planned.rate is None or rate <= capacity
        return Step(
            purpose=planned.purpose,
            rate=planned.rate,
            ops_per_second=min(rate, peak),
            average_ms=0.5 if met else 9.0,
            p99_ms=0.9 if met else 20.0,
            met=met,
            steady=True,
            limited_by=None if met else "database",
        )

    return measure


def search(measure: Measure, confirmations: int = 3) -> list[Step]:
    steps: list[Step] = []
    while planned := find_max.next_step(steps, confirmations):
        steps.append(measure(planned))
        assert len(steps) <= find_max.MAX_STEPS
    return steps


def test_capacity_of_any_database_is_found_and_confirmed() -> None:
    cases = random.Random(7)
    for _ in range(300):
        peak = 10 ** cases.uniform(3, 7)
        capacity = peak * 10 ** cases.uniform(-2, 1)
        confirmations = cases.randint(1, 10)
        steps = search(database(capacity, peak), confirmations)
        found = find_max.result(steps, replace(TARGET, confirmations=confirmations))
        assert capacity / (1 + find_max.PRECISION) ** 2 <= found["rate"] <= capacity, (peak, capacity)
        assert (found["confirmed"], found["confirmations"]) == (True, confirmations)
        assert [step.purpose for step in steps].count("confirmation") == confirmations
        assert len(steps) <= 20 + confirmations


def test_search_with_noise_ends_and_reports_only_rates_that_most_confirmations_met() -> None:
    """Near the capacity, results are random and their seconds disagree. Anywhere, a stall can spoil a step."""
    cases = random.Random(11)
    for _ in range(300):
        capacity, peak = 10_000 * cases.uniform(0.1, 1), 10_000.0
        clean = database(capacity, peak)

        def measure(planned: PlannedStep) -> Step:
            step = clean(planned)  # noqa: B023
            distance = abs((planned.rate or peak) / capacity - 1)  # noqa: B023
            if distance < 0.05 or cases.random() < 0.05:
                met = cases.random() < 0.5 if distance < 0.05 else False
                return replace(step, met=met, steady=False, average_ms=0.8 if met else 1.3)
            return step

        steps = search(measure)
        found = find_max.result(steps, TARGET)
        assert found["confirmed"] or len(steps) == find_max.MAX_STEPS
        assert found["rate"] <= capacity * 1.07
        confirmed = [step.met for step in steps if step.purpose == "confirmation" and step.rate == found["rate"]]
        if found["confirmed"]:
            assert confirmed.count(True) >= 2
            assert found["average_ms"] <= 1.0


def test_stalls_do_not_change_the_found_rate() -> None:
    """A stall spoils every fifth step, which is not steady then."""
    numbers = count()
    clean = database(7_000, 10_000)

    def measure(planned: PlannedStep) -> Step:
        step = clean(planned)
        return replace(step, met=False, steady=False, average_ms=3.0) if next(numbers) % 5 == 4 else step

    found = find_max.result(search(measure), TARGET)
    assert 6_800 <= found["rate"] <= 7_000
    assert found["average_ms"] == 0.5


def test_confirmations_that_miss_the_limit_lower_the_rate() -> None:
    clean = database(9_000, 10_000)

    def measure(planned: PlannedStep) -> Step:
        step = clean(planned)
        is_too_high = planned.purpose == "confirmation" and (planned.rate or 0) > 8_000
        return replace(step, met=False, limited_by="database") if is_too_high else step

    steps = search(measure)
    found = find_max.result(steps, TARGET)
    assert 7_500 <= found["rate"] <= 8_000
    assert found["confirmed"]
    rejected = [step.rate for step in steps if step.purpose == "confirmation" and not step.met]
    assert all(rejected.count(rate) == 2 for rate in rejected), "the third confirmation could not change the result"


def test_search_ends_if_no_rate_meets_the_limit() -> None:
    steps = search(database(0, 10_000))
    found = find_max.result(steps, TARGET)
    assert (found["rate"], found["ops_per_second"], found["confirmed"]) == (None, None, False)
    assert found["text"] == "No measured rate had an average latency of at most 1 ms."
    assert len(steps) < 15
    assert len(search(database(0, 0))) == 1


@pytest.mark.parametrize("reason", ["generator", "connections"])
def test_limit_of_the_generator_is_not_reported_as_the_limit_of_the_database(reason: find_max.LimitedBy) -> None:
    clean = database(5_000, 10_000)

    def measure(planned: PlannedStep) -> Step:
        step = clean(planned)
        return step if step.met else replace(step, limited_by=reason)

    found = find_max.result(search(measure), TARGET)
    assert found["limited_by"] == reason
    assert {"generator": "Use more load nodes", "connections": "With more connections"}[reason] in found["text"]
    assert find_max.result(search(clean), TARGET)["limited_by"] == "database"


def test_stopped_search_reports_the_best_rate_as_unconfirmed() -> None:
    steps = search(database(7_000, 10_000))
    for length in range(len(steps)):
        found = find_max.result(steps[:length], TARGET)
        assert found["confirmed"] is False
        assert found["rate"] is None or found["rate"] <= 7_000
        assert len(found["curve"]) == len({step.rate for step in steps[:length]} - {None})
    assert found["text"].endswith("It was not confirmed.")


def test_curve_has_one_point_per_rate_in_ascending_order() -> None:
    found = find_max.result(search(database(7_000, 10_000)), TARGET)
    rates = [point[0] for point in found["curve"]]
    assert rates == sorted(set(rates))
    assert found["curve"][-1] == [10_000.0, 9.0, 20.0, False]
    assert [point[3] for point in found["curve"]] == [rate <= 7_000 for rate in rates]


def test_remaining_steps_are_estimated() -> None:
    steps = search(database(7_000, 10_000))
    estimates = [length + find_max.remaining(steps[:length], 3) for length in range(len(steps) + 1)]
    assert estimates[-1] == len(steps)
    assert all(abs(estimate - len(steps)) <= 3 for estimate in estimates), (len(steps), estimates)
    assert all(find_max.remaining(steps[:length], 3) > 0 for length in range(len(steps)))
