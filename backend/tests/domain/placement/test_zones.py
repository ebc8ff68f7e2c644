"""Tests of zones: properties of all placement plans over random clusters of 1 to 5 zones and 2 to 40 nodes of unequal sizes."""

import re
from collections import Counter
from itertools import combinations

import pytest
from backend.tests.domain.placement.random_layouts import copy_layout, layout_of
from hypothesis import assume, given
from hypothesis import strategies as st

from shardboard.domain.placement import drain, rebalance, zones
from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.placement.moves import Move
from shardboard.domain.placement.shard_placement import InsufficientCapacity, InsufficientZones, NodeCapacity, place
from shardboard.domain.placement.zones import Zones, are_separate, zones_of

GIB = 2**30
NAMES = "abcde"


@st.composite
def clusters(
    draw: st.DrawFn, *, complete: bool = False, second: bool = False, smallest: int = 0
) -> tuple[list[NodeCapacity], dict[int, Zones]]:
    """Return nodes and their zones. With `complete`, each node has exactly one zone; with `second`, some have two."""
    names = NAMES[: draw(st.integers(1, 5))]
    capacities = [
        NodeCapacity(uid, draw(st.integers(0, 20)) * GIB, 0, draw(st.integers(smallest, 12)))
        for uid in range(1, draw(st.integers(2, 40)) + 1)
    ]
    choices = st.sampled_from(names if complete else ("", *names))
    return capacities, {
        each.node_uid: zones_of(draw(choices), draw(st.sampled_from(("", *names))) if second else "")
        for each in capacities
    }


def fitting(capacities: list[NodeCapacity], memory: int) -> dict[int, int]:
    return {each.node_uid: each.fitting_shards(memory, None) for each in capacities}


@given(clusters(second=True), st.integers(1, 24), st.sampled_from(["sparse", "dense"]), st.integers(0, 3))
def test_copies_of_a_pair_are_placed_in_different_zones(
    cluster: tuple[list[NodeCapacity], dict[int, Zones]], pairs: int, policy: str, memory: int
) -> None:
    capacities, places = cluster
    try:
        placed = place(
            capacities,
            pairs=pairs,
            replication=True,
            policy=policy,
            shard_memory=memory * GIB,
            overbooking=False,
            zones=places,
        )
    except InsufficientCapacity:
        return
    for pair in range(pairs):
        first, second = (places[shard.node_uid] for shard in placed if shard.pair == pair)
        assert are_separate(first, second)
    counts = Counter(shard.node_uid for shard in placed)
    assert all(counts[uid] <= most for uid, most in fitting(capacities, memory * GIB).items())


@given(clusters(complete=True), st.integers(1, 24), st.sampled_from(["sparse", "dense"]), st.integers(0, 3))
def test_a_database_is_refused_only_if_its_pairs_fit_in_no_two_zones(
    cluster: tuple[list[NodeCapacity], dict[int, Zones]], pairs: int, policy: str, memory: int
) -> None:
    """With one copy of each pair in a zone at most, a zone can take at most as many shards as there are pairs."""
    capacities, places = cluster
    by_zone = Counter[str]()
    for uid, count in fitting(capacities, memory * GIB).items():
        by_zone[next(iter(places[uid]))] += count
    is_possible = sum(min(count, pairs) for count in by_zone.values()) >= 2 * pairs
    try:
        place(
            capacities,
            pairs=pairs,
            replication=True,
            policy=policy,
            shard_memory=memory * GIB,
            overbooking=False,
            zones=places,
        )
        assert is_possible
    except InsufficientCapacity:
        assert not is_possible


