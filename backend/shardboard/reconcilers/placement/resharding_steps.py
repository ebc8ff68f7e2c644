"""Progress of a resharding action: its steps, percentage and remaining time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.domain.cluster.actions import StepStatus, step_status
from shardboard.domain.text import as_sentence, plural
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster.actions import Action

STALL_TIMEOUT = timedelta(seconds=120)
"""How long the action waits for an obstacle, such as a failover, before it fails."""
RETRY_SECONDS = 0.2
"""Seconds between two checks of an obstacle."""

ReshardPhase = Literal["join", "move", "leave", "settle"]


def render_steps(parameters: ReshardParameters, phase: ReshardPhase, detail: str = "") -> list[dict[str, Any]]:
    """Return the steps while `phase` is running."""
    names: dict[ReshardPhase, str] = {}
    if parameters.new_shards:
        names["join"] = f"Start {plural(len(parameters.new_shards), 'shard')}"
    names["move"] = f"Move {plural(parameters.total, 'slot')}"
    if parameters.removed_shards:
        names["leave"] = f"Remove {plural(parameters.removed_shards, 'shard')}"
    names["settle"] = "Confirm the new slot map"
    step_names = list(names)
    now = step_names.index(phase) if phase in step_names else 0
    return [
        {
            "name": names[each],
            "status": step_status(index, now),
        }
        | ({"detail": detail} if index == now and detail else {})
        for index, each in enumerate(step_names)
    ]


def moving_outcome(parameters: ReshardParameters, left: int, keys: int, pause: float) -> Outcome:
    """Return the outcome after moving: `left` slots remain, `keys` keys were moved, and shards need a pause of `pause` seconds."""
    now = datetime.now(UTC)
    total = max(parameters.total, left)
    moving_since = parameters.moving_since or now
    start = left if parameters.left_at_first is None else parameters.left_at_first
    moved = start - left
    eta = (now - moving_since).total_seconds() * left / moved if moved > 0 else None
    keys += parameters.keys
    return Outcome(
        progress=5 + 90 * (1 - left / total) if total else 95,
        steps=render_steps(parameters, "move", f"{total - left} moved, with {keys} keys"),
        parameters=replace(
            parameters,
            moving_since=moving_since,
            left_at_first=start,
            keys=keys,
            eta_seconds=eta,
            pause_until=now + timedelta(seconds=pause),
            stalled_since=None,
        ),
        retry_in=0,
    )


def pause_left(parameters: ReshardParameters) -> float:
    """Return the remaining seconds of the pause."""
    pause_until = parameters.pause_until
    return 0.0 if pause_until is None else max(0.0, (pause_until - datetime.now(UTC)).total_seconds())


def waiting_outcome(
    action: Action, parameters: ReshardParameters, reason: str, steps: list[dict[str, Any]] | None = None
) -> Outcome:
    """Return the outcome while an obstacle exists that may resolve automatically, but not indefinitely."""
    now = datetime.now(UTC)
    stalled_since = parameters.stalled_since or now
    if now - stalled_since > STALL_TIMEOUT:
        return Outcome(failed=as_sentence(reason), steps=steps)
    if steps is None:
        steps = [
            {**step, "detail": f"waiting: {reason}"} if step["status"] == StepStatus.RUNNING else step
            for step in action.steps
        ]
    waiting_parameters = replace(parameters, stalled_since=stalled_since, eta_seconds=None)
    return Outcome(steps=steps, retry_in=RETRY_SECONDS, parameters=waiting_parameters)
