"""Tests of draining a node as far as capacity allows, and of restoring its previous shards."""

from dataclasses import replace

from backend.tests.domain.boards import boards, clone, fill, places, play, rooms
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.drain import RememberedCopy, abandon, drain, hand_over, restore
from shardboard.domain.layout import Copy, Layout, LayoutDatabase


@given(boards(), st.booleans())
def test_drained_shards_leave_and_return(drawn: tuple[Layout, int], evict: bool) -> None:
    layout, count = drawn
    node = count
    before = places(layout)
    plan = drain(clone(layout, node), node, evict=lambda _: evict)
    play(layout, plan.moves)
    left = [copy for copy in layout.on(node) if copy.leads or evict]
    assert {copy.uid for copy in left} <= set(plan.stay)
    for copy in left:
        assert all(not layout.fits(copy.bdb, copy.pair, other) for other in range(1, count)), (
            "another node has capacity for the copy"
        )
    for copy in layout.on(node):
        assert not (copy.leads and len(layout.pair(copy.bdb, copy.pair)) > 1), "its replica could be promoted"
    remembered = [
        RememberedCopy(*each)
        for each in before
        if any((bdb, pair, node) == (*each[:2], node) for bdb, pair, *_ in before)
    ]
    drained_pairs = {(bdb, pair) for bdb, pair, at, _ in before if at == node}
    restore_plan = restore(clone(layout), node, [each for each in remembered if (each.bdb, each.pair) in drained_pairs])
    play(layout, restore_plan.moves)
    assert places(layout) == before


@given(boards(replicated=True))
def test_all_primaries_are_switched_over(drawn: tuple[Layout, int]) -> None:
    layout, count = drawn
    plan = hand_over(clone(layout), count)
    play(layout, plan.moves)
    assert not any(copy.leads for copy in layout.on(count))
    assert not plan.stay
    assert all(move.to is None for move in plan.moves)


def make_layout(*copies: Copy, nodes: int = 3, max_shards: int = 10) -> Layout:
    return fill(list(copies), [LayoutDatabase(1, "shop", dense=False)], rooms(nodes, max_shards=max_shards))


def test_copies_of_a_dead_node_are_rebuilt() -> None:
    dead, alive = Copy(4, 1, 0, 2, leads=False, ready=False), Copy(1, 1, 0, 1, leads=True)
    layout = clone(make_layout(dead, alive), 2)
    [move] = abandon(layout, 2).moves
    assert (move.leaves, move.to, move.leads) == (4, 3, None)
    [move] = abandon(clone(make_layout(dead, alive, nodes=2), 2), 2).moves
    assert (move.leaves, move.to) == (4, None), "without capacity the other copy remains alone"


def test_the_only_copy_is_not_removed() -> None:
    only_copy = Copy(1, 1, 0, 2, leads=True, ready=False)
    assert abandon(make_layout(only_copy), 2).stay == {1: "no other copy of its data is primary"}
    follower = Copy(4, 1, 0, 1, leads=False)
    assert abandon(make_layout(only_copy, follower), 2).stay == {1: "no other copy of its data is primary"}
    assert drain(make_layout(only_copy), 2, evict=lambda _: True).stay == {
        1: "it is down, and no other copy is primary"
    }


def test_lagging_replica_is_not_promoted() -> None:
    primary, replica = Copy(1, 1, 0, 2, leads=True), Copy(4, 1, 0, 1, leads=False, ready=False)
    [move] = drain(clone(make_layout(primary, replica), 2), 2, evict=lambda _: True).moves
    assert (move.leads, move.leaves, move.to) == (None, 1, 3)
    assert hand_over(make_layout(primary, replica), 2).stay == {1: "it has no replica that is in sync"}


def test_deleted_pairs_are_not_restored() -> None:
    primary = Copy(1, 1, 0, 1, leads=True)
    remembered = [
        RememberedCopy(1, 0, 2, True),
        RememberedCopy(1, 0, 1, False),
        RememberedCopy(9, 0, 2, True),
        RememberedCopy(1, 7, 2, True),
    ]
    [move] = restore(make_layout(primary), 2, remembered).moves
    assert (move.pair, move.leaves, move.to, move.takes_lead) == (0, None, 2, True), "a copy is missing"
    unreplicated = fill([primary], [LayoutDatabase(1, "shop", dense=False, copies=1)], rooms(3))
    assert restore(unreplicated, 2, remembered).moves == []


def test_copy_that_no_longer_fits_is_not_restored() -> None:
    layout = make_layout(Copy(1, 1, 0, 1, leads=True), Copy(4, 1, 0, 3, leads=False), max_shards=1)
    layout._rooms[2] = replace(layout._rooms[2], shards=1)
    plan = restore(layout, 2, [RememberedCopy(1, 0, 1, True), RememberedCopy(1, 0, 2, False)])
    assert (plan.moves, plan.stay) == ([], {4: "node 2 does not have enough capacity for it"})
