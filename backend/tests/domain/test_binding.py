"""Which nodes serve an endpoint, and that addresses stay as long as they can."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.binding import Held, bind, retiring, sentence

THREE = [Held(1, 0, True), Held(2, 0, False), Held(2, 1, True), Held(3, 1, False), Held(3, 2, True), Held(1, 2, False)]
POLICIES = ("single", "all-master-shards", "all-nodes")


def test_by_policy() -> None:
    assert bind("single", [], THREE, {1, 2, 3}) == [1]
    assert bind("all-master-shards", [], THREE[:3], {1, 2, 3, 4}) == [1, 2]
    assert bind("all-nodes", [], THREE, {1, 2, 3, 4}) == [1, 2, 3, 4]


def test_a_single_endpoint_moves_when_its_node_is_down_and_not_when_a_primary_moves() -> None:
    assert bind("single", [3], THREE, {1, 2, 3}) == [3]
    failed_over = [Held(1, 0, False), Held(2, 0, True)]
    assert bind("single", [1], failed_over, {1, 2}) == [1]
    assert bind("single", [1], failed_over, {2}) == [2]
    assert bind("single", [1], failed_over, set()) == [1], "nowhere to go"


def test_a_node_without_primaries_goes_on_while_it_holds_a_shard() -> None:
    held = [Held(1, 0, False), Held(2, 0, True)]
    assert bind("all-master-shards", [1], held, {1, 2}) == [1, 2]
    assert bind("all-master-shards", [1], held[1:], {1, 2}) == [2]


def test_a_single_address_stays_where_no_shard_is_left() -> None:
    assert bind("single", [3], [Held(1, 0, False), Held(2, 0, True)], {1, 2, 3}) == [3]


def test_a_node_in_maintenance_keeps_a_single_address_until_it_leads_nothing() -> None:
    held = [Held(1, 0, True), Held(2, 0, False)]
    assert bind("single", [1], held, {1, 2}, resting={1}) == [1]
    handed_over = [Held(1, 0, False), Held(2, 0, True)]
    assert bind("single", [1], handed_over, {1, 2}, resting={1}) == [2]


NOW, GRACE = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=10)


def test_an_address_that_clients_must_leave_answers_for_a_while() -> None:
    left = retiring([1], [2], {}, {1, 2}, NOW, GRACE)
    assert left == {1: NOW + GRACE}
    assert retiring([2], [2], left, {1, 2}, NOW + timedelta(minutes=9), GRACE) == left, "no longer than was said"
    assert retiring([2], [2], left, {1, 2}, NOW + GRACE, GRACE) == {}
    assert retiring([2], [2], left, {2}, NOW, GRACE) == {}, "its node left"
    assert retiring([2], [1], left, {1, 2}, NOW, GRACE) == {2: NOW + GRACE}, "and back"


def test_what_clients_must_do_is_a_sentence() -> None:
    assert sentence("shop", ["10.0.0.1:12000"], ["10.0.0.2:12000"], 600) == (
        "Clients of shop must change from 10.0.0.1:12000 to 10.0.0.2:12000: the old address responds for another 10 min, "
        "unless the node is removed earlier."
    )
    assert sentence("shop", ["a:1", "b:1"], ["c:1"], 0).endswith("the old addresses no longer respond.")


shards = st.lists(st.builds(Held, st.integers(1, 5), st.integers(0, 5), st.booleans()), min_size=1)
living = st.sets(st.integers(1, 5), min_size=1)


@given(st.sampled_from(POLICIES), shards, living)
def test_what_is_chosen_stays_while_nothing_changes(policy: str, held: list[Held], alive: set[int]) -> None:
    first = bind(policy, [], held, alive)
    assert bind(policy, first, held, alive) == first
    assert first == sorted(set(first))


@given(st.sampled_from(POLICIES), st.lists(st.integers(1, 5), max_size=3), shards, living)
def test_there_is_always_somebody(policy: str, bound: list[int], held: list[Held], alive: set[int]) -> None:
    held = [*held, Held(1, 0, True)]
    assert bind(policy, sorted(set(bound)), held, alive)
