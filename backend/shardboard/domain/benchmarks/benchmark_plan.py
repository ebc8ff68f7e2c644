"""Division of a benchmark run into loads, and its progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from shardboard.domain.benchmarks import workload


class RunStatus(StrEnum):
    """Status of a benchmark run."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


OPEN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)


class LoadStatus(StrEnum):
    """Status of one load generator of a run."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"
    FAILED = "failed"
    SKIPPED = "skipped"


LIVE = (LoadStatus.RUNNING, LoadStatus.STOPPING)
ENDED = frozenset({LoadStatus.ENDED, LoadStatus.FAILED, LoadStatus.SKIPPED})


class PlanLoad(Protocol):
    @property
    def phase(self) -> int: ...
    @property
    def repetition(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def progress(self) -> float | None: ...


@dataclass(frozen=True, order=True)
class PlanStep:
    """All load nodes start a step together, and start the next one when all have finished it."""

    phase: int
    repetition: int


def steps(phases: int, repetitions: int) -> list[PlanStep]:
    """Return the steps of a run. Only the last phase is repeated."""
    previous = [PlanStep(phase, 0) for phase in range(phases - 1)]
    return previous + [PlanStep(phases - 1, repetition) for repetition in range(repetitions)]


def workload_share(spec: Mapping[str, Any], index: int, count: int) -> dict[str, Any]:
    """Return the workload of one of several load nodes: its part of a total rate, and of a key range divided among clients."""
    share = dict(spec)
    if count > 1 and share.get("rate") is not None:
        share["rate"] = share["rate"] / count
    if count > 1 and share.get("key_pattern") == "P:P":
        first, last = workload.key_range(share)
        width = (last - first + 1) / count
        share["key_minimum"] = first + round(index * width) or None
        share["key_maximum"] = first + round((index + 1) * width) - 1
    return share


@dataclass(frozen=True)
class PlanPosition:
    """Progress of a run. `progress` is 0-100; `step` is None if no step is running."""

    progress: float
    step: PlanStep | None
    time_left: float | None


def plan_position(
    loads: Sequence[PlanLoad], phases: Sequence[Mapping[str, Any]], further_steps: int = 0
) -> PlanPosition:
    """Return the progress. Steps are weighted by their duration if all durations are known, otherwise equally.

    `further_steps` is the number of steps of the last phase whose loads do not exist yet.
    """
    grouped_loads: dict[PlanStep, list[PlanLoad]] = {}
    for load in loads:
        grouped_loads.setdefault(PlanStep(load.phase, load.repetition), []).append(load)
    lengths = {step: workload.seconds(phases[step.phase]["workload"]) for step in grouped_loads}
    known_lengths = [length for length in lengths.values() if length is not None]
    weights = {
        step: float(length) if len(known_lengths) == len(lengths) and length else 1.0
        for step, length in lengths.items()
    }
    further_seconds = further_steps * (workload.seconds(phases[-1]["workload"]) or 0)
    further_weight = further_seconds if len(known_lengths) == len(lengths) else further_steps
    done_weight, current_step, remaining_weight = 0.0, None, float(further_seconds)
    for step, parts in sorted(grouped_loads.items()):
        shares = [1.0 if load.status in ENDED else load.progress or 0.0 for load in parts]
        share_done = min(shares)
        if current_step is None and any(load.status in LIVE for load in parts):
            current_step = step
        done_weight += weights[step] * share_done
        remaining_weight += (lengths[step] or 0) * (1 - share_done)
    total = sum(weights.values()) + further_weight
    return PlanPosition(
        progress=round(100 * done_weight / total, 1) if total else 0.0,
        step=current_step,
        time_left=round(remaining_weight, 1) if len(known_lengths) == len(lengths) else None,
    )
