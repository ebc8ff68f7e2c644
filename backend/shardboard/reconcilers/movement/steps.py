"""An action's moves as a person reads them: one step each, or one per database when they are many."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardboard.domain.moves import SHARE, Move, Next
from shardboard.reconcilers.movement.observed_pairs import ObservedPairs

MANY = 24
"""Steps that a person still reads one by one."""


@dataclass(frozen=True)
class Told:
    """Steps, how far all of it is in percent, and how many seconds the copies under way still take, as far as known."""

    steps: list[dict[str, Any]]
    progress: float
    eta: float | None


def render(
    moves: Sequence[Move],
    done: Collection[int],
    failed: Mapping[int, str],
    nexts: Mapping[int, Next],
    seen: ObservedPairs,
) -> Told:
    """`nexts` are those whose turn it is."""
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
    shown = steps if len(moves) <= MANY else _by_database(moves, steps, seen)
    return Told(shown, 100 * sum(shares) / max(len(shares), 1), max(known) if known else None)


def _detail(move: Move, each: Next, seen: ObservedPairs) -> str:
    if each.blocked or each.waits:
        return each.blocked or each.waits
    resync = seen.resync(move)
    if each.step == "copy" and resync is not None:
        left = f", about {resync.eta:.0f} s left" if resync.eta is not None else ""
        return f"redis:{move.newcomer} copies: {resync.percent:.0f} %{left}"
    return {
        "wait": "waits for its turn",
        "start": f"redis:{move.newcomer} is being started",
        "copy": f"redis:{move.newcomer} copies",
        "hand_over": f"redis:{each.promoted} takes the lead",
        "follow": "the other replicas follow the new primary",
        "retire": f"redis:{move.leaves} is let go",
        "end": f"redis:{move.leaves} is being removed",
        "done": "",
    }[each.step]


def _share(move: Move, each: Next, seen: ObservedPairs) -> float:
    share = SHARE[each.step]
    resync = seen.resync(move)
    if each.step == "copy" and resync is not None:
        share += (SHARE["hand_over"] - share) * resync.percent / 100
    return share


def _by_database(
    moves: Sequence[Move], steps: Sequence[Mapping[str, Any]], seen: ObservedPairs
) -> list[dict[str, Any]]:
    grouped: dict[int, list[str]] = {}
    for move, step in zip(moves, steps, strict=True):
        grouped.setdefault(move.bdb, []).append(step["status"])
    return [
        {
            "name": f"{len(statuses)} moves of {seen.bases[bdb].name if bdb in seen.bases else f'database {bdb}'}",
            "status": _together(statuses),
            "detail": f"{statuses.count('completed')} done, {statuses.count('running')} under way",
        }
        for bdb, statuses in grouped.items()
    ]


def _together(statuses: Sequence[str]) -> str:
    if all(status == "completed" for status in statuses):
        return "completed"
    if all(status in ("completed", "failed") for status in statuses):
        return "failed"
    return "pending" if all(status == "pending" for status in statuses) else "running"
