"""What a resharding will cost: from what moves and from rates that were measured, or why nobody can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shardboard.domain import reshard_estimate
from shardboard.domain.reshard import SlotBatch
from shardboard.domain.reshard_estimate import Cargo, Holding, ReshardingPace, estimate, rounded
from shardboard.domain.slots import SLOTS

HALF = SlotBatch(0, 3, ((0, 4095),))


def cargo(keys: int = 0, size: int = 0, slots: int = 8192, **more: object) -> Cargo:
    return Cargo(**{"slots": slots, "keys": keys, "bytes": size, "shards": 0, "own_way": False, **more})  # type: ignore[arg-type]


def seconds(of: Cargo, pace: ReshardingPace = "gentle") -> float:
    found = estimate(of, pace).seconds
    assert found is not None
    return found


def test_of_a_pair_goes_the_share_of_its_slots() -> None:
    held = {0: Holding(slots=8192, keys=1000, bytes=500_000), 1: Holding(slots=8192, keys=10, bytes=100)}
    found = reshard_estimate.cargo([HALF], held, shards=2, own_way=True)
    assert (found.slots, found.keys, found.bytes, found.unknown) == (4096, 500, 250_000, "")


def test_it_says_whose_size_is_not_known_and_promises_nothing() -> None:
    held = {0: Holding(slots=8192, keys=None, bytes=None)}
    found = reshard_estimate.cargo([HALF], held, shards=2, own_way=True)
    told = estimate(found, "gentle")
    assert told.seconds is None
    assert "pair 0" in found.unknown
    assert "unknown" in told.time
    assert "about" not in told.time


def test_pairs_that_give_nothing_need_not_be_known() -> None:
    held = {0: Holding(slots=8192, keys=1, bytes=1), 1: Holding(slots=8192, keys=None, bytes=None)}
    assert reshard_estimate.cargo([HALF], held, shards=0, own_way=True).unknown == ""


@pytest.mark.parametrize("own_way", [False, True])
@pytest.mark.parametrize("pace", ["gentle", "fast"])
def test_slots_without_keys_cost_next_to_nothing(own_way: bool, pace: ReshardingPace) -> None:
    full = cargo(10_000_000, 2_000_000_000, own_way=own_way)
    assert seconds(cargo(own_way=own_way), pace) < seconds(full, pace) / 4


@given(some.integers(0, 10**9), some.integers(0, 10**12), some.integers(0, SLOTS), some.booleans())
def test_more_never_takes_less_time_and_fast_never_more(keys: int, size: int, slots: int, own_way: bool) -> None:
    less = cargo(keys, size, slots, own_way=own_way)
    more = cargo(2 * keys + 1, 2 * size + 1, slots, own_way=own_way)
    for pace in ("gentle", "fast"):
        assert seconds(less, pace) <= seconds(more, pace)
        assert seconds(less, pace) >= 0
    assert seconds(less, "fast") <= seconds(less, "gentle")


def test_rests_of_the_engines_own_way_end_when_slots_or_keys_are_worth_no_more() -> None:
    """As `agent/pace.py` limits them: 8,192 slots are worth 45 s, 20,000 keys 10 s."""
    assert seconds(cargo(20_000, own_way=True)) == 10
    assert seconds(cargo(200_000, own_way=True)) == 45
    many = cargo(30_000_000, own_way=True)
    assert seconds(many) == pytest.approx(3 * seconds(many, "fast"), rel=0.15)  # both are rounded
    assert seconds(cargo(2_000, 200_000_000, own_way=True)) == 45


def test_every_word_on_latency_has_its_figures() -> None:
    for own_way in (False, True):
        for pace in ("gentle", "fast"):
            told = estimate(cargo(1000, 1000, own_way=own_way), pace)
            assert "measured" in told.latency
            assert " ms" in told.latency


@pytest.mark.parametrize(
    ("exact", "told"),
    [(0.2, 5), (7, 10), (12, 15), (58, 60), (61, 75), (170, 180), (1000, 1020), (5000, 5400), (200_000, 201_600)],
)
def test_it_is_rounded_up_to_what_a_person_would_say(exact: float, told: int) -> None:
    assert rounded(exact) == told


def test_nothing_that_moves_takes_no_time() -> None:
    assert estimate(cargo(slots=0), "gentle").seconds == 0
