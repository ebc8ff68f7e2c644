"""Distribution of the slots of a database when its number of pairs changes, and the order in which slots move.

A pair can have several ranges. With one range each, growing from 3 to 4 pairs would move twice as many slots as necessary.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.placement.slots import SLOTS, Ranges, joined, subtract

SlotDistribution = Mapping[int, Ranges]
"""Slots of each pair."""


@dataclass(frozen=True)
class SlotBatch:
    """Slots that move from one pair to another."""

    source: int
    target: int
    slots: Ranges

    @property
    def size(self) -> int:
        return count(self.slots)


def count(ranges: Ranges) -> int:
    """Return the number of slots in the ranges."""
    return sum(last - first + 1 for first, last in ranges)


def distribute(held: SlotDistribution, staying: Collection[int]) -> dict[int, Ranges]:
    """Return the slots of each `staying` pair: sizes differ by at most one, and as few slots as possible move.

    `held` contains every slot exactly once. Pairs that do not stay lose all their slots.
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
        left[source] = subtract(left[source], given)
        gained[target] += given
        surplus[source] -= count(given)
        surplus[target] += count(given)
    return {pair: joined(left[pair], tuple(gained[pair])) for pair in sorted(staying)}


def batches(held: SlotDistribution, desired: SlotDistribution) -> list[SlotBatch]:
    """Return what has to move, the largest batch first. Slots without an owner do not move."""
    moving: dict[tuple[int, int], list[tuple[int, int]]] = {}
    owned = _in_order(held)
    source, begin, end = next(owned, _UNOWNED)
    for target, first, last in _in_order(desired):
        while end < first:
            source, begin, end = next(owned, _UNOWNED)
        while begin <= last:
            if source != target:
                moving.setdefault((source, target), []).append((max(begin, first), min(end, last)))
            if end > last:
                break
            source, begin, end = next(owned, _UNOWNED)
    found = [SlotBatch(source, target, joined(tuple(runs))) for (source, target), runs in moving.items()]
    return sorted(found, key=lambda batch: (-batch.size, batch.source, batch.target))


_UNOWNED = (-1, SLOTS, SLOTS)


def _in_order(shared: SlotDistribution) -> Iterator[tuple[int, int, int]]:
    """Yield pair, first and last slot of every range, ordered by slot."""
    runs = [(pair, first, last) for pair, ranges in shared.items() for first, last in ranges]
    return iter(sorted(runs, key=lambda run: run[1]))


def after(held: SlotDistribution, done: Sequence[SlotBatch]) -> dict[int, Ranges]:
    """Return the slots of each pair after these batches."""
    left = dict(held)
    for batch in done:
        left[batch.source] = subtract(left[batch.source], batch.slots)
        left[batch.target] = joined(left.get(batch.target, ()), batch.slots)
    return left


def parallel_batches(waiting: Sequence[SlotBatch]) -> list[SlotBatch]:
    """Return batches that can run in parallel, in the given order of preference: each pair takes part in one batch at a time."""
    chosen: list[SlotBatch] = []
    busy: set[int] = set()
    for batch in waiting:
        if not busy & {batch.source, batch.target}:
            chosen.append(batch)
            busy |= {batch.source, batch.target}
    return chosen


def _quota(held: SlotDistribution, staying: Collection[int]) -> dict[int, int]:
    """Return the number of slots for each pair; the pairs with the most slots get the remainder."""
    size, odd = divmod(SLOTS, len(staying))
    by_holding = sorted(staying, key=lambda pair: (-count(held.get(pair, ())), pair))
    return {pair: size + (place < odd) for place, pair in enumerate(by_holding)}


def _touches(ranges: Ranges, own: Ranges) -> bool:
    """Return whether the ranges of both are adjacent."""
    edges = {first - 1 for first, _ in own} | {last + 1 for _, last in own}
    return any(first in edges or last in edges for first, last in ranges)


def _take(ranges: Ranges, needed: int, own: Ranges) -> Ranges:
    """Return `wanted` slots of `ranges`: first those adjacent to `own`, then complete small ranges, then part of a larger one."""
    taken: list[tuple[int, int]] = []
    for first, last in sorted(ranges, key=lambda run: (not _touches((run,), own), run[1] - run[0], run[0])):
        room = needed - count(tuple(taken))
        if room == 0:
            break
        if last - first + 1 <= room:
            taken.append((first, last))
        elif any(end == first - 1 for _, end in own):
            taken.append((first, first + room - 1))
        else:
            taken.append((last - room + 1, last))
    return joined(tuple(taken))
