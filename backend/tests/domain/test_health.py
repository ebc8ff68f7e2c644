"""Whether a node is down, from what witnesses say."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.health import SENSITIVITY, judge

answers = st.lists(st.booleans(), min_size=1, max_size=6)
testimonies = st.lists(st.none() | answers, max_size=5)


@given(testimonies, answers, st.data())
def test_one_sign_of_life_suffices(others: list[list[bool] | None], one: list[bool], data: st.DataObject) -> None:
    one[data.draw(st.integers(0, len(one) - 1))] = True
    others.insert(data.draw(st.integers(0, len(others))), one)
    assert judge(others) == "alive"


@given(st.integers(0, 5), st.integers(0, 3))
def test_without_a_witness_nothing_is_known(unreachable: int, shardless: int) -> None:
    assert judge([None] * unreachable + [[]] * shardless) == "unknown"


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 3))
def test_silence_is_what_every_witness_tells(sizes: list[int], unreachable: int) -> None:
    assert judge([None] * unreachable + [[False] * size for size in sizes]) == "silent"


@given(testimonies)
def test_a_witness_that_cannot_be_asked_changes_nothing(given_: list[list[bool] | None]) -> None:
    assert judge([*given_, None]) == judge(given_)


def test_high_sensitivity_is_quicker_and_no_setting_believes_a_single_round() -> None:
    assert SENSITIVITY.keys() == {"high", "low"}
    assert SENSITIVITY["high"][0] < SENSITIVITY["low"][0]
    assert 2 <= SENSITIVITY["high"][1] < SENSITIVITY["low"][1]
