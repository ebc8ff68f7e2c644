"""Tests of which nodes serve an endpoint, and of how long its addresses stay unchanged."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.databases.proxy_policy import ShardLocation, address_change_message, bind, retiring_addresses

THREE = [
    ShardLocation(1, 0, True),
    ShardLocation(2, 0, False),
    ShardLocation(2, 1, True),
    ShardLocation(3, 1, False),
    ShardLocation(3, 2, True),
    ShardLocation(1, 2, False),
]
POLICIES = ("single", "all-master-shards", "all-nodes")


def test_nodes_are_selected_by_policy() -> None:
    assert bind("single", [], THREE, {1, 2, 3}) == [1]
    assert bind("all-master-shards", [], THREE[:3], {1, 2, 3, 4}) == [1, 2]
    assert bind("all-nodes", [], THREE, {1, 2, 3, 4}) == [1, 2, 3, 4]


def test_single_endpoint_moves_only_when_its_node_is_down() -> None:
    assert bind("single", [3], THREE, {1, 2, 3}) == [3]
    failed_over = [ShardLocation(1, 0, False), ShardLocation(2, 0, True)]
    assert bind("single", [1], failed_over, {1, 2}) == [1]
    assert bind("single", [1], failed_over, {2}) == [2]
    assert bind("single", [1], failed_over, set()) == [1], "no other node is available"


def test_node_without_primaries_serves_while_it_has_a_shard() -> None:
    shards_held = [ShardLocation(1, 0, False), ShardLocation(2, 0, True)]
    assert bind("all-master-shards", [1], shards_held, {1, 2}) == [1, 2]
    assert bind("all-master-shards", [1], shards_held[1:], {1, 2}) == [2]


def test_single_endpoint_stays_on_a_node_without_shards() -> None:
    assert bind("single", [3], [ShardLocation(1, 0, False), ShardLocation(2, 0, True)], {1, 2, 3}) == [3]


def test_single_endpoint_leaves_maintenance_node_after_switchover() -> None:
    shards_held = [ShardLocation(1, 0, True), ShardLocation(2, 0, False)]
    assert bind("single", [1], shards_held, {1, 2}, draining={1}) == [1]
    after_switchover = [ShardLocation(1, 0, False), ShardLocation(2, 0, True)]
    assert bind("single", [1], after_switchover, {1, 2}, draining={1}) == [2]


NOW, GRACE = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=10)


def test_retired_address_is_served_for_a_grace_period() -> None:
    retired_addresses = retiring_addresses([1], [2], {}, {1, 2}, NOW, GRACE)
    assert retired_addresses == {1: NOW + GRACE}
    assert (
        retiring_addresses([2], [2], retired_addresses, {1, 2}, NOW + timedelta(minutes=9), GRACE) == retired_addresses
    ), "the announced time is not extended"
    assert retiring_addresses([2], [2], retired_addresses, {1, 2}, NOW + GRACE, GRACE) == {}
    assert retiring_addresses([2], [2], retired_addresses, {2}, NOW, GRACE) == {}, "the node was removed"
    assert retiring_addresses([2], [1], retired_addresses, {1, 2}, NOW, GRACE) == {2: NOW + GRACE}, (
        "the endpoint moved back"
    )


def test_address_change_is_described_in_a_sentence() -> None:
    assert address_change_message("shop", ["10.0.0.1:12000"], ["10.0.0.2:12000"], 600) == (
        "Clients of shop must change from 10.0.0.1:12000 to 10.0.0.2:12000: the old address responds for another 10 min, "
        "unless the node is removed earlier."
    )
    assert address_change_message("shop", ["a:1", "b:1"], ["c:1"], 0).endswith("the old addresses no longer respond.")


shards = st.lists(st.builds(ShardLocation, st.integers(1, 5), st.integers(0, 5), st.booleans()), min_size=1)
alive_nodes = st.sets(st.integers(1, 5), min_size=1)


@given(st.sampled_from(POLICIES), shards, alive_nodes)
def test_binding_is_stable_while_nothing_changes(
    policy: str, shards_held: list[ShardLocation], alive: set[int]
) -> None:
    first = bind(policy, [], shards_held, alive)
    assert bind(policy, first, shards_held, alive) == first
    assert first == sorted(set(first))


@given(st.sampled_from(POLICIES), st.lists(st.integers(1, 5), max_size=3), shards, alive_nodes)
def test_an_endpoint_always_has_a_node(
    policy: str, bound: list[int], shards_held: list[ShardLocation], alive: set[int]
) -> None:
    shards_held = [*shards_held, ShardLocation(1, 0, True)]
    assert bind(policy, sorted(set(bound)), shards_held, alive)
