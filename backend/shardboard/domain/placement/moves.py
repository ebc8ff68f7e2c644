"""A change of the nodes of a pair's copies, and the next step of it, derived from the observed state only.

A move adds a new shard to the pair as a replica of the primary, and removes the old one when the new one is in sync. If the old
one is the primary, the new one is promoted first. There are never fewer copies than before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

MoveStep = Literal["wait", "start", "copy", "hand_over", "follow", "retire", "end", "done"]

STEP_PROGRESS: dict[MoveStep, float] = {
    "wait": 0.0,
    "start": 0.02,
    "copy": 0.05,
    "hand_over": 0.85,
    "follow": 0.9,
    "retire": 0.93,
    "end": 0.95,
    "done": 1.0,
}
"""Progress of a move at the start of each step."""

FORMER_KEYS = {
    "leaves": "removed",
    "newcomer": "new_shard",
    "leads": "promote",
    "takes_lead": "promote_new_shard",
}
"""Keys of moves that earlier releases stored in actions."""


@dataclass(frozen=True)
class Move:
    """Each part is optional. Without `removed` a copy is added, without `new_shard` one is removed, and without both only the
    primary role changes."""

    bdb: int
    pair: int
    title: str
    """Description for users, in the imperative."""
    removed: int | None = None
    """Uid of the shard to remove."""
    new_shard: int | None = None
    """Uid of the shard to add."""
    to: int | None = None
    """Node of the new shard."""
    promote: int | None = None
    """A shard of the pair that is promoted before anything is copied."""
    promote_new_shard: bool = False
    """Whether the new shard is promoted at the end, regardless of the current primary."""

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Self:
        """Return a move as stored in an action by this or an earlier release."""
        renamed = {FORMER_KEYS.get(key, key): value for key, value in stored.items()}
        return cls(**{each.name: renamed[each.name] for each in fields(cls) if each.name in renamed})

    def stored(self) -> dict[str, Any]:
        """Return the move as stored in an action."""
        return asdict(self)


@dataclass(frozen=True)
class PairMember:
    """State of a shard of the pair, from its row and its engine."""

    uid: int
    is_desired: bool
    """False if the shard is only there to be removed."""
    answers: bool = False
    is_primary: bool = False
    in_sync: bool = False
    """Whether it is a replica that has all data and is known to the other shards."""
    follows: int | None = None
    """Uid of the shard that a replica copies from."""
    is_unreachable: bool = False
    """Whether its node is down or its agent is disconnected, so that it cannot be changed."""


@dataclass(frozen=True)
class NextStep:
    """The next step of a move."""

    step: MoveStep
    promoted: int | None = None
    """Uid of the shard to promote."""
    blocked: str = ""
    """Message: why nothing can be done now."""
    wait_reason: str = ""
    """Message: why it is better to wait although all machines are reachable."""


def next_step(move: Move, members: Mapping[int, PairMember]) -> NextStep:
    """Return the next step. `members` are the shards of the pair that have a row. Completed steps are skipped."""
    leader = next((each for each in members.values() if each.is_primary and each.is_desired), None)
    if (
        move.promote is not None
        and (leader is None or leader.uid != move.promote)
        and _must_promote_first(move, members)
    ):
        target = members.get(move.promote)
        if target is None or not target.in_sync:
            return NextStep("hand_over", move.promote, blocked=f"Shard redis:{move.promote} is not in sync.")
        return NextStep("hand_over", move.promote)
    if move.new_shard is not None:
        new_shard = members.get(move.new_shard)
        if new_shard is None or not new_shard.answers:
            step: MoveStep = "wait" if new_shard is None else "start"
            return NextStep(step, blocked="" if leader else f"No primary of pair {move.pair} responds.")
        if not new_shard.in_sync and not new_shard.is_primary:
            return NextStep("copy")
        if move.promote_new_shard and leader is not None and leader.uid != new_shard.uid and new_shard.is_desired:
            return NextStep("hand_over", new_shard.uid)
    leaving = members.get(move.removed) if move.removed is not None else None
    if leaving is not None and leaving.is_desired:
        return _remove(move, leaving, leader, members)
    if leaving is not None and not leaving.is_unreachable:
        return NextStep("end")
    return NextStep("done")


def _must_promote_first(move: Move, members: Mapping[int, PairMember]) -> bool:
    """Return whether `move.promote` must still be promoted. When the new shard has a row, this is not checked again, because a
    later failover takes precedence."""
    return move.new_shard is None or move.new_shard not in members


def _remove(move: Move, leaving: PairMember, leader: PairMember | None, members: Mapping[int, PairMember]) -> NextStep:
    if leader is None:
        return NextStep("retire", blocked=f"No primary of pair {move.pair} responds.")
    if leaving.is_primary:
        if move.new_shard is None:
            return NextStep("hand_over", blocked=f"Shard redis:{leaving.uid} is the primary of its pair.")
        return NextStep("hand_over", move.new_shard)
    other_copies = [
        each for each in members.values() if each.is_desired and each.answers and each not in (leaving, leader)
    ]
    if any(each.follows != leader.uid for each in other_copies):
        return NextStep("follow")
    return NextStep("retire")


def first_of_pairs(moves: Iterable[tuple[int, Move]]) -> dict[int, Move]:
    """Return the first of the numbered moves of each pair; the moves of a pair run one after the other."""
    seen_pairs: set[tuple[int, int]] = set()
    first_moves = {}
    for number, move in moves:
        if (move.bdb, move.pair) not in seen_pairs:
            seen_pairs.add((move.bdb, move.pair))
            first_moves[number] = move
    return first_moves
