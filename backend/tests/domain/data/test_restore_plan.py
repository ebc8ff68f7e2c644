"""Tests of the transfers of a restore, and of the comparison with the manifest."""

from shardboard.domain.data.backup_plan import MAX_ATTEMPTS, Limits
from shardboard.domain.data.restore_plan import (
    MAX_UNAVAILABLE,
    RETRY_SECONDS,
    NodeTransfer,
    Primary,
    RestoreAttempt,
    mismatched_slots,
    next_restores,
    overlaps,
)

UNLIMITED = Limits(0, {})
PRIMARIES = [Primary(1, 0, 1), Primary(2, 1, 2), Primary(3, 2, 1)]


def attempt(
    *shards: int,
    status: str = "succeeded",
    source: int = 0,
    node: int = 1,
    ended_ago: float = RETRY_SECONDS,
    was_unavailable: bool = False,
) -> RestoreAttempt:
    return RestoreAttempt(source, node, shards, status, "It is broken.", ended_ago, was_unavailable)


def test_an_unavailable_primary_is_tried_more_often_and_without_others() -> None:
    failed = attempt(1, 3, status="failed", was_unavailable=True)
    plan = next_restores(1, PRIMARIES, [failed] * MAX_ATTEMPTS, UNLIMITED)
    assert plan.start == [NodeTransfer(1, (1,)), NodeTransfer(1, (3,)), NodeTransfer(2, (2,))]
    plan = next_restores(1, PRIMARIES, [failed] * MAX_UNAVAILABLE, UNLIMITED)
    assert f"redis:1 failed {MAX_UNAVAILABLE} times" in plan.failed


def test_one_transfer_per_node() -> None:
    plan = next_restores(1, PRIMARIES, [], UNLIMITED)
    assert plan.start == [NodeTransfer(1, (1, 3)), NodeTransfer(2, (2,))]
    assert next_restores(1, PRIMARIES, [], Limits(1, {1: 1})).start == [NodeTransfer(2, (2,))]


def test_sources_are_read_one_after_the_other() -> None:
    first = [attempt(1, 3), attempt(2, status="running", node=2)]
    assert next_restores(2, PRIMARIES, first, UNLIMITED).start == []
    second = next_restores(2, PRIMARIES, [attempt(1, 3), attempt(2, node=2)], UNLIMITED)
    assert (second.source, len(second.start)) == (1, 2)
    both = [attempt(1, 2, 3, source=source) for source in (0, 1)]
    assert next_restores(2, PRIMARIES, both, UNLIMITED).done


def test_a_new_primary_gets_all_keys() -> None:
    plan = next_restores(1, [Primary(9, 0, 3), *PRIMARIES[1:]], [attempt(1, 3), attempt(2, node=2)], UNLIMITED)
    assert plan.start == [NodeTransfer(3, (9,))]


def test_a_primary_is_tried_three_times() -> None:
    failed = [attempt(2, status="failed", node=2)] * MAX_ATTEMPTS
    assert "redis:2 failed 3 times. It is broken." in next_restores(1, PRIMARIES, failed, UNLIMITED).failed
    assert len(next_restores(1, PRIMARIES, failed[:-1], UNLIMITED).start) == 2
    just_now = [attempt(2, status="failed", node=2, ended_ago=RETRY_SECONDS - 1)]
    assert next_restores(1, PRIMARIES, just_now, UNLIMITED).start == [NodeTransfer(1, (1, 3))]


def test_slots_overlap() -> None:
    assert overlaps(((0, 5), (9, 9)), ((6, 9),))
    assert not overlaps(((0, 5), (9, 9)), ((6, 8),))


def test_slots_that_differ_are_counted() -> None:
    expected = {1: (2, "a"), 2: (3, "b"), 3: (1, "c")}
    assert mismatched_slots(expected, dict(expected), 0) == 0
    assert mismatched_slots(expected, {**expected, 2: (3, "x"), 4: (1, "d")}, 0) == 2
    expired = {1: (1, "y"), 3: (1, "c")}
    assert mismatched_slots(expected, expired, 4) == 0, "the missing keys had expired"
    assert mismatched_slots(expected, expired, 3) == 2
    assert mismatched_slots({1: (0, "")}, {}, 0) == 0
