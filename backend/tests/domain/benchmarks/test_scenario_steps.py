"""Tests of the next step of a scenario run, and of its progress."""

from dataclasses import replace

import pytest

from shardboard.domain.benchmarks.scenarios import scenario_steps
from shardboard.domain.benchmarks.scenarios.scenario_steps import (
    ObservedObject,
    ObservedPart,
    PartStatus,
    Step,
    next_step,
)

ACTIVE = ObservedObject("scenario-1-dram", "active", "")
PENDING = replace(ACTIVE, status="pending")
RUNNING = ObservedObject("run", "running", "")
COMPLETED = replace(RUNNING, status="completed")
LOST = "Node 2 (10.0.0.2) has been unavailable since 12:00:00 UTC."


def part(
    status: PartStatus,
    databases: list[ObservedObject],
    runs: list[ObservedObject] | None = None,
    *,
    requested: int = 2,
    expected: int = 2,
) -> ObservedPart:
    """Return a part of which `requested` objects were requested: databases while it is created, otherwise runs."""
    of_databases = requested if status == PartStatus.CREATING else expected
    return ObservedPart("DRAM", status, expected, of_databases, databases, requested, runs or [])


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (part(PartStatus.WAITING, []), Step.CREATE),
        (part(PartStatus.CREATING, [ACTIVE, PENDING]), Step.WAIT),
        (part(PartStatus.CREATING, [ACTIVE, PENDING], expected=3), Step.CREATE),
        (part(PartStatus.CREATING, [ACTIVE, ACTIVE], expected=3), Step.CREATE),
        (part(PartStatus.CREATING, [ACTIVE, ACTIVE]), Step.START),
        (part(PartStatus.MEASURING, [ACTIVE] * 3, [COMPLETED, RUNNING], expected=3), Step.START),
        (part(PartStatus.MEASURING, [ACTIVE] * 3, [COMPLETED, COMPLETED], expected=3), Step.START),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [COMPLETED, RUNNING]), Step.WAIT),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [COMPLETED, COMPLETED]), Step.RECORD),
        (part(PartStatus.REMOVING, [PENDING]), Step.WAIT),
        (part(PartStatus.REMOVING, []), Step.END),
    ],
)
def test_parts_are_created_measured_and_removed(observed: ObservedPart, expected: Step) -> None:
    assert next_step(observed, ending=False) == (expected, "")


@pytest.mark.parametrize(
    ("observed", "reason"),
    [
        (
            part(PartStatus.CREATING, [ACTIVE, replace(ACTIVE, status="creation-failed", detail="No memory.")]),
            "could not be created. No memory.",
        ),
        (part(PartStatus.CREATING, [ACTIVE]), "was deleted"),
        (part(PartStatus.CREATING, [ACTIVE], expected=3), "was deleted"),
        (part(PartStatus.CREATING, [replace(ACTIVE, status="creation-failed")], requested=1), "could not be created"),
        (replace(part(PartStatus.CREATING, [ACTIVE, PENDING], expected=3), lost_node=LOST), LOST),
        (part(PartStatus.CREATING, [ACTIVE, replace(ACTIVE, status="delete-pending")]), "was deleted"),
        (replace(part(PartStatus.CREATING, [ACTIVE, PENDING]), lost_node=LOST), LOST),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [RUNNING]), "was deleted"),
        (part(PartStatus.MEASURING, [ACTIVE] * 3, [RUNNING], expected=3), "was deleted"),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [RUNNING, replace(RUNNING, status="failed", detail="OOM.")]), "OOM."),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [RUNNING, replace(RUNNING, status="stopped")]), "was stopped"),
        (replace(part(PartStatus.MEASURING, [ACTIVE] * 2, [RUNNING, RUNNING]), lost_node=LOST), LOST),
    ],
)
def test_failures_have_a_reason(observed: ObservedPart, reason: str) -> None:
    step, text = next_step(observed, ending=False)
    assert step == Step.FAIL
    assert reason in text


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (part(PartStatus.WAITING, []), Step.END),
        (part(PartStatus.CREATING, [ACTIVE, PENDING]), Step.RECORD),
        (part(PartStatus.CREATING, [ACTIVE, PENDING], expected=3), Step.RECORD),
        (part(PartStatus.MEASURING, [ACTIVE] * 3, [COMPLETED, RUNNING], expected=3), Step.STOP),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [COMPLETED, RUNNING]), Step.STOP),
        (part(PartStatus.MEASURING, [ACTIVE] * 2, [COMPLETED, COMPLETED]), Step.RECORD),
        (part(PartStatus.REMOVING, [ACTIVE]), Step.WAIT),
    ],
)
def test_an_ending_run_stops_and_removes_its_databases(observed: ObservedPart, expected: Step) -> None:
    assert next_step(observed, ending=True) == (expected, "")


def test_a_delayed_deletion_does_not_delay_the_end() -> None:
    waited = replace(part(PartStatus.REMOVING, [ACTIVE]), removing_seconds=scenario_steps.REMOVAL_SECONDS + 1)
    assert next_step(waited, ending=False) == (Step.END, "")


def test_databases_are_named_after_the_run_and_the_part() -> None:
    several = {"name": "native, 1,000 B", "databases": 288}
    assert scenario_steps.database_name(7, several, 11) == "scenario-7-native-1-000-b-12"
    assert scenario_steps.database_name(7, {"name": "DRAM", "databases": 1}, 0) == "scenario-7-dram"


def test_only_parts_in_use_need_their_databases() -> None:
    parts = [
        {**scenario_steps.new_part("a"), "status": PartStatus.REMOVING, "bdb_uids": [1]},
        {**scenario_steps.new_part("b"), "status": PartStatus.MEASURING, "bdb_uids": [2]},
    ]
    assert [scenario_steps.needs_databases(parts, uid) for uid in (1, 2, 3)] == [False, True, False]


def test_progress_weights_parts_by_their_duration() -> None:
    shares = [
        scenario_steps.part_progress(PartStatus.COMPLETED, 0.0),
        scenario_steps.part_progress(PartStatus.MEASURING, 0.5),
        scenario_steps.part_progress(PartStatus.WAITING, 0.0),
    ]
    assert scenario_steps.progress(shares, [100, 200, 100]) == pytest.approx(50.8, abs=0.1)
    assert scenario_steps.progress([], []) == 0.0