@given(clusters(smallest=2), st.integers(1, 8))
def test_the_change_that_a_refusal_names_helps(
    cluster: tuple[list[NodeCapacity], dict[int, Zones]], pairs: int
) -> None:
    capacities, places = cluster
    arguments = {"pairs": pairs, "replication": True, "policy": "sparse", "shard_memory": 0, "overbooking": True}
    try:
        place(capacities, zones=places, **arguments)
    except InsufficientZones as refusal:
        text = str(refusal)
    except InsufficientCapacity:
        return
    else:
        return
    if "Set rack_id of" in text:
        named = text.partition("Set rack_id of node")[2].removeprefix("s").partition(", which")[0]
        changed = {**places, **{int(uid): zones_of(f"new-{uid}") for uid in named.split(", ")}}
    else:
        new, count = re.search(r"Add (a node|nodes) with capacity for (\d+)", text).groups()  # type: ignore[union-attr]
        sizes = [int(count)] if new == "a node" else [int(count) // 2, int(count) - int(count) // 2]
        capacities = capacities + [NodeCapacity(uid, 0, 0, size) for uid, size in enumerate(sizes, 90)]
        changed = {**places, 90: zones_of("new-1"), 91: zones_of("new-2")}
    assert len(place(capacities, zones=changed, **arguments)) == 2 * pairs


@st.composite
def placed_databases(draw: st.DrawFn, *, violating: bool = False, dense: bool | None = None) -> Layout:
    """Return a rack-aware database on a random cluster; with `violating`, its copies are on any nodes."""
    capacities, places = draw(clusters(complete=not violating, second=violating, smallest=4))
    is_dense = draw(st.booleans()) if dense is None else dense
    pairs = draw(st.integers(1, 8))
    database = LayoutDatabase(1, "shop", dense=is_dense, rack_aware=True)
    free = {each.node_uid: each for each in capacities}
    if violating:
        chosen = [draw(st.permutations(sorted(free)))[:2] for _ in range(pairs)]
    else:
        try:
            placed = place(
                capacities,
                pairs=pairs,
                replication=True,
                policy="dense" if draw(st.booleans()) else "sparse",
                shard_memory=0,
                overbooking=True,
                zones=places,
            )
        except InsufficientCapacity:
            assume(False)
        chosen = [[shard.node_uid for shard in placed if shard.pair == pair] for pair in range(pairs)]
    copies = [
        Copy(10 * pair + index, 1, pair, node, is_primary=index == 0)
        for pair, nodes in enumerate(chosen)
        for index, node in enumerate(nodes)
    ]
    return layout_of(copies, [database], free, places)


def apply_each(layout: Layout, moves: list[Move], *, separate_pairs: set[int]) -> None:
    """Apply each move of a pair alone and then all of them: pairs that are separate stay so, whichever moves succeed."""
    for move in moves:
        apply_move(alone := copy_layout(layout), move)
        assert move.pair not in separate_pairs or not alone.is_zone_violation(1, move.pair)
    for move in moves:
        apply_move(layout, move)
        assert move.pair not in separate_pairs or not layout.is_zone_violation(1, move.pair)


def apply_move(layout: Layout, move: Move) -> None:
    if move.promote is not None:
        layout.promote(move.promote)
    if move.removed is not None and move.to is not None:
        copy = layout.move(move.removed, move.to)
        if move.promote_new_shard:
            layout.promote(copy.uid)
    elif move.removed is not None:
        layout.remove(move.removed)


def separate_pairs(layout: Layout) -> set[int]:
    return {copy.pair for copy in layout.copies.values() if not layout.is_zone_violation(1, copy.pair)}


@given(placed_databases(), st.booleans())
def test_rebalancing_keeps_pairs_separate_and_is_stable(layout: Layout, only_failovers: bool) -> None:
    moves = rebalance.plan(copy_layout(layout), 1, only_failovers=only_failovers)
    apply_each(layout, moves, separate_pairs=separate_pairs(layout))
    assert rebalance.plan(copy_layout(layout), 1, only_failovers=only_failovers) == []


@given(placed_databases(violating=True))
def test_rebalancing_fixes_violations_where_nodes_have_capacity(layout: Layout) -> None:
    separate = separate_pairs(layout)
    planned = copy_layout(layout)
    moves = rebalance.plan(planned, 1)
    apply_each(layout, moves, separate_pairs=separate)
    for pair in {copy.pair for copy in layout.copies.values() if layout.is_zone_violation(1, copy.pair)}:
        free = [node for node in layout.nodes if layout._rooms[node].shards < layout._rooms[node].max_shards]
        assert not any(
            are_separate(layout.zones(first), layout.zones(second)) for first, second in combinations(free, 2)
        ), f"pair {pair} can be separated"


@pytest.mark.parametrize(("replica", "expected"), [(2, (0, 4)), (4, (0, 3))])
def test_one_copy_moves_first_if_each_order_of_two_moves_can_end_in_one_zone(
    replica: int, expected: tuple[int, int]
) -> None:
    """Node 3 has the zones of both copies of pair 0, which nodes 3 and 4 shall have."""
    copies = [
        Copy(10 * pair + index, 1, pair, node, is_primary=not index)
        for pair, nodes in enumerate([(1, replica), (3, 4), (3, 4)])
        for index, node in enumerate(nodes)
    ]
    places = {1: zones_of("a"), 2: zones_of("b"), 3: zones_of("a", "b"), 4: zones_of("c")}
    capacities = {uid: NodeCapacity(uid, 0, 0, 9) for uid in places}
    layout = layout_of(copies, [LayoutDatabase(1, "shop", dense=True, rack_aware=True)], capacities, places)
    moves = rebalance.plan(planned := copy_layout(layout), 1)
    assert [(move.pair, move.to) for move in moves] == [expected]
    apply_each(layout, moves, separate_pairs=separate_pairs(layout))
    assert {(copy.pair, copy.node, copy.is_primary) for copy in planned.copies.values()} == {
        (copy.pair, copy.node, copy.is_primary) for copy in layout.copies.values()
    }


@given(placed_databases(violating=True))
def test_separation_moves_only_copies_of_pairs_in_one_zone(layout: Layout) -> None:
    separate = separate_pairs(layout)
    assert separate.isdisjoint(move.pair for move in rebalance.separate(copy_layout(layout), 1))


@given(placed_databases(), st.data())
def test_emptying_a_node_keeps_pairs_separate(layout: Layout, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from(layout.nodes))
    separate = separate_pairs(layout)
    plan = drain.drain(copy_layout(layout, without=node), node, evict=lambda _: True)
    apply_each(layout, plan.moves, separate_pairs=separate)
    assert all("zone" in reason or "capacity" in reason for reason in plan.staying.values())


@given(placed_databases(), st.data())
def test_replicas_of_a_lost_zone_are_rebuilt_in_other_zones(layout: Layout, data: st.DataObject) -> None:
    zone = data.draw(st.sampled_from(sorted({name for node in layout.nodes for name in layout.zones(node)})))
    lost = {node for node in layout.nodes if zone in layout.zones(node)}
    for copy in list(layout.copies.values()):
        if copy.is_primary and copy.node in lost:
            layout.promote(next(each.uid for each in layout.pair(1, copy.pair) if each.node not in lost))
    remaining = Layout(
        [
            Copy(each.uid, 1, each.pair, each.node, each.is_primary, each.node not in lost)
            for each in layout.copies.values()
        ],
        layout.databases.values(),
        {uid: each for uid, each in layout._rooms.items() if uid not in lost},
        layout._zones,
    )
    plans = [drain.rebuild(remaining, node, 1) for node in sorted(lost)]
    apply_each(layout, [move for plan in plans for move in plan.moves], separate_pairs=separate_pairs(layout))


def make_layout(*nodes_of_pairs: tuple[int, int], rack_ids: dict[int, str], most: int = 10) -> Layout:
    copies = [
        Copy(10 * pair + index, 1, pair, node, is_primary=index == 0)
        for pair, nodes in enumerate(nodes_of_pairs)
        for index, node in enumerate(nodes)
    ]
    free = {uid: NodeCapacity(uid, GIB, 0, most) for uid in rack_ids}
    database = LayoutDatabase(1, "shop", dense=False, rack_aware=True)
    return layout_of(copies, [database], free, {uid: zones_of(rack_id) for uid, rack_id in rack_ids.items()})


def test_copies_change_roles_if_they_would_swap_zones() -> None:
    """Node 1 and node 3 are replaced by node 2 in the same zone as node 1, and node 4 in that of node 3."""
    layout = make_layout((1, 3), rack_ids={1: "a", 2: "a", 3: "b", 4: "b"})
    before = layout.pair(1, 0)
    layout.move(0, 4)
    layout.move(1, 2)
    moves = rebalance._difference(layout, before, layout.pair(1, 0))
    assert [(move.removed, move.to, move.promote_new_shard) for move in moves] == [(0, 2, False), (1, 4, True)]


def test_a_copy_moves_within_its_zone() -> None:
    layout = make_layout((1, 3), rack_ids={1: "a", 2: "a", 3: "b"})
    plan = drain.drain(copy_layout(layout, without=1), 1, evict=lambda _: True)
    assert [(move.promote, move.removed, move.to) for move in plan.moves] == [(1, 0, 2)]


@pytest.mark.parametrize(
    ("rack_ids", "reason"),
    [
        ({1: "a", 2: "b", 3: "b"}, "no node outside zone b has enough capacity for it; add a node in another zone"),
        (
            {1: "a", 2: "b", 3: ""},
            "no node outside zone b has enough capacity for it; set rack_id of node 3, which has no zone",
        ),
        ({1: "a", 2: "", 3: "b"}, "its other copy is on node 2, which has no zone; set rack_id of node 2"),
    ],
)
def test_a_shard_that_cannot_leave_states_the_smallest_change(rack_ids: dict[int, str], reason: str) -> None:
    layout = make_layout((1, 2), rack_ids=rack_ids)
    plan = drain.drain(copy_layout(layout, without=1), 1, evict=lambda _: True)
    assert plan.staying == {0: reason}


def test_databases_that_are_not_rack_aware_ignore_zones() -> None:
    layout = make_layout((1, 2), rack_ids={1: "a", 2: "b", 3: "b"})
    layout.databases[1] = LayoutDatabase(1, "shop", dense=False)
    assert drain.drain(copy_layout(layout, without=1), 1, evict=lambda _: True).staying == {}


def test_zones_are_not_case_sensitive_and_a_second_zone_counts() -> None:
    assert not are_separate(zones_of("East"), zones_of("east"))
    assert not are_separate(zones_of("a", "b"), zones_of("B"))
    assert not are_separate(zones_of(""), zones_of("a"))
    assert zones.is_violation([zones_of("a"), zones_of("a")])
    assert not zones.is_violation([zones_of("a"), zones_of("b"), zones_of("b")])
    assert not zones.is_violation([zones_of("")])
