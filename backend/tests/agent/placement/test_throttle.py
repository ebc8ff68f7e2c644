"""Tests of the slot move throttle, which moves fewer slots and pauses longer when the latency of the shards rises."""

import pytest

from shardboard.agent.placement import throttle
from shardboard.agent.placement.throttle import MAX_GROUP, TransferThrottle

CALM_SECONDS, LATE_SECONDS = 0.0002, 0.05
EMPTY = [0] * MAX_GROUP


@pytest.fixture
def calm_pace() -> TransferThrottle:
    """Return the throttle of shards that answer quickly."""
    calm_throttle = TransferThrottle()
    calm_throttle._calm.extend([CALM_SECONDS] * throttle.CALM_PINGS)
    return calm_throttle


def group_size_after(transfer_pace: TransferThrottle, counts: list[int], groups: int, answer: float) -> int:
    """Return the size of the next group after `groups` groups in which each shard answered within `answer` seconds."""
    for _ in range(groups):
        transfer_pace.group(counts, fast=False)
        transfer_pace._group_answers.extend([answer] * throttle.GROUP_ANSWERS)
    return transfer_pace.group(counts, fast=False)


def test_first_group_has_one_slot(calm_pace: TransferThrottle) -> None:
    assert calm_pace.group(EMPTY, fast=False) == 1


def test_groups_of_empty_slots_grow_while_latency_is_low(calm_pace: TransferThrottle) -> None:
    assert group_size_after(calm_pace, EMPTY, 20, CALM_SECONDS) == MAX_GROUP
    assert group_size_after(calm_pace, EMPTY, 2, LATE_SECONDS) < MAX_GROUP
    assert group_size_after(calm_pace, EMPTY, 20, LATE_SECONDS) == 1


def test_groups_are_limited_by_their_number_of_keys(calm_pace: TransferThrottle) -> None:
    assert group_size_after(calm_pace, EMPTY, 20, CALM_SECONDS) == MAX_GROUP
    assert calm_pace.group([throttle.GROUP_KEYS // 2] * MAX_GROUP, fast=False) == 2
    assert calm_pace.group([10_000] * MAX_GROUP, fast=False) == 1
    assert calm_pace.group([0, 0, 10_000, 0], fast=False) == 2


def test_fast_moves_ignore_latency() -> None:
    assert TransferThrottle().group(EMPTY, fast=True) == MAX_GROUP
    assert TransferThrottle().group([10_000] * MAX_GROUP, fast=True) == throttle.FAST_GROUP
    assert TransferThrottle().group([10_000], fast=True) == 1


@pytest.mark.parametrize(("closing", "most"), [(0.0002, 200), (0.003, 200), (0.05, 8192)])
def test_empty_slots_move_in_few_groups_even_on_slow_disks(
    calm_pace: TransferThrottle, closing: float, most: int
) -> None:
    """One PING of each group coincides with the end of the group and is delayed."""
    slots_left, groups = 8192, 0
    while slots_left:
        slots_left -= calm_pace.group([0] * min(slots_left, MAX_GROUP), fast=False)
        calm_pace._group_answers.extend([closing, CALM_SECONDS])
        groups += 1
    assert groups <= most
    assert (groups > 2000) == (closing == 0.05), "if shards are delayed for long, slots move one at a time"


def test_mostly_empty_slots_are_limited_by_keys_not_by_slots(calm_pace: TransferThrottle) -> None:
    """A database with 2,990 keys in 9,831 slots is reduced from 5 primaries to 2."""
    counts = [1 if slot % 10 < 3 else 0 for slot in range(9831)]
    groups = 0
    while counts:
        counts = counts[calm_pace.group(counts[:MAX_GROUP], fast=False) :]
        calm_pace._group_answers.extend([0.003, CALM_SECONDS])
        groups += 1
    assert groups <= 220


def test_last_slot_moves_alone(calm_pace: TransferThrottle) -> None:
    group_size_after(calm_pace, EMPTY, 20, CALM_SECONDS)
    assert calm_pace.group([0], fast=False) == 1


def pause_after_job(
    transfer_pace: TransferThrottle, late: int, *, slots: int = 4096, keys: int = 10**6, size: float = 0.0
) -> float:
    """Return the pause in seconds after a job of one second in which `late` of 100 answers were late."""
    transfer_pace.job_slots(1, 0, fast=False)
    transfer_pace._job_answers.extend([LATE_SECONDS] * late + [CALM_SECONDS] * (100 - late))
    return transfer_pace.job_pause(1.0, slots, keys, size)


@pytest.mark.parametrize(
    ("late", "rest"), [(0, 0.2), (2, 4.0), (4, 9.0), (8, 19.0), (50, 4096 / throttle.GENTLE_SLOTS - 1)]
)
def test_pause_grows_with_the_share_of_late_answers(calm_pace: TransferThrottle, late: int, rest: float) -> None:
    assert pause_after_job(calm_pace, late) == pytest.approx(rest)


@pytest.mark.parametrize(
    ("slots", "keys", "size", "rest"),
    [
        (4096, 0, 0.0, 2.0),
        (4096, 10_000, 0.0, 10_000 / throttle.GENTLE_KEYS - 1),
        (4096, 1, 30e6, 30e6 / throttle.GENTLE_BYTES + 1 / throttle.GENTLE_KEYS - 1),
        (1000, 10**6, 1e9, 1000 / throttle.GENTLE_SLOTS - 1),
        (10, 10**6, 1e9, 2.0),
    ],
)
def test_pause_is_limited_by_the_amount_of_moved_data(
    calm_pace: TransferThrottle, slots: int, keys: int, size: float, rest: float
) -> None:
    assert pause_after_job(calm_pace, 50, slots=slots, keys=keys, size=size) == pytest.approx(rest)


def test_jobs_grow_while_latency_is_low_and_shrink_otherwise(calm_pace: TransferThrottle) -> None:
    assert calm_pace.job_slots(1, 0, fast=False) == throttle.INITIAL_JOB_BYTES
    pause_after_job(calm_pace, 0)
    assert calm_pace.job_slots(1, 0, fast=False) > throttle.INITIAL_JOB_BYTES
    for _ in range(10):
        pause_after_job(calm_pace, 0)
    assert calm_pace.job_slots(1, 0, fast=False) == throttle.MAX_JOB_BYTES
    for _ in range(10):
        pause_after_job(calm_pace, 50)
    assert calm_pace.job_slots(1, 0, fast=False) == throttle.INITIAL_JOB_BYTES


def test_jobs_are_limited_by_keys_unless_the_move_is_fast(calm_pace: TransferThrottle) -> None:
    assert calm_pace.job_slots(1000, 10, fast=False) == throttle.JOB_KEYS / 10
    assert calm_pace.job_slots(1e6, 10, fast=False) == throttle.INITIAL_JOB_BYTES / 1e6
    assert calm_pace.job_slots(1000, 10, fast=True) == throttle.MAX_JOB_BYTES / 1000


def test_without_latency_data_the_pause_equals_the_job_duration(calm_pace: TransferThrottle) -> None:
    calm_pace.job_slots(1, 0, fast=False)
    assert calm_pace.job_pause(2.0, 4096, 10**6, 1e9) == 2.0
