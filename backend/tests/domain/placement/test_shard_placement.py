"""Tests of placement plans, including properties that hold for all nodes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.placement.shard_placement import InsufficientCapacity, NodeCapacity, PlacedShard, place

GIB = 2**30

rooms = st.lists(
    st.builds(NodeCapacity, st.just(0), st.integers(-GIB, 20 * GIB), st.integers(0, 8), st.integers(0, 12)), max_size=7
).map(
    lambda drawn: [
        NodeCapacity(uid, capacity.free_memory, capacity.shards, capacity.max_shards)
        for uid, capacity in enumerate(drawn, 1)
    ]
)
policies = st.sampled_from(["sparse", "dense"])


def equal_rooms(count: int, *, free: int = 100 * GIB, most: int = 512) -> list[NodeCapacity]:
    return [NodeCapacity(uid, free, 0, most) for uid in range(1, count + 1)]


def plan(
    nodes: list[NodeCapacity],
    pairs: int,
    *,
    replication: bool = True,
    policy: str = "sparse",
    memory: int = 0,
    overbooking: bool = False,
) -> list[PlacedShard]:
    return place(
        nodes, pairs=pairs, replication=replication, policy=policy, shard_memory=memory, overbooking=overbooking
    )


@given(rooms, st.integers(1, 12), st.booleans(), policies, st.integers(0, 4 * GIB), st.booleans())
def test_every_plan_is_complete_and_respects_limits(
    nodes: list[NodeCapacity], pairs: int, replication: bool, policy: str, memory: int, overbooking: bool
) -> None:
    try:
        placements = plan(nodes, pairs, replication=replication, policy=policy, memory=memory, overbooking=overbooking)
    except InsufficientCapacity:
        return
    primary = {shard.pair: shard.node_uid for shard in placements if shard.role == "master"}
    replica = {shard.pair: shard.node_uid for shard in placements if shard.role == "slave"}
    assert sorted(primary) == list(range(pairs))
    assert sorted(replica) == (list(range(pairs)) if replication else [])
    assert all(replica[pair] != primary[pair] for pair in replica)
    for node in nodes:
        count_on_node = sum(shard.node_uid == node.node_uid for shard in placements)
        assert node.shards + count_on_node <= node.max_shards or count_on_node == 0
        assert overbooking or memory == 0 or count_on_node * memory <= node.free_memory or count_on_node == 0


@given(rooms, st.integers(1, 8), st.booleans(), policies, st.randoms(use_true_random=False))
def test_plan_does_not_depend_on_the_order_of_nodes(
    nodes: list[NodeCapacity], pairs: int, replication: bool, policy: str, random: object
) -> None:
    shuffled = list(nodes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    outcomes = []
    for ordered_nodes in (nodes, shuffled):
        try:
            outcomes.append(plan(ordered_nodes, pairs, replication=replication, policy=policy, memory=GIB))
        except InsufficientCapacity as refusal:
            outcomes.append(str(refusal))
    assert outcomes[0] == outcomes[1]


@given(st.integers(1, 9), st.integers(1, 40), st.booleans())
def test_sparse_spreads_primaries_evenly_over_equal_nodes(count: int, pairs: int, replication: bool) -> None:
    nodes = equal_rooms(count + 1)
    placements = plan(nodes, pairs, replication=replication)
    for role in ("master", "slave") if replication else ("master",):
        count_on_node = Counter(shard.node_uid for shard in placements if shard.role == role)
        numbers = [count_on_node[node.node_uid] for node in nodes]
        assert max(numbers) - min(numbers) <= (1 if role == "master" else 2)


@given(st.integers(3, 8), st.integers(1, 60))
def test_load_of_a_failed_node_is_shared_by_all_others(count: int, pairs: int) -> None:
    placements = plan(equal_rooms(count), pairs)
    primary = {shard.pair: shard.node_uid for shard in placements if shard.role == "master"}
    replica_nodes = {
        uid: Counter({other: 0 for other in range(1, count + 1) if other != uid}) for uid in range(1, count + 1)
    }
    for shard in placements:
        if shard.role == "slave":
            replica_nodes[primary[shard.pair]][shard.node_uid] += 1
    for shares in replica_nodes.values():
        assert max(shares.values()) - min(shares.values()) <= 1


@given(st.integers(2, 6), st.integers(1, 6), st.integers(1, 30))
def test_dense_uses_the_fewest_possible_nodes(count: int, fit: int, pairs: int) -> None:
    nodes = equal_rooms(count, free=fit * GIB)
    if pairs > count * fit:
        with pytest.raises(InsufficientCapacity):
            plan(nodes, pairs, replication=False, policy="dense", memory=GIB)
        return
    placements = plan(nodes, pairs, replication=False, policy="dense", memory=GIB)
    assert len({shard.node_uid for shard in placements}) == -(-pairs // fit)


@pytest.mark.parametrize(("nodes", "pairs"), [(3, 3), (3, 6), (3, 4), (4, 4), (5, 5), (5, 7)])
def test_sparse_gives_every_node_the_same_number_of_shards(nodes: int, pairs: int) -> None:
    count_on_node = Counter(shard.node_uid for shard in plan(equal_rooms(nodes), pairs))
    assert max(count_on_node.values()) - min(count_on_node.values()) <= 1
    assert sum(count_on_node.values()) == 2 * pairs


def test_dense_with_replicas_uses_two_nodes() -> None:
    placements = plan(equal_rooms(5), 6, policy="dense")
    assert len({shard.node_uid for shard in placements if shard.role == "master"}) == 1
    assert len({shard.node_uid for shard in placements}) == 2


def test_dense_prefers_the_node_with_most_free_memory() -> None:
    nodes = [NodeCapacity(1, 4 * GIB, 0, 512), NodeCapacity(2, 9 * GIB, 0, 512)]
    assert {shard.node_uid for shard in plan(nodes, 3, replication=False, policy="dense", memory=GIB)} == {2}


def test_memory_is_ignored_when_overbooking_is_allowed() -> None:
    nodes = equal_rooms(2, free=GIB)
    with pytest.raises(InsufficientCapacity):
        plan(nodes, 2, memory=GIB)
    assert len(plan(nodes, 2, memory=GIB, overbooking=True)) == 4


def on_flash(nodes: list[NodeCapacity], shard_flash: int, pairs: int = 2) -> set[int]:
    placements = place(
        nodes,
        pairs=pairs,
        replication=True,
        policy="sparse",
        shard_memory=GIB,
        shard_flash=shard_flash,
        overbooking=True,
    )
    return {shard.node_uid for shard in placements}


def test_flash_database_is_placed_on_nodes_with_free_flash() -> None:
    nodes = [
        NodeCapacity(1, GIB, 0, 9),
        NodeCapacity(2, GIB, 0, 9, 10 * GIB),
        NodeCapacity(3, GIB, 0, 9, 3 * GIB),
        NodeCapacity(4, GIB, 0, 9, GIB),
    ]
    assert on_flash(nodes, 2 * GIB, pairs=1) == {2, 3}
    assert on_flash(nodes, 0) == {2, 3, 4}, (
        "a database without flash size is placed on flash nodes, because values can move to flash later"
    )
    with pytest.raises(InsufficientCapacity, match=r"node 3 has 1.0 GiB and 3.0 GiB of flash available"):
        on_flash(nodes, 2 * GIB)
    with pytest.raises(
        InsufficientCapacity, match="at least two nodes with flash that accept shards, but there is one"
    ):
        on_flash(nodes[:2], GIB)


@pytest.mark.parametrize(
    ("nodes", "memory", "message"),
    [
        ([], 0, "No node with a connected agent accepts shards. Add a node, or reconnect an agent."),
        (equal_rooms(1), 0, "Replication needs at least two nodes"),
        (equal_rooms(2, most=1), 0, "node 1 has 100.0 GiB available and runs 0 of at most 1 shards"),
        (equal_rooms(2, free=3 * GIB), 2 * GIB, "no capacity left after 2 shards: node 1 has 3.0 GiB available"),
        ([NodeCapacity(1, -GIB, 3, 9), NodeCapacity(2, -GIB, 3, 9)], GIB, "node 1 has 0.0 GiB available"),
    ],
)
def test_refusal_contains_the_reason(nodes: list[NodeCapacity], memory: int, message: str) -> None:
    with pytest.raises(InsufficientCapacity) as refusal:
        plan(nodes, 2, memory=memory)
    assert message in str(refusal.value)
