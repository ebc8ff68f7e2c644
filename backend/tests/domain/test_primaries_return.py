"""Primaries return where placement wants them, and only when they are ready."""

from backend.tests.domain.boards import fill, rooms

from shardboard.domain.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.primaries_return import returning


def board(*, dense: bool = False, ready: bool = True) -> Layout:
    """Node 1 leads both pairs; 1 led the second, on node 2, before it was lost."""
    copies = [
        Copy(0, 1, 0, 1, leads=True),
        Copy(10, 1, 0, 2, leads=False),
        Copy(4, 1, 1, 1, leads=True),
        Copy(1, 1, 1, 2, leads=False, ready=ready),
    ]
    return fill(copies, [LayoutDatabase(1, "shop", dense=dense)], rooms(2))


def test_the_lead_goes_back() -> None:
    assert [(move.leads, move.to) for move in returning(board(), 1, {1})] == [(1, None)]
    assert [move.leads for move in returning(board(dense=True), 1, {1})] == [1]


def test_not_to_who_is_out_of_sync_or_leads_already() -> None:
    assert returning(board(ready=False), 1, {1}) == []
    assert returning(board(), 1, {0}) == []
    assert returning(board(), 1, {99}) == []


def test_not_so_far_that_leads_are_less_even() -> None:
    assert [move.leads for move in returning(board(), 1, {1, 10})] == [1], "then both nodes lead one"


def test_not_to_a_node_that_takes_no_shards() -> None:
    layout = Layout(board().copies.values(), board().databases.values(), rooms(1))
    assert returning(layout, 1, {1}) == []
