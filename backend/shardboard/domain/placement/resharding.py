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


def distribute(distribution: SlotDistribution, staying: Collection[int]) -> dict[int, Ranges]:
    """Return the slots of each `staying` pair: sizes differ by at most one, and as few slots as possible move.

    `distribution` contains every slot exactly once. Pairs that do not stay lose all their slots.
    """
    remaining_ranges = {pair: distribution.get(pair, ()) for pair in {*distribution, *staying}}
    quota = _quota(distribution, staying)
    surplus = {pair: count(ranges) - quota.get(pair, 0) for pair, ranges in remaining_ranges.items()}
    gained_ranges: dict[int, list[tuple[int, int]]] = {pair: [] for pair in staying}
    while pairs_without_slots := [pair for pair in sorted(surplus) if surplus[pair] < 0]:
        target = min(pairs_without_slots, key=lambda pair: (surplus[pair], pair))
        new_ranges = (*remaining_ranges[target], *gained_ranges[target])
        source = max(
            (pair for pair in sorted(surplus) if surplus[pair] > 0),
            key=lambda pair: (
                _are_adjacent(remaining_ranges[pair], new_ranges),
                surplus[pair] == -surplus[target],
                surplus[pair],
                -pair,
            ),
        )
        ranges = _take_ranges(remaining_ranges[source], min(surplus[source], -surplus[target]), new_ranges)
        remaining_ranges[source] = subtract(remaining_ranges[source], ranges)
        gained_ranges[target] += ranges
        surplus[source] -= count(ranges)
        surplus[target] += count(ranges)
    return {pair: joined(remaining_ranges[pair], tuple(gained_ranges[pair])) for pair in sorted(staying)}


def batches(distribution: SlotDistribution, desired: SlotDistribution) -> list[SlotBatch]:
    """Return what has to move, the largest batch first. Slots without an owner do not move."""
    runs_by_pair: dict[tuple[int, int], list[tuple[int, int]]] = {}
    owned_runs = _in_order(distribution)
    source, start, end = next(owned_runs, _UNOWNED)
    for target, first, last in _in_order(desired):
        while end < first:
            source, start, end = next(owned_runs, _UNOWNED)
        while start <= last:
            if source != target:
                runs_by_pair.setdefault((source, target), []).append((max(start, first), min(end, last)))
            if end > last:
                break
            source, start, end = next(owned_runs, _UNOWNED)
    slot_batches = [SlotBatch(source, target, joined(tuple(runs))) for (source, target), runs in runs_by_pair.items()]
    return sorted(slot_batches, key=lambda batch: (-batch.size, batch.source, batch.target))


_UNOWNED = (-1, SLOTS, SLOTS)


def _in_order(shared: SlotDistribution) -> Iterator[tuple[int, int, int]]:
    """Yield pair, first and last slot of every range, ordered by slot."""
    runs = [(pair, first, last) for pair, ranges in shared.items() for first, last in ranges]
    return iter(sorted(runs, key=lambda run: run[1]))


def after(distribution: SlotDistribution, done: Sequence[SlotBatch]) -> dict[int, Ranges]:
    """Return the slots of each pair after these batches."""
    remaining = dict(distribution)
    for batch in done:
        remaining[batch.source] = subtract(remaining[batch.source], batch.slots)
        remaining[batch.target] = joined(remaining.get(batch.target, ()), batch.slots)
    return remaining


def parallel_batches(waiting: Sequence[SlotBatch]) -> list[SlotBatch]:
    """Return batches that can run in parallel, in the given order of preference: each pair takes part in one batch at a time."""
    selected: list[SlotBatch] = []
    busy: set[int] = set()
    for batch in waiting:
        if not busy & {batch.source, batch.target}:
            selected.append(batch)
            busy |= {batch.source, batch.target}
    return selected


def _quota(distribution: SlotDistribution, staying: Collection[int]) -> dict[int, int]:
    """Return the number of slots for each pair; the pairs with the most slots get the remainder."""
    size, remainder = divmod(SLOTS, len(staying))
    by_holding = sorted(staying, key=lambda pair: (-count(distribution.get(pair, ())), pair))
    return {pair: size + (index < remainder) for index, pair in enumerate(by_holding)}


def _are_adjacent(ranges: Ranges, own: Ranges) -> bool:
    """Return whether the ranges of both are adjacent."""
    edges = {first - 1 for first, _ in own} | {last + 1 for _, last in own}
    return any(first in edges or last in edges for first, last in ranges)


def _take_ranges(ranges: Ranges, needed: int, own: Ranges) -> Ranges:
    """Return `wanted` slots of `ranges`: first those adjacent to `own`, then complete small ranges, then part of a larger one."""
    taken_ranges: list[tuple[int, int]] = []
    for first, last in sorted(ranges, key=lambda run: (not _are_adjacent((run,), own), run[1] - run[0], run[0])):
        needed_slots = needed - count(tuple(taken_ranges))
        if needed_slots == 0:
            break
        if last - first + 1 <= needed_slots:
            taken_ranges.append((first, last))
        elif any(end == first - 1 for _, end in own):
            taken_ranges.append((first, first + needed_slots - 1))
        else:
            taken_ranges.append((last - needed_slots + 1, last))
    return joined(tuple(taken_ranges))
