"""Presentation of an action's moves: one step each, or one per database if there are many."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.cluster.actions import StepStatus
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
            steps.append({"name": move.title, "status": StepStatus.COMPLETED})
            shares.append(1.0)
        elif number in failed:
            steps.append({"name": move.title, "status": StepStatus.FAILED, "detail": failed[number]})
            shares.append(1.0)
        elif number in nexts:
            each = nexts[number]
            has_started = each.step != "wait"
            steps.append(
                {
                    "name": move.title,
                    "status": StepStatus.RUNNING if has_started else StepStatus.PENDING,
                    "detail": _detail(move, each, seen),
                }
            )
            shares.append(_share(move, each, seen))
        else:
            steps.append({"name": move.title, "status": StepStatus.PENDING})
            shares.append(0.0)
    copies = [
        seen.resync(move) for number, move in enumerate(moves) if number in nexts and nexts[number].step == "copy"
    ]
    etas = [copy.eta for copy in copies if copy is not None and copy.eta is not None]
    moves_listed = steps if len(moves) <= MAX_LISTED_MOVES else _by_database(moves, steps, seen)
    return Progress(moves_listed, 100 * sum(shares) / max(len(shares), 1), max(etas) if etas else None)


def _detail(move: Move, each: NextStep, seen: ObservedPairs) -> str:
    if each.blocked or each.wait_reason:
        return each.blocked or each.wait_reason
    resync = seen.resync(move)
    if each.step == "copy" and resync is not None:
        eta_text = f", about {resync.eta:.0f} s left" if resync.eta is not None else ""
        return f"redis:{move.new_shard} copying: {resync.percent:.0f}%{eta_text}"
    return {
        "wait": "waiting",
        "start": f"redis:{move.new_shard} is being started",
        "copy": f"redis:{move.new_shard} is copying",
        "hand_over": f"redis:{each.promoted} is becoming the primary",
        "follow": "the other replicas follow the new primary",
        "retire": f"redis:{move.removed} is marked for removal",
        "end": f"redis:{move.removed} is being removed",
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
    grouped_steps: dict[int, list[str]] = {}
    for move, step in zip(moves, steps, strict=True):
        grouped_steps.setdefault(move.bdb, []).append(step["status"])
    return [
        {
            "name": f"{len(statuses)} moves of {seen.databases[bdb].name if bdb in seen.databases else f'database {bdb}'}",
            "status": _combined_status(statuses),
            "detail": f"{statuses.count(StepStatus.COMPLETED)} completed, {statuses.count(StepStatus.RUNNING)} running",
        }
        for bdb, statuses in grouped_steps.items()
    ]


def _combined_status(statuses: Sequence[str]) -> StepStatus:
    if all(status == StepStatus.COMPLETED for status in statuses):
        return StepStatus.COMPLETED
    if all(status in (StepStatus.COMPLETED, StepStatus.FAILED) for status in statuses):
        return StepStatus.FAILED
    return StepStatus.PENDING if all(status == StepStatus.PENDING for status in statuses) else StepStatus.RUNNING
