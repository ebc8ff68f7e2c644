"""Tests of slot rates, which need two polls of the same engine process."""

from dataclasses import replace

import pytest

from shardboard.domain.metrics import hot_slots
from shardboard.domain.metrics.hot_slots import HotSlot, SlotCounters, SlotReading, hottest


def reading(uid: int, at: float, counts: dict[int, SlotCounters], run_id: str = "a", reason: str = "") -> SlotReading:
    return SlotReading(uid, node_uid=uid, reason=reason, at=at, run_id=run_id, counts=counts)


FIRST = reading(1, 10.0, {5: SlotCounters(3, 1_000_000, 100, 1000), 6: SlotCounters(9, 5_000_000, 50, 50)})
SECOND = reading(
    1,
    14.0,
    {5: SlotCounters(4, 3_000_000, 500, 9000), 6: SlotCounters(9, 5_000_004, 50, 50), 7: SlotCounters(1, 900, 0, 0)},
)


def test_first_poll_ranks_by_totals_without_rates() -> None:
    ranked = hottest([FIRST], {}, "cpu_usec", 10)
    assert [(each.slot, each.cpu) for each in ranked] == [(6, None), (5, None)]
    assert hot_slots.interval([FIRST], {}) is None


def test_second_poll_ranks_by_rates() -> None:
    first, second, third = hottest([SECOND], {1: FIRST}, "cpu_usec", 10)
    assert first == HotSlot(
        5, 1, 1, SlotCounters(4, 3_000_000, 500, 9000), cpu=0.5, ingress_bytes=100.0, egress_bytes=2000.0
    )
    assert (second.slot, second.cpu) == (6, pytest.approx(1e-6))
    assert (third.slot, third.cpu) == (7, None), "the first poll did not contain the slot"
    assert hot_slots.interval([SECOND], {1: FIRST}) == 4.0


@pytest.mark.parametrize(
    "before",
    [replace(FIRST, run_id="b"), replace(FIRST, at=14.0), replace(FIRST, reason="gone"), reading(1, 10.0, {})],
)
def test_counts_of_another_process_are_not_compared(before: SlotReading) -> None:
    assert {each.cpu for each in hottest([SECOND], {1: before}, "cpu_usec", 10)} == {None}


def test_decreased_count_is_a_gap() -> None:
    before = replace(FIRST, counts={5: SlotCounters(4, 9_000_000, 100, 1000)})
    [slot] = hottest([SECOND], {1: before}, "network_bytes_in", 1)
    assert (slot.slot, slot.cpu, slot.ingress_bytes) == (5, None, 100.0)


def test_slots_of_all_primaries_are_merged_and_limited() -> None:
    other = reading(2, 9.0, {9: SlotCounters(40), 10: SlotCounters(2)})
    ranked = hottest([FIRST, other], {}, "key_count", 3)
    assert [(each.shard_uid, each.slot, each.count.keys) for each in ranked] == [(2, 9, 40), (1, 6, 9), (1, 5, 3)]


def test_slots_without_usage_are_omitted() -> None:
    assert hottest([FIRST], {}, "network_bytes_out", 10) != []
    idle = reading(1, 10.0, {5: SlotCounters(3, 0, 0, 0), 6: SlotCounters(0)})
    assert hottest([idle], {}, "cpu_usec", 10) == []
    assert [each.slot for each in hottest([idle], {}, "key_count", 10)] == [5]


@pytest.mark.parametrize(("primaries", "rows"), [(0, 256), (1, 256), (16, 256), (32, 128), (512, 32)])
def test_rows_per_primary_are_limited(primaries: int, rows: int) -> None:
    assert hot_slots.rows_per_primary(primaries) == rows
