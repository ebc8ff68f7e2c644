"""Progress of a resharding action: its steps, percentage and remaining time."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from shardboard.domain.text import plural
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster.actions import Action

STALL_TIMEOUT = timedelta(seconds=120)
"""How long the action waits for an obstacle, such as a failover, before it fails."""
RETRY_SECONDS = 0.2
"""Seconds between two checks of an obstacle."""

ReshardPhase = Literal["join", "move", "leave", "settle"]


def render_steps(action: Action, phase: ReshardPhase, detail: str = "") -> list[dict[str, Any]]:
    """Return the steps while `phase` is running."""
    params = action.params
    names: dict[ReshardPhase, str] = {}
    if params["newcomers"]:
        names["join"] = f"Start {plural(len(params['newcomers']), 'shard')}"
    names["move"] = f"Move {plural(params['total'], 'slot')}"
    if params["leaving"]:
        names["leave"] = f"Remove {plural(params['leaving'], 'shard')}"
    names["settle"] = "Confirm the new slot map"
    order = list(names)
    now = order.index(phase) if phase in order else 0
    return [
        {"name": names[each], "status": "completed" if place < now else "running" if place == now else "pending"}
        | ({"detail": detail} if place == now and detail else {})
        for place, each in enumerate(order)
    ]


def moving_outcome(action: Action, left: int, keys: int, pause: float) -> Outcome:
    """Return the outcome after moving: `left` slots remain, `keys` keys were moved, and shards need a pause of `rest` seconds."""
    now = datetime.now(UTC)
    params = action.params
    total = max(params["total"], left)
    since = datetime.fromisoformat(params.get("moving_since") or now.isoformat())
    start = params.get("left_at_first", left)
    done = start - left
    eta = (now - since).total_seconds() * left / done if done > 0 else None
    keys += params.get("keys", 0)
    return Outcome(
        progress=5 + 90 * (1 - left / total) if total else 95,
        steps=render_steps(action, "move", f"{total - left} moved, with {keys} keys"),
        params={
            "moving_since": since.isoformat(),
            "left_at_first": start,
            "keys": keys,
            "eta_seconds": eta,
            "rest_until": (now + timedelta(seconds=pause)).isoformat(),
        },
        retry_in=0,
    )


def pause_left(action: Action) -> float:
    """Return the remaining seconds of the pause."""
    until = datetime.fromisoformat(action.params.get("rest_until") or action.created_at.isoformat())
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def waiting_outcome(action: Action, reason: str, steps: list[dict[str, Any]] | None = None) -> Outcome:
    """Return the outcome while an obstacle exists that may resolve automatically, but not indefinitely."""
    now = datetime.now(UTC)
    since = action.params.get("stalled_since") or now.isoformat()
    if now - datetime.fromisoformat(since) > STALL_TIMEOUT:
        return Outcome(failed=_as_sentence(reason), steps=steps)
    if steps is None:
        steps = [
            {**step, "detail": f"waiting: {reason}"} if step["status"] == "running" else step for step in action.steps
        ]
    return Outcome(steps=steps, retry_in=RETRY_SECONDS, params={"stalled_since": since, "eta_seconds": None})


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
