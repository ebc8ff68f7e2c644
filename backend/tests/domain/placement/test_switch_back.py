"""Tests of switching primaries back to their planned nodes."""

from backend.tests.domain.placement.random_layouts import layout_of, node_capacities

from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.placement.switch_back import switch_back_moves


def make_layout(*, dense: bool = False, ready: bool = True) -> Layout:
    """Return a layout in which node 1 has both primaries. Shard 1 on node 2 was primary of the second pair before it failed."""
    copies = [
        Copy(0, 1, 0, 1, is_primary=True),
        Copy(10, 1, 0, 2, is_primary=False),
        Copy(4, 1, 1, 1, is_primary=True),
        Copy(1, 1, 1, 2, is_primary=False, ready=ready),
    ]
    return layout_of(copies, [LayoutDatabase(1, "shop", dense=dense)], node_capacities(2))


def test_primary_is_switched_back() -> None:
    assert [(move.promote, move.to) for move in switch_back_moves(make_layout(), 1, {1})] == [(1, None)]
    assert [move.promote for move in switch_back_moves(make_layout(dense=True), 1, {1})] == [1]


def test_only_replicas_in_sync_are_promoted() -> None:
    assert switch_back_moves(make_layout(ready=False), 1, {1}) == []
    assert switch_back_moves(make_layout(), 1, {0}) == []
    assert switch_back_moves(make_layout(), 1, {99}) == []


def test_switch_back_does_not_unbalance_primaries() -> None:
    assert [move.promote for move in switch_back_moves(make_layout(), 1, {1, 10})] == [1], (
        "after one move each node has one primary"
    )


def test_nodes_that_accept_no_shards_are_excluded() -> None:
    layout = Layout(make_layout().copies.values(), make_layout().databases.values(), node_capacities(1))
    assert switch_back_moves(layout, 1, {1}) == []
