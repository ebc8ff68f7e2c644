"""How the slots of a database are shared out anew when its number of pairs changes, and which of them move next.

A pair may hold several ranges: with one range each, growing from 3 to 4 pairs would move twice as many slots as needed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.slots import SLOTS, Ranges, each, gather

Spread = Mapping[int, Ranges]
"""The slots of each pair."""


@dataclass(frozen=True)
class Haul:
    """Slots that go from one pair to another."""

    source: int
    target: int
    slots: Ranges

    @property
    def size(self) -> int:
        return count(self.slots)


def count(ranges: Ranges) -> int:
    """How many slots the ranges hold."""
    return sum(last - first + 1 for first, last in ranges)


def spread(held: Spread, staying: Collection[int]) -> dict[int, Ranges]:
    """What each of the `staying` pairs shall hold: sizes that differ by at most one, with as few slots moved as possible.

    `held` has every slot exactly once; pairs that hold slots and do not stay give all of theirs away.
    """
    left = {pair: held.get(pair, ()) for pair in {*held, *staying}}
    quota = _quota(held, staying)
    surplus = {pair: count(ranges) - quota.get(pair, 0) for pair, ranges in left.items()}
    gained: dict[int, list[tuple[int, int]]] = {pair: [] for pair in staying}
    while needy := [pair for pair in sorted(surplus) if surplus[pair] < 0]:
        target = min(needy, key=lambda pair: (surplus[pair], pair))
        own = (*left[target], *gained[target])
        source = max(
            (pair for pair in sorted(surplus) if surplus[pair] > 0),
            key=lambda pair: (_touches(left[pair], own), surplus[pair] == -surplus[target], surplus[pair], -pair),
        )
        given = _take(left[source], min(surplus[source], -surplus[target]), own)
        left[source] = _without(left[source], given)
        gained[target] += given
        surplus[source] -= count(given)
        surplus[target] += count(given)
    return {pair: _merged((*left[pair], *gained[pair])) for pair in sorted(staying)}


def hauls(held: Spread, wanted: Spread) -> list[Haul]:
    """What has to move, the largest haul first."""
    owner = {slot: pair for pair, ranges in held.items() for slot in each(ranges)}
    moving: dict[tuple[int, int], list[int]] = {}
    for pair, ranges in wanted.items():
        for slot in each(ranges):
            if owner.get(slot, pair) != pair:
                moving.setdefault((owner[slot], pair), []).append(slot)
    found = [Haul(source, target, gather(slots)) for (source, target), slots in moving.items()]
    return sorted(found, key=lambda haul: (-haul.size, haul.source, haul.target))


def after(held: Spread, done: Sequence[Haul]) -> dict[int, Ranges]:
    """What each pair holds when these hauls are done."""
    left = dict(held)
    for haul in done:
        left[haul.source] = _without(left[haul.source], haul.slots)
        left[haul.target] = _merged((*left.get(haul.target, ()), *haul.slots))
    return left


def at_once(waiting: Sequence[Haul]) -> list[Haul]:
    """Those that may go on side by side, in the given order of preference: each pair gives or takes in one only."""
    chosen: list[Haul] = []
    busy: set[int] = set()
    for haul in waiting:
        if not busy & {haul.source, haul.target}:
            chosen.append(haul)
            busy |= {haul.source, haul.target}
    return chosen


def _quota(held: Spread, staying: Collection[int]) -> dict[int, int]:
    """How many slots each pair shall hold; the odd ones stay with those that have most."""
    size, odd = divmod(SLOTS, len(staying))
    by_holding = sorted(staying, key=lambda pair: (-count(held.get(pair, ())), pair))
    return {pair: size + (place < odd) for place, pair in enumerate(by_holding)}


def _touches(ranges: Ranges, own: Ranges) -> bool:
    """Whether a range of one would grow by one of the other."""
    edges = {first - 1 for first, _ in own} | {last + 1 for _, last in own}
    return any(first in edges or last in edges for first, last in ranges)


def _take(ranges: Ranges, wanted: int, own: Ranges) -> Ranges:
    """`wanted` slots of `ranges`: what touches `own` first, then whole small ranges, and of the last one its end."""
    taken: list[tuple[int, int]] = []
    for first, last in sorted(ranges, key=lambda run: (not _touches((run,), own), run[1] - run[0], run[0])):
        room = wanted - count(tuple(taken))
        if room == 0:
            break
        if last - first + 1 <= room:
            taken.append((first, last))
        elif any(end == first - 1 for _, end in own):
            taken.append((first, first + room - 1))
        else:
            taken.append((last - room + 1, last))
    return _merged(tuple(taken))


def _without(ranges: Ranges, taken: Ranges) -> Ranges:
    gone = set(each(taken))
    return gather(slot for slot in each(ranges) if slot not in gone)


def _merged(ranges: Ranges) -> Ranges:
    return gather(each(ranges))
