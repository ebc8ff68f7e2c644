"""Which nodes serve an endpoint, and that addresses stay as long as they can."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.binding import Held, bind

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
