"""One change of where a pair's copies are, and what comes next on the way: decided from what is seen, never from memory.

A move puts a newcomer beside the pair's shards, as a replica of who leads, and lets one go when the newcomer is in sync. If the
one that goes leads, the newcomer takes over first. So there is never a moment with fewer copies than before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Step = Literal["wait", "start", "copy", "hand_over", "follow", "retire", "end", "done"]

SHARE: dict[Step, float] = {
    "wait": 0.0,
    "start": 0.02,
    "copy": 0.05,
    "hand_over": 0.85,
    "follow": 0.9,
    "retire": 0.93,
    "end": 0.95,
    "done": 1.0,
}
"""How much of a move is behind it when the step begins."""


@dataclass(frozen=True)
class Move:
    """Any part may be missing: without `leaves` a copy is added, without `newcomer` one is taken away, with neither
    only the lead changes."""

    bdb: int
    pair: int
    title: str
    """For a person, in the imperative."""
    leaves: int | None = None
    """The shard that goes."""
    newcomer: int | None = None
    """The uid of the shard that comes."""
    to: int | None = None
    """The newcomer's node."""
    leads: int | None = None
    """A shard of the pair that has the lead handed over to it, before anything is copied."""
    takes_lead: bool = False
    """The newcomer leads in the end, whoever led before."""

    def param(self) -> dict[str, Any]:
        """As kept in an action."""
        return asdict(self)


@dataclass(frozen=True)
class PairMember:
    """A shard of the pair, as its row and its engine tell."""

    uid: int
    wanted: bool
    """False when it is only there to be removed."""
    answers: bool = False
    leads: bool = False
    in_sync: bool = False
    """A replica that has all data, and that the others know."""
    follows: int | None = None
    """The shard whose data a replica copies."""
    away: bool = False
    """Its node is down, or its agent lost: it cannot be told anything."""


@dataclass(frozen=True)
class Next:
    """What a move waits for."""

    step: Step
    promoted: int | None = None
    """Who is to take over."""
    blocked: str = ""
    """Why nothing can be done just now, as a sentence."""
    waits: str = ""
    """Why it is better not done just now, as a sentence; no machine is out of reach."""


def next_step(move: Move, members: Mapping[int, PairMember]) -> Next:
    """`members` are the pair's shards that have a row. A step that is done already is passed over."""
    leader = next((each for each in members.values() if each.leads and each.wanted), None)
    if move.leads is not None and (leader is None or leader.uid != move.leads) and _still_to_lead(move, members):
        promoted = members.get(move.leads)
        if promoted is None or not promoted.in_sync:
            return Next("hand_over", move.leads, blocked=f"Shard redis:{move.leads} is not in sync.")
        return Next("hand_over", move.leads)
    if move.newcomer is not None:
        newcomer = members.get(move.newcomer)
        if newcomer is None or not newcomer.answers:
            step: Step = "wait" if newcomer is None else "start"
            return Next(step, blocked="" if leader else f"No primary of pair {move.pair} answers.")
        if not newcomer.in_sync and not newcomer.leads:
            return Next("copy")
        if move.takes_lead and leader is not None and leader.uid != newcomer.uid and newcomer.wanted:
            return Next("hand_over", newcomer.uid)
    leaving = members.get(move.leaves) if move.leaves is not None else None
    if leaving is not None and leaving.wanted:
        return _let_go(move, leaving, leader, members)
    if leaving is not None and not leaving.away:
        return Next("end")
    return Next("done")


def _still_to_lead(move: Move, members: Mapping[int, PairMember]) -> bool:
    """Once the newcomer has a row, who leads is not asked again: a failover meanwhile has its reasons."""
    return move.newcomer is None or move.newcomer not in members


def _let_go(move: Move, leaving: PairMember, leader: PairMember | None, members: Mapping[int, PairMember]) -> Next:
    if leader is None:
        return Next("retire", blocked=f"No primary of pair {move.pair} answers.")
    if leaving.leads:
        if move.newcomer is None:
            return Next("hand_over", blocked=f"Shard redis:{leaving.uid} leads its pair.")
        return Next("hand_over", move.newcomer)
    others = [each for each in members.values() if each.wanted and each.answers and each not in (leaving, leader)]
    if any(each.follows != leader.uid for each in others):
        return Next("follow")
    return Next("retire")


def first_of_pairs(moves: Iterable[tuple[int, Move]]) -> dict[int, Move]:
    """Of numbered moves those whose turn it is: a pair's moves are made one after the other."""
    seen: set[tuple[int, int]] = set()
    turn = {}
    for number, move in moves:
        if (move.bdb, move.pair) not in seen:
            seen.add((move.bdb, move.pair))
            turn[number] = move
    return turn
