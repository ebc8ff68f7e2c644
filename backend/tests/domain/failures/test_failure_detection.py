"""Tests of judging whether a node is down, based on the reports of witnesses."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.failure_detection import SENSITIVITY, judge

answers = st.lists(st.booleans(), min_size=1, max_size=6)
witness_reports = st.lists(st.none() | answers, max_size=5)


@given(witness_reports, answers, st.data())
def test_one_answer_proves_that_the_node_is_alive(
    others: list[list[bool] | None], one: list[bool], data: st.DataObject
) -> None:
    one[data.draw(st.integers(0, len(one) - 1))] = True
    others.insert(data.draw(st.integers(0, len(others))), one)
    assert judge(others) == "alive"


@given(st.integers(0, 5), st.integers(0, 3))
def test_without_a_witness_the_state_is_unknown(unreachable: int, shardless: int) -> None:
    assert judge([None] * unreachable + [[]] * shardless) == "unknown"


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 3))
def test_node_is_silent_if_no_witness_gets_an_answer(sizes: list[int], unreachable: int) -> None:
    assert judge([None] * unreachable + [[False] * size for size in sizes]) == "silent"


@given(witness_reports)
def test_unreachable_witness_changes_nothing(drawn_reports: list[list[bool] | None]) -> None:
    assert judge([*drawn_reports, None]) == judge(drawn_reports)


@given(st.lists(st.integers(1, 6), max_size=4), st.integers(0, 3), st.integers(1, 4))
def test_node_is_silent_only_with_enough_witnesses(sizes: list[int], unreachable: int, required: int) -> None:
    verdict = judge([None] * unreachable + [[False] * size for size in sizes], required)
    assert verdict == ("silent" if len(sizes) >= required else "unknown")


def test_high_sensitivity_is_faster_and_all_settings_need_two_rounds() -> None:
    assert SENSITIVITY.keys() == {"high", "low"}
    assert SENSITIVITY["high"][0] < SENSITIVITY["low"][0]
    assert 2 <= SENSITIVITY["high"][1] < SENSITIVITY["low"][1]
