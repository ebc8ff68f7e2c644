"""How the slots of a database are shared out anew when its number of pairs changes, and which of them move next.

A pair may hold several ranges: with one range each, growing from 3 to 4 pairs would move twice as many slots as needed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.slots import SLOTS, Ranges, joined, without

Spread = Mapping[int, Ranges]
"""The slots of each pair."""


@dataclass(frozen=True)
class SlotBatch:
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
        left[source] = without(left[source], given)
        gained[target] += given
        surplus[source] -= count(given)
        surplus[target] += count(given)
    return {pair: joined(left[pair], tuple(gained[pair])) for pair in sorted(staying)}


def batches(held: Spread, wanted: Spread) -> list[SlotBatch]:
    """What has to move, the largest batch first. Slots that nobody holds stay where they are."""
    moving: dict[tuple[int, int], list[tuple[int, int]]] = {}
    owned = _in_order(held)
    source, begin, end = next(owned, _NOBODY)
    for target, first, last in _in_order(wanted):
        while end < first:
            source, begin, end = next(owned, _NOBODY)
        while begin <= last:
            if source != target:
                moving.setdefault((source, target), []).append((max(begin, first), min(end, last)))
            if end > last:
                break
            source, begin, end = next(owned, _NOBODY)
    found = [SlotBatch(source, target, joined(tuple(runs))) for (source, target), runs in moving.items()]
    return sorted(found, key=lambda batch: (-batch.size, batch.source, batch.target))


_NOBODY = (-1, SLOTS, SLOTS)


def _in_order(shared: Spread) -> Iterator[tuple[int, int, int]]:
    """Pair, first and last slot of every range, by slots."""
    runs = [(pair, first, last) for pair, ranges in shared.items() for first, last in ranges]
    return iter(sorted(runs, key=lambda run: run[1]))


def after(held: Spread, done: Sequence[SlotBatch]) -> dict[int, Ranges]:
    """What each pair holds when these batches are done."""
    left = dict(held)
    for batch in done:
        left[batch.source] = without(left[batch.source], batch.slots)
        left[batch.target] = joined(left.get(batch.target, ()), batch.slots)
    return left


def at_once(waiting: Sequence[SlotBatch]) -> list[SlotBatch]:
    """Those that may go on side by side, in the given order of preference: each pair gives or takes in one only."""
    chosen: list[SlotBatch] = []
    busy: set[int] = set()
    for batch in waiting:
        if not busy & {batch.source, batch.target}:
            chosen.append(batch)
            busy |= {batch.source, batch.target}
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
    return joined(tuple(taken))
