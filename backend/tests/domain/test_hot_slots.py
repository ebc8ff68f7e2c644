"""Counts of single slots become rates only where two looks are of the same count."""

from dataclasses import replace

import pytest

from shardboard.domain import hot_slots
from shardboard.domain.hot_slots import Count, HotSlot, Told, hottest


def told(uid: int, at: float, counts: dict[int, Count], run_id: str = "a", reason: str = "") -> Told:
    return Told(uid, node_uid=uid, reason=reason, at=at, run_id=run_id, counts=counts)


FIRST = told(1, 10.0, {5: Count(3, 1_000_000, 100, 1000), 6: Count(9, 5_000_000, 50, 50)})
SECOND = told(1, 14.0, {5: Count(4, 3_000_000, 500, 9000), 6: Count(9, 5_000_004, 50, 50), 7: Count(1, 900, 0, 0)})


def test_the_first_look_ranks_by_totals_and_claims_no_rate() -> None:
    found = hottest([FIRST], {}, "cpu_usec", 10)
    assert [(each.slot, each.cpu) for each in found] == [(6, None), (5, None)]
    assert hot_slots.interval([FIRST], {}) is None


def test_the_second_ranks_by_what_happened_in_between() -> None:
    first, second, third = hottest([SECOND], {1: FIRST}, "cpu_usec", 10)
    assert first == HotSlot(5, 1, 1, Count(4, 3_000_000, 500, 9000), cpu=0.5, ingress_bytes=100.0, egress_bytes=2000.0)
    assert (second.slot, second.cpu) == (6, pytest.approx(1e-6))
    assert (third.slot, third.cpu) == (7, None), "the earlier look did not have it"
    assert hot_slots.interval([SECOND], {1: FIRST}) == 4.0


@pytest.mark.parametrize(
    "before",
    [replace(FIRST, run_id="b"), replace(FIRST, at=14.0), replace(FIRST, reason="gone"), told(1, 10.0, {})],
)
def test_another_process_is_another_count(before: Told) -> None:
    assert {each.cpu for each in hottest([SECOND], {1: before}, "cpu_usec", 10)} == {None}


def test_a_count_that_fell_is_a_gap() -> None:
    before = replace(FIRST, counts={5: Count(4, 9_000_000, 100, 1000)})
    [slot] = hottest([SECOND], {1: before}, "network_bytes_in", 1)
    assert (slot.slot, slot.cpu, slot.ingress_bytes) == (5, None, 100.0)


def test_primaries_are_joined_and_the_list_is_short() -> None:
    other = told(2, 9.0, {9: Count(40), 10: Count(2)})
    found = hottest([FIRST, other], {}, "key_count", 3)
    assert [(each.shard_uid, each.slot, each.count.keys) for each in found] == [(2, 9, 40), (1, 6, 9), (1, 5, 3)]


def test_what_took_nothing_is_not_hot() -> None:
    assert hottest([FIRST], {}, "network_bytes_out", 10) != []
    idle = told(1, 10.0, {5: Count(3, 0, 0, 0), 6: Count(0)})
    assert hottest([idle], {}, "cpu_usec", 10) == []
    assert [each.slot for each in hottest([idle], {}, "key_count", 10)] == [5]


@pytest.mark.parametrize(("primaries", "rows"), [(0, 256), (1, 256), (16, 256), (32, 128), (512, 32)])
def test_a_look_has_a_budget_of_rows(primaries: int, rows: int) -> None:
    assert hot_slots.rows_of_each(primaries) == rows
