"""Presentation of an action's moves: one step each, or one per database if there are many."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.placement.moves import STEP_PROGRESS, Move, NextStep
from shardboard.reconcilers.placement.observed_pairs import ObservedPairs

MAX_LISTED_MOVES = 24
"""Maximum number of moves that are listed individually."""


@dataclass(frozen=True)
class Progress:
    """Steps, total progress in percent, and remaining seconds of the running copies, if known."""

    steps: list[dict[str, Any]]
    progress: float
    eta: float | None


def render(
    moves: Sequence[Move],
    done: Collection[int],
    failed: Mapping[int, str],
    nexts: Mapping[int, NextStep],
    seen: ObservedPairs,
) -> Progress:
    """Return the steps. `nexts` are the moves in progress."""
    steps, shares = [], []
    for number, move in enumerate(moves):
        if number in done:
            steps.append({"name": move.title, "status": "completed"})
            shares.append(1.0)
        elif number in failed:
            steps.append({"name": move.title, "status": "failed", "detail": failed[number]})
            shares.append(1.0)
        elif number in nexts:
            each = nexts[number]
            begun = each.step != "wait"
            steps.append(
                {"name": move.title, "status": "running" if begun else "pending", "detail": _detail(move, each, seen)}
            )
            shares.append(_share(move, each, seen))
        else:
            steps.append({"name": move.title, "status": "pending"})
            shares.append(0.0)
    copies = [
        seen.resync(move) for number, move in enumerate(moves) if number in nexts and nexts[number].step == "copy"
    ]
    known = [copy.eta for copy in copies if copy is not None and copy.eta is not None]
    shown = steps if len(moves) <= MAX_LISTED_MOVES else _by_database(moves, steps, seen)
    return Progress(shown, 100 * sum(shares) / max(len(shares), 1), max(known) if known else None)


def _detail(move: Move, each: NextStep, seen: ObservedPairs) -> str:
    if each.blocked or each.wait_reason:
        return each.blocked or each.wait_reason
    resync = seen.resync(move)
    if each.step == "copy" and resync is not None:
        left = f", about {resync.eta:.0f} s left" if resync.eta is not None else ""
        return f"redis:{move.newcomer} copying: {resync.percent:.0f} %{left}"
    return {
        "wait": "waiting",
        "start": f"redis:{move.newcomer} is being started",
        "copy": f"redis:{move.newcomer} is copying",
        "hand_over": f"redis:{each.promoted} is becoming the primary",
        "follow": "the other replicas follow the new primary",
        "retire": f"redis:{move.leaves} is marked for removal",
        "end": f"redis:{move.leaves} is being removed",
        "done": "",
    }[each.step]


def _share(move: Move, each: NextStep, seen: ObservedPairs) -> float:
    share = STEP_PROGRESS[each.step]
    resync = seen.resync(move)
    if each.step == "copy" and resync is not None:
        share += (STEP_PROGRESS["hand_over"] - share) * resync.percent / 100
    return share


def _by_database(
    moves: Sequence[Move], steps: Sequence[Mapping[str, Any]], seen: ObservedPairs
) -> list[dict[str, Any]]:
    grouped: dict[int, list[str]] = {}
    for move, step in zip(moves, steps, strict=True):
        grouped.setdefault(move.bdb, []).append(step["status"])
    return [
        {
            "name": f"{len(statuses)} moves of {seen.databases[bdb].name if bdb in seen.databases else f'database {bdb}'}",
            "status": _combined_status(statuses),
            "detail": f"{statuses.count('completed')} completed, {statuses.count('running')} running",
        }
        for bdb, statuses in grouped.items()
    ]


def _combined_status(statuses: Sequence[str]) -> str:
    if all(status == "completed" for status in statuses):
        return "completed"
    if all(status in ("completed", "failed") for status in statuses):
        return "failed"
    return "pending" if all(status == "pending" for status in statuses) else "running"
