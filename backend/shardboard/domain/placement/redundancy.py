"""Effects of the loss of a node or a zone: whether all data stays available, and whether lost copies fit on other nodes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush

from shardboard.domain.placement.layout import Copy, Layout
from shardboard.domain.text import plural


class LossEffect(StrEnum):
    """From harmless to severe."""

    NONE = "none"
    """All data stays available, and all lost copies can be rebuilt."""
    OVERBOOKED = "overbooked"
    """The same, but some copies would exceed the memory of the nodes."""
    FEWER_COPIES = "fewer_copies"
    """All data stays available, but some copies cannot be rebuilt until the nodes return."""
    UNAVAILABLE = "unavailable"
    """Some data has no other complete copy, or fewer than half of the nodes remain to promote replicas."""


@dataclass(frozen=True)
class Loss:
    """The loss of all nodes of a zone, or of one node."""

    rack_id: str
    """Zone in lower case; empty for a single node."""
    nodes: tuple[int, ...]
    shards: int
    memory: int
    """Memory limits of the lost shards, in bytes."""
    unavailable: Mapping[str, int]
    """Pairs without another complete copy, by name of their database."""
    not_rebuilt: int
    """Lost copies that fit on no remaining node."""
    overbooked: int
    """Lost copies that fit only because memory may be overbooked."""
    loses_majority: bool
    """Primaries are lost, and fewer than half of the nodes remain."""

    @property
    def effect(self) -> LossEffect:
        if self.unavailable or self.loses_majority:
            return LossEffect.UNAVAILABLE
        if self.not_rebuilt:
            return LossEffect.FEWER_COPIES
        return LossEffect.OVERBOOKED if self.overbooked else LossEffect.NONE

    @property
    def text(self) -> str:
        """Return the effect as a message."""
        if not self.shards:
            return "No shard is lost."
        if self.unavailable:
            names, pairs = ", ".join(sorted(self.unavailable)), sum(self.unavailable.values())
            return f"{plural(pairs, 'primary has', 'primaries have')} no other complete copy: {names}."
        if self.loses_majority:
            return "Fewer than half of the nodes remain, so that not all replicas can be promoted."
        if self.not_rebuilt:
            return (
                f"All data stays available, but {self._of_shards(self.not_rebuilt)} cannot be rebuilt on other nodes."
            )
        if self.overbooked:
            return (
                f"All data stays available, but after the rebuild, {self._of_shards(self.overbooked)} would exceed the memory of "
                "the other nodes."
            )
        return f"All data stays available, and {plural(self.shards, 'shard')} can be rebuilt on other nodes."

    def _of_shards(self, number: int) -> str:
        return f"{number:,} of {plural(self.shards, 'shard')}"


def losses(strict: Layout, overbooked: Layout | None, every_node: Collection[int], up: Collection[int]) -> list[Loss]:
    """Return the effects of the loss of each node, by uid, and then of each zone.

    `strict` is the layout in which all memory limits count, and `overbooked` the one that the policy permits, if it is another one.
    Both are unchanged afterwards. `up` are the nodes that are up.
    """
    zones = sorted({name for node in every_node for name in strict.zones(node)})
    groups: list[tuple[str, tuple[int, ...]]] = [("", (node,)) for node in sorted(every_node)]
    groups += [(name, tuple(sorted(node for node in every_node if name in strict.zones(node)))) for name in zones]
    copies: dict[int, list[Copy]] = {node: [] for node in every_node}
    for copy in strict.copies.values():
        copies.setdefault(copy.node, []).append(copy)
    return [
        _loss(strict, overbooked, rack_id, nodes, [copy for node in nodes for copy in copies[node]], every_node, up)
        for rack_id, nodes in groups
    ]


def largest_node(found: Iterable[Loss]) -> Loss | None:
    """Return the loss of the node with the most memory in use, and of these the one with the most shards."""
    return max((each for each in found if not each.rack_id), key=lambda each: (each.memory, each.shards), default=None)


def _loss(
    strict: Layout,
    overbooked: Layout | None,
    rack_id: str,
    nodes: tuple[int, ...],
    lost: Sequence[Copy],
    every_node: Collection[int],
    up: Collection[int],
) -> Loss:
    gone = frozenset(nodes)
    unavailable: Counter[str] = Counter()
    rebuildable = []
    for bdb, pair in dict.fromkeys((copy.bdb, copy.pair) for copy in lost):
        if any(copy.ready and copy.node not in gone for copy in strict.pair(bdb, pair)):
            rebuildable += [copy for copy in strict.pair(bdb, pair) if copy.node in gone]
        else:
            unavailable[strict.databases[bdb].name] += 1
    misfits = _misfits(strict, rebuildable, gone)
    not_rebuilt = misfits if overbooked is None or not misfits else _misfits(overbooked, rebuildable, gone)
    return Loss(
        rack_id=rack_id,
        nodes=nodes,
        shards=len(lost),
        memory=sum(strict.databases[copy.bdb].memory for copy in lost),
        unavailable=unavailable,
        not_rebuilt=not_rebuilt,
        overbooked=misfits - not_rebuilt,
        loses_majority=any(copy.is_primary for copy in lost) and 2 * len(set(up) - gone) < len(every_node),
    )


def _misfits(layout: Layout, lost: Iterable[Copy], gone: Collection[int]) -> int:
    """Return how many copies do not fit on the remaining nodes, if the largest are placed first, each where most memory is free."""
    free = [_by_memory(layout, node) for node in layout.nodes if node not in gone]
    heapify(free)
    added, misfits = [], 0
    for copy in sorted(lost, key=lambda copy: (-layout.databases[copy.bdb].memory, copy.uid)):
        node = _take(layout, copy, free, gone)
        if node is None:
            misfits += 1
        else:
            added.append(layout.add(copy.bdb, copy.pair, node).uid)
            heappush(free, _by_memory(layout, node))
    for uid in added:
        layout.remove(uid)
    return misfits


def _take(layout: Layout, copy: Copy, free: list[tuple[int, int, int]], gone: Collection[int]) -> int | None:
    """Remove the best node for the copy from the heap and return it; None if there is none. Full nodes are removed, too."""
    leaving = [each.uid for each in layout.pair(copy.bdb, copy.pair) if each.node in gone]
    memory, skipped, chosen = layout.databases[copy.bdb].memory, [], None
    while free and chosen is None and (not memory or memory <= -free[0][0]):
        entry = heappop(free)
        if layout.fits(copy.bdb, copy.pair, entry[-1], leaving=leaving):
            chosen = entry[-1]
        elif not layout.capacity(entry[-1]).is_full:
            skipped.append(entry)
    for entry in skipped:
        heappush(free, entry)
    return chosen


def _by_memory(layout: Layout, node: int) -> tuple[int, int, int]:
    capacity = layout.capacity(node)
    return -capacity.free_memory, capacity.shards, node
