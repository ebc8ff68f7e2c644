"""Tests of the effects of losing a node or a zone, over random layouts."""

from itertools import combinations

import pytest
from backend.tests.domain.placement.random_layouts import copy_layout, copy_positions, layout_of
from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.domain.placement.layout import Copy, Layout, LayoutDatabase
from shardboard.domain.placement.redundancy import Loss, LossEffect, largest_node, losses
from shardboard.domain.placement.shard_placement import NodeCapacity
from shardboard.domain.placement.zones import Zones, zones_of

GIB = 2**30


def make(
    *pairs: tuple[int, ...],
    free: dict[int, int],
    memory: int = 1,
    most: int = 100,
    rack_ids: dict[int, str] | None = None,
    rack_aware: bool = False,
    lagging: tuple[int, ...] = (),
) -> Layout:
    """Return a database with copies on these nodes, the primary first. `free` is in GiB, by node."""
    copies = [
        Copy(10 * pair + index, 1, pair, node, is_primary=index == 0, ready=10 * pair + index not in lagging)
        for pair, nodes in enumerate(pairs)
        for index, node in enumerate(nodes)
    ]
    capacities = {uid: NodeCapacity(uid, each * GIB, 0, most) for uid, each in free.items()}
    zones = {uid: zones_of(rack_id) for uid, rack_id in (rack_ids or {}).items()}
    database = LayoutDatabase(1, "shop", dense=False, memory=memory * GIB, rack_aware=rack_aware)
    return layout_of(copies, [database], capacities, zones)


def without_memory(layout: Layout) -> Layout:
    databases = [LayoutDatabase(1, "shop", dense=False, rack_aware=layout.databases[1].rack_aware)]
    return Layout(layout.copies.values(), databases, layout._rooms, layout._zones)


def effects(layout: Layout, *, overbooking: bool = False) -> list[LossEffect]:
    nodes = layout.nodes
    return [each.effect for each in losses(layout, without_memory(layout) if overbooking else None, nodes, nodes)]


def test_lost_copies_fit_on_other_nodes() -> None:
    assert effects(make((1, 2), (2, 3), free={1: 9, 2: 9, 3: 9})) == [LossEffect.NONE] * 3


def test_two_nodes_cannot_replace_each_other() -> None:
    assert effects(make((1, 2), free={1: 9, 2: 9})) == [LossEffect.FEWER_COPIES] * 2


@pytest.mark.parametrize(("overbooking", "expected"), [(False, LossEffect.FEWER_COPIES), (True, LossEffect.OVERBOOKED)])
def test_memory_of_the_other_nodes_is_too_small(overbooking: bool, expected: LossEffect) -> None:
    """Node 2 has two copies of 4 GiB, and node 3 has free memory for one of them."""
    layout = make((1, 2), (1, 2), free={1: 9, 2: 0, 3: 4}, memory=4)
    assert effects(layout, overbooking=overbooking) == [expected, expected, LossEffect.NONE]


def test_number_of_shards_is_limited() -> None:
    assert effects(make((1, 2), (1, 2), free={1: 99, 2: 99, 3: 99}, most=2))[0] == LossEffect.NONE
    assert effects(make((1, 2), (1, 2), (1, 2), free={1: 99, 2: 99, 3: 99}, most=3))[0] == LossEffect.NONE
    assert effects(make((1, 2), (3, 2), (1, 3), free={1: 99, 2: 99, 3: 99}, most=2)) == [LossEffect.FEWER_COPIES] * 3


@pytest.mark.parametrize(
    "layout", [make((1,), free={1: 9, 2: 9, 3: 9}), make((1, 2), free={1: 9, 2: 9, 3: 9}, lagging=(1,))]
)
def test_data_without_another_complete_copy_becomes_unavailable(layout: Layout) -> None:
    [first, *_] = losses(layout, None, layout.nodes, layout.nodes)
    assert (first.effect, dict(first.unavailable)) == (LossEffect.UNAVAILABLE, {"shop": 1})
    assert first.text == "1 primary has no other complete copy: shop."


def test_replicas_are_not_promoted_without_half_of_the_nodes() -> None:
    """Nodes 3 and 4 are down."""
    layout = make((1, 2), free={1: 9, 2: 9})
    found = losses(layout, None, (1, 2, 3, 4), (1, 2))
    assert [each.loses_majority for each in found] == [True, False, False, False], "node 1 has the primary"


def test_zone_is_lost_with_all_its_nodes() -> None:
    rack_ids = {1: "A", 2: "A", 3: "b", 4: "b"}
    free = dict.fromkeys(rack_ids, 9)
    pairs = make((1, 2), (1, 3), free=free, rack_ids=rack_ids)
    zones = [each for each in losses(pairs, None, pairs.nodes, pairs.nodes) if each.rack_id]
    assert [(each.rack_id, each.nodes, each.effect) for each in zones] == [
        ("a", (1, 2), LossEffect.UNAVAILABLE),
        ("b", (3, 4), LossEffect.NONE),
    ]
    separate = make((1, 3), (2, 4), free=free, rack_ids=rack_ids, rack_aware=True)
    found = losses(separate, None, separate.nodes, separate.nodes)
    assert [each.effect for each in found if each.rack_id] == [LossEffect.FEWER_COPIES] * 2, "there is no third zone"
    assert [each.effect for each in found if not each.rack_id] == [LossEffect.NONE] * 4


def test_largest_node_has_the_most_memory() -> None:
    layout = make((1, 2), (2, 3), free={1: 9, 2: 9, 3: 9, 4: 9})
    largest = largest_node(losses(layout, None, layout.nodes, layout.nodes))
    assert largest is not None
    assert (largest.nodes, largest.shards, largest.memory) == ((2,), 2, 2 * GIB)
    assert largest_node([]) is None


