"""Steps of a search for the highest rate: how they are stored with the run, and the evaluation of a step from its seconds.

A run stores one entry for each step, in the order of the repetitions of its last phase. The entry of a step that has not ended
contains only what is planned. If it is not the last entry, the step was interrupted, and the next entry repeats it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import takewhile
from typing import Any

from shardboard.domain.benchmarks import benchmark_plan, find_max
from shardboard.domain.benchmarks.benchmark_plan import PlanLoad, PlanPosition
from shardboard.domain.benchmarks.benchmark_results import BUSY
from shardboard.domain.benchmarks.benchmark_seconds import Tally, by_second
from shardboard.domain.benchmarks.find_max import LimitedBy, LimitName, PlannedStep, Step, Target

REACHED = 0.99
"""Share of a rate that must be reached."""
AGREEING = 0.75
"""Share of the seconds that agree with the verdict of a steady step."""
MAX_REPEATS = 2
"""How often a step is repeated because a generator ended without a report."""
FULL = 0.8
"""Share of the capacity of all connections from which they count as busy."""
_SERVICE: Mapping[str, str] = {"average_ms": "service_average_us", "p99_ms": "service_p99_us"}


def target_of(phases: Sequence[Mapping[str, Any]]) -> Target | None:
    """Return the target of a run's search; None if it does not search."""
    return Target(**phases[-1]["find_max"]) if phases[-1].get("find_max") else None


