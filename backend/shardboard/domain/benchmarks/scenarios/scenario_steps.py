"""Statuses of scenario runs and of their parts, the next step of a run, and its progress."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shardboard.domain.benchmarks import benchmark_plan
from shardboard.domain.benchmarks.benchmark_plan import RunStatus
from shardboard.domain.databases.bdb_status import BdbStatus


class PartStatus(StrEnum):
    """Status of one part of a scenario run."""

    WAITING = "waiting"
    CREATING = "creating"
    """Its databases are being created."""
    MEASURING = "measuring"
    """Its benchmark runs are executed."""
    REMOVING = "removing"
    """Its databases are being deleted."""
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    """The run ended before this part."""


ENDED = frozenset({PartStatus.COMPLETED, PartStatus.FAILED, PartStatus.STOPPED, PartStatus.SKIPPED})
IN_USE = frozenset({PartStatus.CREATING, PartStatus.MEASURING})
"""Statuses in which the databases of a part are needed."""

BATCH = 20
"""Largest number of databases or benchmark runs that are requested in one transaction, because other transactions wait for it."""
REMOVAL_SECONDS = 60
"""How long a run waits for the deletion of its databases. A node that is down can delay it; the deletion continues afterwards."""
CREATED, MEASURED = 0.05, 0.98
"""Progress of a part when its databases exist, and when its benchmark runs have ended, 0-1."""

_STEPS = {
    PartStatus.WAITING: "Wait for part {name}",
    PartStatus.CREATING: "Create the databases of part {name}",
    PartStatus.MEASURING: "Run the benchmarks of part {name}",
    PartStatus.REMOVING: "Delete the databases of part {name}",
}


def new_part(name: str) -> dict[str, Any]:
    """Return the stored progress of a part that has not started."""
    return {
        "name": name,
        "status": PartStatus.WAITING,
        "detail": "",
        "use_nodes": [],
        "bdb_uids": [],
        "benchmark_uids": [],
        "measured": {},
        "removing_since": None,
    }


class Step(StrEnum):
    """Next step of a part."""

    CREATE = "create"
    """Request the next `BATCH` of its databases."""
    START = "start"
    """Request the next `BATCH` of its benchmark runs."""
    WAIT = "wait"
    FAIL = "fail"
    """Store the reason. The following steps end the run."""
    STOP = "stop"
    """Stop its benchmark runs."""
    RECORD = "record"
    """Store its measurements. Its databases are no longer needed."""
    END = "end"


@dataclass(frozen=True)
class ObservedObject:
    """A database or a benchmark run of a part."""

    name: str
    status: str
    detail: str


@dataclass(frozen=True)
class ObservedPart:
    """State of a part and of its objects that exist."""

    name: str
    status: str
    expected: int
    """Number of its databases, each of which gets a benchmark run."""
    requested_databases: int
    databases: Sequence[ObservedObject]
    requested_runs: int
    runs: Sequence[ObservedObject]
    lost_node: str = ""
    """Message about a node of the part that is down, other than by its drill."""
    removing_seconds: float = 0.0


def next_step(part: ObservedPart, *, ending: bool) -> tuple[Step, str]:
    """Return the next step of a part, and the reason of a failure. `ending`: the run was canceled or has failed."""
    if part.status == PartStatus.WAITING:
        return (Step.END if ending else Step.CREATE), ""
    if part.status == PartStatus.CREATING:
        return (Step.RECORD, "") if ending else _creation(part)
    if part.status == PartStatus.MEASURING:
        return _measurement(part, ending=ending)
    is_over = not part.databases or part.removing_seconds > REMOVAL_SECONDS
    return (Step.END if is_over else Step.WAIT), ""


def _creation(part: ObservedPart) -> tuple[Step, str]:
    for each in part.databases:
        if each.status == BdbStatus.CREATION_FAILED:
            return Step.FAIL, f"Database {each.name} could not be created. {each.detail}".strip()
    if len(part.databases) < part.requested_databases or any(
        each.status == BdbStatus.DELETE_PENDING for each in part.databases
    ):
        return Step.FAIL, f"A database of part {part.name} was deleted."
    if part.lost_node:
        return Step.FAIL, part.lost_node
    if part.requested_databases < part.expected:
        return Step.CREATE, ""
    return (Step.START if all(each.status == BdbStatus.ACTIVE for each in part.databases) else Step.WAIT), ""


def _measurement(part: ObservedPart, *, ending: bool) -> tuple[Step, str]:
    open_runs = [run for run in part.runs if run.status in benchmark_plan.OPEN_STATUSES]
    if ending:
        return (Step.STOP if open_runs else Step.RECORD), ""
    if len(part.runs) < part.requested_runs:
        return Step.FAIL, f"A benchmark run of part {part.name} was deleted."
    for run in part.runs:
        if run.status == RunStatus.FAILED:
            return Step.FAIL, f"Benchmark {run.name} failed. {run.detail}".strip()
        if run.status == RunStatus.STOPPED:
            return Step.FAIL, f"Benchmark {run.name} was stopped."
    if open_runs and part.lost_node:
        return Step.FAIL, part.lost_node
    if part.requested_runs < part.expected:
        return Step.START, ""
    return (Step.WAIT if open_runs else Step.RECORD), ""


def current(parts: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the index of the part that is executed, or None if all have ended."""
    return next((index for index, part in enumerate(parts) if part["status"] not in ENDED), None)


def step_name(part: Mapping[str, Any]) -> str:
    """Return what a part does now, or "" if it has ended."""
    return _STEPS.get(part["status"], "").format(name=part["name"])


def part_progress(status: str, measured: float) -> float:
    """Return the progress of a part, 0-1. `measured` is the mean progress of its benchmark runs, 0-1."""
    if status in ENDED:
        return 1.0
    if status == PartStatus.MEASURING:
        return CREATED + (MEASURED - CREATED) * measured
    return {PartStatus.CREATING: CREATED / 2, PartStatus.REMOVING: MEASURED}.get(PartStatus(status), 0.0)


def progress(shares: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the progress of a run, 0-100, from the shares of its parts that are done and their estimated durations."""
    total = sum(seconds)
    if not total:
        return 0.0
    return round(100 * sum(share * each for share, each in zip(shares, seconds, strict=True)) / total, 1)


def database_name(run_uid: int, part: Mapping[str, Any], number: int) -> str:
    """Return the name of a database of a part: `scenario-7-dram`, `scenario-7-native-1-000-b-12`."""
    words = "-".join(re.findall(r"[a-z0-9]+", part["name"].lower()))
    suffix = f"-{number + 1}" if part["databases"] > 1 else ""
    return f"scenario-{run_uid}-{words[:40]}{suffix}"


def needs_databases(parts: Sequence[Mapping[str, Any]], bdb_uid: int) -> bool:
    """Return whether a part still needs a database."""
    return any(part["status"] in IN_USE and bdb_uid in part["bdb_uids"] for part in parts)
