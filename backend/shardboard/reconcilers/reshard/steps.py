"""What an action that changes the number of pairs tells of itself: its steps, how far it is, how long it may still take."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from shardboard.domain.numerals import plural
from shardboard.reconcilers.loop import Outcome
from shardboard.state.actions import Action

STALLED = timedelta(seconds=120)
"""How long it waits for what is in the way, a failover for example, before it gives up."""
AGAIN_IN = 0.2
"""Seconds until it looks again whether what it waits for has come."""

Phase = Literal["join", "move", "leave", "settle"]


def at(action: Action, phase: Phase, detail: str = "") -> list[dict[str, Any]]:
    """The steps when `phase` is under way."""
    params = action.params
    names: dict[Phase, str] = {}
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


def moving(action: Action, left: int, keys: int, rest: float) -> Outcome:
    """After a while of moving: `left` slots are to go, `keys` keys went just now, shards want `rest` seconds without a move."""
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
        steps=at(action, "move", f"{total - left} moved, with {keys} keys"),
        remember={
            "moving_since": since.isoformat(),
            "left_at_first": start,
            "keys": keys,
            "eta_seconds": eta,
            "rest_until": (now + timedelta(seconds=rest)).isoformat(),
        },
        again_in=0,
    )


def rest_left(action: Action) -> float:
    """For how many seconds shards want to be left alone."""
    until = datetime.fromisoformat(action.params.get("rest_until") or action.created_at.isoformat())
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def waiting(action: Action, reason: str, steps: list[dict[str, Any]] | None = None) -> Outcome:
    """Something is in the way; it may pass by itself, but not for ever."""
    now = datetime.now(UTC)
    since = action.params.get("stalled_since") or now.isoformat()
    if now - datetime.fromisoformat(since) > STALLED:
        return Outcome(failed=_sentence(reason), steps=steps)
    if steps is None:
        steps = [
            {**step, "detail": f"waiting: {reason}"} if step["status"] == "running" else step for step in action.steps
        ]
    return Outcome(steps=steps, again_in=AGAIN_IN, remember={"stalled_since": since, "eta_seconds": None})


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