def begin(phases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries at the start of a run."""
    target = target_of(phases)
    first = find_max.next_step([], target.confirmations) if target else None
    return [asdict(first)] if first else []


def rendered(search: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with all fields; None for results of a step that has not ended."""
    return [{**dict.fromkeys(each.name for each in fields(Step)), **entry} for entry in search]


def ended(search: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Return the steps that have ended."""
    return [Step(**entry) for entry in search if entry.get("met") is not None]


def is_open(search: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a step is planned or running."""
    return bool(search) and search[-1].get("met") is None


def is_interrupted(search: Sequence[Mapping[str, Any]], repetition: int) -> bool:
    """Return whether a step has no result because it was interrupted and repeated."""
    return repetition < len(search) - 1 and search[repetition].get("met") is None


def repeated(search: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries after the planned step was interrupted; empty if it cannot be repeated."""
    attempts = sum(1 for _ in takewhile(lambda entry: entry.get("met") is None, reversed(search)))
    return [*search, search[-1]] if 0 < attempts <= MAX_REPEATS else []


def expected(phases: Sequence[Mapping[str, Any]]) -> int:
    """Return the estimated number of steps; 0 if the run does not search."""
    target = target_of(phases)
    return find_max.remaining([], target.confirmations) if target else 0


def further(phases: Sequence[Mapping[str, Any]], search: Sequence[Mapping[str, Any]]) -> int:
    """Return the estimated number of steps that follow the planned ones."""
    target, steps = target_of(phases), ended(search)
    remaining = find_max.remaining(steps, target.confirmations) if target else 0
    return max(0, remaining - is_open(search))


def plan_position(
    loads: Sequence[PlanLoad], phases: Sequence[Mapping[str, Any]], search: Sequence[Mapping[str, Any]]
) -> PlanPosition:
    """Return the progress of a run, including the steps of its search that are not planned yet."""
    return benchmark_plan.plan_position(loads, phases, further(phases, search))


def extended(search: Sequence[dict[str, Any]], step: Step, confirmations: int) -> list[dict[str, Any]]:
    """Return the entries after the last planned step has ended, with the next planned step if there is one."""
    entries = [*search[:-1], asdict(step)]
    following = find_max.next_step(ended(entries), confirmations)
    return [*entries, asdict(following)] if following else entries


def result(phases: Sequence[Mapping[str, Any]], search: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the result of a run's search; None if it does not search."""
    target = target_of(phases)
    return find_max.result(ended(search), target) if target else None


def measured_steps(
    phases: Sequence[Mapping[str, Any]], search: Sequence[Mapping[str, Any]]
) -> Callable[[int, int], bool]:
    """Return a predicate of a phase and a repetition: whether it is a result of the run.

    These are the repetitions of the last phase, and only the confirmation runs at the found rate if the run searches.
    """
    found = result(phases, search)
    confirmations = {
        number
        for number, entry in enumerate(search)
        if found
        and entry["purpose"] == "confirmation"
        and entry["rate"] == found["rate"]
        and entry.get("met") is not None
    }
    return lambda phase, repetition: phase == len(phases) - 1 and (found is None or repetition in confirmations)


def label(search: Sequence[Mapping[str, Any]], repetition: int) -> str:
    """Return a suffix for the name of the phase; empty if the run does not search."""
    if repetition >= len(search):
        return ""
    entry = search[repetition]
    if entry["rate"] is None:
        return ", closed loop"
    return f", {entry['rate']:,.0f} requests/s" + (", confirmation" if entry["purpose"] == "confirmation" else "")


def step_name(run: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """Return the name of a result or series: its phase, with the rate of a step of a search. `run` is in the format of the API."""
    is_last = part["phase"] == len(run["phases"]) - 1
    return str(part["phase_name"]) + (label(run["search"], part["repetition"]) if is_last else "")


def workload_of(phase: Mapping[str, Any], search: Sequence[Mapping[str, Any]], repetition: int) -> dict[str, Any]:
    """Return the workload of a repetition of a phase, at the rate of its step if the phase searches."""
    rate = {"rate": search[repetition]["rate"]} if phase.get("find_max") else {}
    return {**phase["workload"], **rate}


def evaluate(
    planned: PlannedStep,
    target: Target,
    result: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    capacity: int,
) -> Step:
    """Return a step from its result and the lines of all seconds and generators.

    `capacity` is the number of requests that all connections can have outstanding.
    """
    limit, ms = target.limit, target.ms
    reached, latency = result["ops_per_second"], result[limit]
    is_reached = planned.rate is None or reached >= planned.rate * REACHED
    met = _meets(latency, ms) and is_reached
    seconds = [tally for _, tally in by_second(lines)]
    agreeing = sum(_meets(tally.latencies()[limit], ms) == met for tally in seconds)
    return Step(
        purpose=planned.purpose,
        rate=planned.rate,
        ops_per_second=reached,
        average_ms=result["average_ms"],
        p99_ms=result["p99_ms"],
        met=met,
        steady=agreeing >= AGREEING * len(seconds),
        limited_by=None if met else _limited_by(seconds, _service_latencies(lines, limit), ms, capacity),
    )


def _limited_by(seconds: Sequence[Tally], service_ms: Sequence[float], ms: float, capacity: int) -> LimitedBy:
    """Return why a step missed its limit.

    If the database replied within the limit, the requests were sent late: because a generator was late, or because their
    connections were waiting for other replies. With cluster-aware clients, generators queue such requests on time.
    """
    if _most(tally.cpu is not None and tally.cpu >= BUSY for tally in seconds):
        return "generator"
    if not _most(each <= ms for each in service_ms):
        return "database"
    is_on_time = _most(tally.lag_us is not None and tally.lag_us <= ms * 1000 for tally in seconds)
    is_full = _most(tally.counts["in_flight"] >= FULL * capacity for tally in seconds)
    return "connections" if is_full or is_on_time else "generator"


def _service_latencies(lines: Sequence[Mapping[str, Any]], limit: LimitName) -> list[float]:
    """Return the latencies from the time of sending, which generators report in an open loop."""
    reported = (line.get(_SERVICE[limit]) for line in lines)
    return [micros / 1000 for micros in reported if isinstance(micros, int | float)]


def _meets(latency: float | None, ms: float) -> bool:
    return latency is not None and latency <= ms


def _most(conditions: Iterable[bool]) -> bool:
    checked = list(conditions)
    return 2 * sum(checked) > len(checked)
