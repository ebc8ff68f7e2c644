"""Tests of draining a node as far as capacity allows, and of restoring its previous shards."""

from dataclasses import replace

from backend.tests.domain.placement.random_layouts import (
    apply_moves,
    copy_layout,
    copy_positions,
    layout_of,
    node_capacities,
    random_layouts,
)
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement.drain import RememberedCopy, abandon_node, drain, restore, switch_over_primaries
from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase


@given(random_layouts(), st.booleans())
def test_drained_shards_leave_and_return(drawn: tuple[Layout, int], evict: bool) -> None:
    layout, count = drawn
    node = count
    before = copy_positions(layout)
    plan = drain(copy_layout(layout, node), node, evict=lambda _: evict)
    apply_moves(layout, plan.moves)
    remaining = [copy for copy in layout.on(node) if copy.is_primary or evict]
    assert {copy.uid for copy in remaining} <= set(plan.staying)
    for copy in remaining:
        assert all(not layout.fits(copy.bdb, copy.pair, other) for other in range(1, count)), (
            "another node has capacity for the copy"
        )
    for copy in layout.on(node):
        assert not (copy.is_primary and len(layout.pair(copy.bdb, copy.pair)) > 1), "its replica could be promoted"
    remembered = [
        RememberedCopy(*each)
        for each in before
        if any((bdb, pair, node) == (*each[:2], node) for bdb, pair, *_ in before)
    ]
    drained_pairs = {(bdb, pair) for bdb, pair, node_uid, _ in before if node_uid == node}
    restore_plan = restore(
        copy_layout(layout), node, [each for each in remembered if (each.bdb, each.pair) in drained_pairs]
    )
    apply_moves(layout, restore_plan.moves)
    assert copy_positions(layout) == before


@given(random_layouts(replicated=True))
def test_all_primaries_are_switched_over(drawn: tuple[Layout, int]) -> None:
    layout, count = drawn
    plan = switch_over_primaries(copy_layout(layout), count)
    apply_moves(layout, plan.moves)
    assert not any(copy.is_primary for copy in layout.on(count))
    assert not plan.staying
    assert all(move.to is None for move in plan.moves)


def make_layout(*copies: Copy, nodes: int = 3, max_shards: int = 10) -> Layout:
    return layout_of(
        list(copies), [LayoutDatabase(1, "shop", dense=False)], node_capacities(nodes, max_shards=max_shards)
    )


def test_copies_of_a_dead_node_are_rebuilt() -> None:
    dead, alive = Copy(4, 1, 0, 2, is_primary=False, ready=False), Copy(1, 1, 0, 1, is_primary=True)
    layout = copy_layout(make_layout(dead, alive), 2)
    [move] = abandon_node(layout, 2).moves
    assert (move.removed, move.to, move.promote) == (4, 3, None)
    [move] = abandon_node(copy_layout(make_layout(dead, alive, nodes=2), 2), 2).moves
    assert (move.removed, move.to) == (4, None), "without capacity the other copy remains alone"


def test_the_only_copy_is_not_removed() -> None:
    only_copy = Copy(1, 1, 0, 2, is_primary=True, ready=False)
    assert abandon_node(make_layout(only_copy), 2).staying == {1: "no other copy of its data is primary"}
    follower = Copy(4, 1, 0, 1, is_primary=False)
    assert abandon_node(make_layout(only_copy, follower), 2).staying == {1: "no other copy of its data is primary"}
    assert drain(make_layout(only_copy), 2, evict=lambda _: True).staying == {
        1: "it is down, and no other copy is primary"
    }


def test_lagging_replica_is_not_promoted() -> None:
    primary, replica = Copy(1, 1, 0, 2, is_primary=True), Copy(4, 1, 0, 1, is_primary=False, ready=False)
    [move] = drain(copy_layout(make_layout(primary, replica), 2), 2, evict=lambda _: True).moves
    assert (move.promote, move.removed, move.to) == (None, 1, 3)
    assert switch_over_primaries(make_layout(primary, replica), 2).staying == {1: "it has no replica that is in sync"}


def test_deleted_pairs_are_not_restored() -> None:
    primary = Copy(1, 1, 0, 1, is_primary=True)
    remembered = [
        RememberedCopy(1, 0, 2, True),
        RememberedCopy(1, 0, 1, False),
        RememberedCopy(9, 0, 2, True),
        RememberedCopy(1, 7, 2, True),
    ]
    [move] = restore(make_layout(primary), 2, remembered).moves
    assert (move.pair, move.removed, move.to, move.promote_new_shard) == (0, None, 2, True), "a copy is missing"
    unreplicated = layout_of([primary], [LayoutDatabase(1, "shop", dense=False, copies=1)], node_capacities(3))
    assert restore(unreplicated, 2, remembered).moves == []


def test_copy_that_no_longer_fits_is_not_restored() -> None:
    layout = make_layout(Copy(1, 1, 0, 1, is_primary=True), Copy(4, 1, 0, 3, is_primary=False), max_shards=1)
    layout._rooms[2] = replace(layout._rooms[2], shards=1)
    plan = restore(layout, 2, [RememberedCopy(1, 0, 1, True), RememberedCopy(1, 0, 2, False)])
    assert (plan.moves, plan.staying) == ([], {4: "node 2 does not have enough capacity for it"})