@st.composite
def random_clusters(draw: st.DrawFn) -> Layout:
    """Return databases of different sizes on nodes with different capacities and zones."""
    nodes = range(1, draw(st.integers(2, 6)) + 1)
    zones: dict[int, Zones] = {node: zones_of(draw(st.sampled_from(("", "a", "b", "c")))) for node in nodes}
    databases, copies = [], []
    for bdb in range(1, draw(st.integers(1, 3)) + 1):
        count = draw(st.integers(1, 2))
        memory, rack_aware = draw(st.integers(0, 4)), draw(st.booleans())
        databases.append(
            LayoutDatabase(bdb, f"db{bdb}", dense=False, memory=memory, copies=count, rack_aware=rack_aware)
        )
        for pair in range(draw(st.integers(1, 5))):
            chosen = draw(st.permutations(nodes))[:count]
            copies += [
                Copy(100 * bdb + 10 * pair + index, bdb, pair, node, index == 0, draw(st.booleans()) or index == 0)
                for index, node in enumerate(chosen)
            ]
    free = {node: NodeCapacity(node, draw(st.integers(-2, 12)), 0, draw(st.integers(1, 12))) for node in nodes}
    return layout_of(copies, databases, free, zones)


def check_limits(layout: Layout, loss: Loss) -> None:
    """The remaining nodes cannot take more copies than they have places, and no copy is counted twice."""
    remaining = [node for node in layout.nodes if node not in loss.nodes]
    places = sum(max(0, layout.capacity(node).max_shards - layout.capacity(node).shards) for node in remaining)
    lost = [copy for copy in layout.copies.values() if copy.node in loss.nodes]
    rebuildable = [
        copy
        for copy in lost
        if any(each.ready and each.node not in loss.nodes for each in layout.pair(copy.bdb, copy.pair))
    ]
    assert loss.shards == len(lost)
    assert max(0, len(rebuildable) - places) <= loss.not_rebuilt <= len(rebuildable)
    pairs = {(copy.bdb, copy.pair) for copy in lost} - {(copy.bdb, copy.pair) for copy in rebuildable}
    assert sum(loss.unavailable.values()) == len(pairs)


@settings(max_examples=60)
@given(random_clusters())
def test_losses_are_counted_and_change_nothing(layout: Layout) -> None:
    before, capacities = copy_positions(layout), dict(layout._rooms)
    found = losses(layout, None, layout.nodes, layout.nodes)
    assert [each.nodes for each in found if not each.rack_id] == [(node,) for node in layout.nodes]
    for loss in found:
        check_limits(layout, loss)
    assert (copy_positions(layout), layout._rooms) == (before, capacities)


@settings(max_examples=60)
@given(random_clusters())
def test_a_node_whose_copies_can_be_rebuilt_one_by_one_is_replaceable(layout: Layout) -> None:
    """A single lost copy is not rebuilt only if it fits on no other node."""
    for loss in losses(layout, None, layout.nodes, layout.nodes):
        lost = [copy for copy in layout.copies.values() if copy.node in loss.nodes]
        if len(lost) == 1 and not loss.unavailable:
            others = [node for node in layout.nodes if node not in loss.nodes]
            fits = any(layout.fits(lost[0].bdb, lost[0].pair, node, leaving=(lost[0].uid,)) for node in others)
            assert loss.not_rebuilt == (0 if fits else 1)


@settings(max_examples=40)
@given(random_clusters())
def test_all_copies_are_rebuilt_on_large_empty_nodes(layout: Layout) -> None:
    """With two more nodes in separate zones, only copies whose partner has no zone cannot be rebuilt."""
    rooms = {**layout._rooms, 90: NodeCapacity(90, 10**6, 0, 1000), 91: NodeCapacity(91, 10**6, 0, 1000)}
    zones = {**layout._zones, 90: zones_of("x"), 91: zones_of("y")}
    larger = Layout(layout.copies.values(), layout.databases.values(), rooms, zones)
    for loss in losses(larger, None, larger.nodes, larger.nodes):
        stuck = [
            copy
            for copy in larger.copies.values()
            if copy.node in loss.nodes
            and larger.databases[copy.bdb].rack_aware
            and any(
                not larger.zones(each.node) for each in larger.pair(copy.bdb, copy.pair) if each.node not in loss.nodes
            )
        ]
        assert loss.not_rebuilt <= len(stuck)


@settings(max_examples=40)
@given(random_clusters())
def test_overbooking_never_has_fewer_places(layout: Layout) -> None:
    databases = [
        LayoutDatabase(each.uid, each.name, dense=False, rack_aware=each.rack_aware)
        for each in layout.databases.values()
    ]
    permitted = Layout(layout.copies.values(), databases, layout._rooms, layout._zones)
    strict = losses(copy_layout(layout), None, layout.nodes, layout.nodes)
    relaxed = losses(copy_layout(layout), permitted, layout.nodes, layout.nodes)
    for one, other in zip(strict, relaxed, strict=True):
        assert one.not_rebuilt == other.not_rebuilt + other.overbooked
        assert other.unavailable == one.unavailable


def test_a_zone_is_at_least_as_severe_as_each_of_its_nodes() -> None:
    rack_ids = {1: "a", 2: "a", 3: "b"}
    for first, second in combinations((1, 2, 3), 2):
        layout = make((first, second), free={1: 9, 2: 9, 3: 9}, rack_ids=rack_ids)
        found = losses(layout, None, layout.nodes, layout.nodes)
        zone_a = next(each for each in found if each.rack_id == "a")
        for each in found:
            if not each.rack_id and each.nodes[0] in zone_a.nodes:
                assert list(LossEffect).index(each.effect) <= list(LossEffect).index(zone_a.effect)
