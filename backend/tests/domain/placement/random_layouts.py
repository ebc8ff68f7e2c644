"""Layouts for tests of shard moves.

A layout has any number of databases and nodes. The copies of a pair are never on the same node.
"""

from hypothesis import strategies as st

from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_placement import NodeCapacity
from shardboard.domain.placement.zones import Zones


def node_capacities(nodes: int, *, max_shards: int = 100) -> dict[int, NodeCapacity]:
    return {uid: NodeCapacity(uid, 2**40, 0, max_shards) for uid in range(1, nodes + 1)}


@st.composite
def random_layouts(
    draw: st.DrawFn, *, nodes: int = 5, dense: bool | None = None, databases: int = 2, replicated: bool | None = None
) -> tuple[Layout, int]:
    """Return a layout with copies on random nodes, and its number of nodes."""
    count = draw(st.integers(2, nodes))
    bases, copies = [], []
    for bdb in range(1, draw(st.integers(1, databases)) + 1):
        copied = draw(st.booleans()) if replicated is None else replicated
        is_dense = draw(st.booleans()) if dense is None else dense
        bases.append(LayoutDatabase(bdb, f"db{bdb}", dense=is_dense, copies=2 if copied else 1))
        for pair in range(draw(st.integers(1, 6))):
            nodes_of_pair = draw(st.permutations(range(1, count + 1)))[: 2 if copied else 1]
            copies += [
                Copy(1000 * bdb + 10 * pair + index, bdb, pair, node, is_primary=index == 0)
                for index, node in enumerate(nodes_of_pair)
            ]
    return layout_of(copies, bases, node_capacities(count)), count


def layout_of(
    copies: list[Copy],
    bases: list[LayoutDatabase],
    free: dict[int, NodeCapacity],
    zones: dict[int, Zones] | None = None,
) -> Layout:
    """Return a layout in which the copies count toward the number of shards of their nodes."""
    capacities = {
        uid: NodeCapacity(uid, capacity.free_memory, sum(copy.node == uid for copy in copies), capacity.max_shards)
        for uid, capacity in free.items()
    }
    return Layout(copies, bases, capacities, zones)


def copy_layout(layout: Layout, without: int | None = None) -> Layout:
    """Return a copy of the layout, in which the node `without` accepts no shards."""
    free = {uid: capacity for uid, capacity in layout._rooms.items() if uid != without}
    return Layout(layout.copies.values(), layout.databases.values(), free, layout._zones)


def apply_moves(layout: Layout, moves: list[Move]) -> None:
    """Apply the moves one by one. At every step each pair has one primary and no two copies on the same node."""
    for move in moves:
        if move.promote is not None:
            assert layout.copies[move.promote].ready
            layout.promote(move.promote)
        if move.to is not None:
            removed = layout.copies[move.removed] if move.removed is not None else None
            new_shard = layout.add(move.bdb, move.pair, move.to)
            if move.promote_new_shard or (removed is not None and removed.is_primary):
                layout.promote(new_shard.uid)
        if move.removed is not None:
            assert not layout.copies[move.removed].is_primary
            layout.remove(move.removed)
        check_layout(layout)


def check_layout(layout: Layout) -> None:
    for bdb, pair in {(copy.bdb, copy.pair) for copy in layout.copies.values()}:
        members = layout.pair(bdb, pair)
        assert sum(copy.is_primary for copy in members) == 1
        assert len({copy.node for copy in members}) == len(members)


def copy_positions(layout: Layout) -> set[tuple[int, int, int, bool]]:
    return {(copy.bdb, copy.pair, copy.node, copy.is_primary) for copy in layout.copies.values()}
