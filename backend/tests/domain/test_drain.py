"""A node is emptied as far as there is room, and filled again exactly as it was."""

from dataclasses import replace

from backend.tests.domain.boards import boards, clone, fill, places, play, rooms
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.drain import RememberedCopy, abandon, drain, hand_over, restore
from shardboard.domain.layout import Copy, Layout, LayoutDatabase


@given(boards(), st.booleans())
def test_what_can_leave_leaves_and_comes_back(drawn: tuple[Layout, int], evict: bool) -> None:
    layout, count = drawn
    node = count
    before = places(layout)
    plan = drain(clone(layout, node), node, evict=lambda _: evict)
    play(layout, plan.moves)
    left = [copy for copy in layout.on(node) if copy.leads or evict]
    assert {copy.uid for copy in left} <= set(plan.stay)
    for copy in left:
        assert all(not layout.fits(copy.bdb, copy.pair, other) for other in range(1, count)), "it could have left"
    for copy in layout.on(node):
        assert not (copy.leads and len(layout.pair(copy.bdb, copy.pair)) > 1), "its replica could lead"
    remembered = [
        RememberedCopy(*each)
        for each in before
        if any((bdb, pair, node) == (*each[:2], node) for bdb, pair, *_ in before)
    ]
    own = {(bdb, pair) for bdb, pair, at, _ in before if at == node}
    back = restore(clone(layout), node, [each for each in remembered if (each.bdb, each.pair) in own])
    play(layout, back.moves)
    assert places(layout) == before


@given(boards(replicated=True))
def test_all_leads_are_handed_over(drawn: tuple[Layout, int]) -> None:
    layout, count = drawn
    plan = hand_over(clone(layout), count)
    play(layout, plan.moves)
    assert not any(copy.leads for copy in layout.on(count))
    assert not plan.stay
    assert all(move.to is None for move in plan.moves)


def board(*copies: Copy, nodes: int = 3, max_shards: int = 10) -> Layout:
    return fill(list(copies), [LayoutDatabase(1, "shop", dense=False)], rooms(nodes, max_shards=max_shards))


def test_a_dead_nodes_copies_are_made_anew_from_their_partners() -> None:
    dead, alive = Copy(4, 1, 0, 2, leads=False, ready=False), Copy(1, 1, 0, 1, leads=True)
    layout = clone(board(dead, alive), 2)
    [move] = abandon(layout, 2).moves
    assert (move.leaves, move.to, move.leads) == (4, 3, None)
    [move] = abandon(clone(board(dead, alive, nodes=2), 2), 2).moves
    assert (move.leaves, move.to) == (4, None), "without room the partner stays alone"


def test_the_only_copy_is_not_given_up() -> None:
    only = Copy(1, 1, 0, 2, leads=True, ready=False)
    assert abandon(board(only), 2).stay == {1: "no other copy of its data is primary"}
    follower = Copy(4, 1, 0, 1, leads=False)
    assert abandon(board(only, follower), 2).stay == {1: "no other copy of its data is primary"}
    assert drain(board(only), 2, evict=lambda _: True).stay == {1: "it is down, and no other copy is primary"}


def test_a_replica_that_lags_is_not_handed_the_lead() -> None:
    primary, replica = Copy(1, 1, 0, 2, leads=True), Copy(4, 1, 0, 1, leads=False, ready=False)
    [move] = drain(clone(board(primary, replica), 2), 2, evict=lambda _: True).moves
    assert (move.leads, move.leaves, move.to) == (None, 1, 3)
    assert hand_over(board(primary, replica), 2).stay == {1: "it has no replica that is in sync"}


def test_what_is_no_more_is_not_brought_back() -> None:
    primary = Copy(1, 1, 0, 1, leads=True)
    remembered = [
        RememberedCopy(1, 0, 2, True),
        RememberedCopy(1, 0, 1, False),
        RememberedCopy(9, 0, 2, True),
        RememberedCopy(1, 7, 2, True),
    ]
    [move] = restore(board(primary), 2, remembered).moves
    assert (move.pair, move.leaves, move.to, move.takes_lead) == (0, None, 2, True), "a copy is missing"
    alone = fill([primary], [LayoutDatabase(1, "shop", dense=False, copies=1)], rooms(3))
    assert restore(alone, 2, remembered).moves == []


def test_what_does_not_fit_any_more_stays() -> None:
    layout = board(Copy(1, 1, 0, 1, leads=True), Copy(4, 1, 0, 3, leads=False), max_shards=1)
    layout._rooms[2] = replace(layout._rooms[2], shards=1)
    plan = restore(layout, 2, [RememberedCopy(1, 0, 1, True), RememberedCopy(1, 0, 2, False)])
    assert (plan.moves, plan.stay) == ([], {4: "node 2 does not have enough capacity for it"})
