"""Tests of rebalancing plans.

Pairs are never on one node, the result is balanced, a second plan is empty, and no move is unnecessary.
"""

from collections import Counter

from backend.tests.domain.placement.random_layouts import (
    apply_moves,
    copy_layout,
    copy_positions,
    layout_of,
    node_capacities,
    random_layouts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.rebalance import plan


def imbalance(layout: Layout, *, leads: bool | None = None) -> int:
    counts = [layout.count(node, 1, is_primary=leads) for node in layout.nodes]
    return max(counts) - min(counts)


@given(random_layouts(dense=False, databases=1))
@settings(max_examples=300)
def test_sparse_plan_is_balanced_and_stable(drawn: tuple[Layout, int]) -> None:
    layout, _ = drawn
    moves = plan(copy_layout(layout), 1)
    apply_moves(layout, moves)
    assert imbalance(layout) <= 1
    assert imbalance(layout, leads=True) <= 1 or layout.databases[1].copies == 1
    assert plan(copy_layout(layout), 1) == []


@given(random_layouts(dense=False, databases=1))
def test_plan_moves_only_the_copies_that_balance_requires(drawn: tuple[Layout, int]) -> None:
    layout, count = drawn
    total = len(layout.copies)
    current_counts = sorted((layout.count(node, 1) for node in layout.nodes), reverse=True)
    balanced_counts = sorted((total // count + (index < total % count) for index in range(count)), reverse=True)
    required_moves = sum(
        max(0, current - required) for current, required in zip(current_counts, balanced_counts, strict=True)
    )
    is_replicated = [move for move in plan(copy_layout(layout), 1) if move.to is not None]
    assert len(is_replicated) <= required_moves


@given(random_layouts(dense=False, databases=1, replicated=True))
def test_switchovers_only_plan_copies_nothing_and_never_worsens_balance(drawn: tuple[Layout, int]) -> None:
    layout, _ = drawn
    before, positions = imbalance(layout, leads=True), {each[:3] for each in copy_positions(layout)}
    moves = plan(copy_layout(layout), 1, only_failovers=True)
    apply_moves(layout, moves)
    assert {each[:3] for each in copy_positions(layout)} == positions
    assert imbalance(layout, leads=True) <= before
    assert len(moves) <= len({copy.pair for copy in layout.copies.values()})


@given(random_layouts(dense=True, databases=1))
def test_dense_plan_uses_few_nodes_and_is_stable(drawn: tuple[Layout, int]) -> None:
    layout, _ = drawn
    apply_moves(layout, plan(copy_layout(layout), 1))
    for primaries_only in (True, False):
        assert len({copy.node for copy in layout.copies.values() if copy.is_primary == primaries_only}) <= 1
    assert plan(copy_layout(layout), 1) == []


@given(random_layouts(databases=1), st.integers(0, 3))
def test_plan_with_limited_operations_is_valid(drawn: tuple[Layout, int], most: int) -> None:
    layout, _ = drawn
    moves = plan(copy_layout(layout), 1, max_operations=most)
    assert len(moves) <= most
    apply_moves(layout, moves)


def make_layout(*copies: Copy, nodes: int = 3, dense: bool = False, max_shards: int = 10) -> Layout:
    return layout_of(
        list(copies), [LayoutDatabase(1, "shop", dense=dense)], node_capacities(nodes, max_shards=max_shards)
    )


def pair(number: int, primary: int, replica: int) -> list[Copy]:
    return [
        Copy(10 * number, 1, number, primary, is_primary=True),
        Copy(10 * number + 1, 1, number, replica, is_primary=False),
    ]


def test_primaries_are_switched_over_in_chains() -> None:
    """Node 1 has three primaries and node 3 one, but they share no pair. Primaries move from node 1 to 2 and from 2 to 3."""
    copies = [*pair(0, 1, 2), *pair(1, 1, 2), *pair(2, 1, 2), *pair(3, 2, 3), *pair(4, 2, 3), *pair(5, 3, 2)]
    moves = plan(make_layout(*copies), 1, only_failovers=True)
    assert Counter(move.promote is not None and move.to is None for move in moves) == {True: 2}


def test_new_node_gets_its_share() -> None:
    copies = [*pair(0, 1, 2), *pair(1, 2, 1), *pair(2, 1, 2)]
    layout = make_layout(*copies)
    moves = plan(copy_layout(layout), 1)
    assert sum(move.to == 3 for move in moves) == 2
    assert sum(move.to is not None for move in moves) == 2


def test_dense_plan_uses_the_next_node_if_one_is_full() -> None:
    copies = [*pair(0, 1, 2), *pair(1, 2, 3), *pair(2, 3, 1)]
    layout = make_layout(*copies, dense=True, max_shards=3)
    apply_moves(layout, plan(copy_layout(layout), 1))
    assert max(layout.count(node, 1) for node in layout.nodes) <= 3


def test_copies_out_of_sync_are_not_moved() -> None:
    lagging = [Copy(0, 1, 0, 1, is_primary=True), Copy(1, 1, 0, 2, is_primary=False, ready=False)]
    copies = [*lagging, *pair(1, 1, 2), *pair(2, 1, 2)]
    moves = plan(make_layout(*copies, nodes=2), 1)
    assert [(move.pair, move.promote) for move in moves] == [(1, 11)]


def test_excluded_nodes_keep_copies_but_lose_primaries() -> None:
    copies = [*pair(0, 1, 2), *pair(1, 3, 2)]
    layout = make_layout(*copies)
    layout.databases[1] = LayoutDatabase(1, "shop", dense=False, nodes=frozenset({1, 2}))
    assert [(move.pair, move.promote, move.to) for move in plan(layout, 1)] == [(1, 11, None)]


def test_surplus_copy_is_removed() -> None:
    copies = [*pair(0, 1, 2), *pair(1, 2, 3), *pair(2, 3, 1), Copy(99, 1, 0, 3, is_primary=False, ready=False)]
    layout = make_layout(*copies)
    assert plan(copy_layout(layout), 1, only_failovers=True) == []
    [move] = plan(copy_layout(layout), 1)
    assert (move.removed, move.to, move.promote) == (99, None, None)
    apply_moves(layout, [move])


def test_hundreds_of_shards_are_planned() -> None:
    copies = [copy for number in range(256) for copy in pair(number, number % 2 + 1, (number + 1) % 2 + 1)]
    layout = make_layout(*copies, nodes=13, max_shards=2000)
    moves: list[Move] = plan(copy_layout(layout), 1)
    apply_moves(layout, moves)
    assert imbalance(layout) <= 1
    assert imbalance(layout, leads=True) <= 1
