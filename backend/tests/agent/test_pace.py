"""How many slots move together, and how long it rests: more while nobody notices, less while somebody does."""

import pytest

from shardboard.agent import pace
from shardboard.agent.pace import MOST_GROUP, TransferPace

CALM, LATE = 0.0002, 0.05
EMPTY = [0] * MOST_GROUP


@pytest.fixture
def calm() -> TransferPace:
    """Of shards that answer quickly."""
    made = TransferPace()
    made._calm.extend([CALM] * pace.CALM_PINGS)
    return made


def after(which: TransferPace, counts: list[int], groups: int, answer: float) -> int:
    """The size of the group after so many of them, during which shards answered so."""
    for _ in range(groups):
        which.group(counts, fast=False)
        which._group_answers.extend([answer] * pace.GROUP_ANSWERS)
    return which.group(counts, fast=False)


def test_it_begins_with_one_slot(calm: TransferPace) -> None:
    assert calm.group(EMPTY, fast=False) == 1


def test_empty_slots_go_together_as_long_as_nobody_notices(calm: TransferPace) -> None:
    assert after(calm, EMPTY, 20, CALM) == MOST_GROUP
    assert after(calm, EMPTY, 2, LATE) < MOST_GROUP
    assert after(calm, EMPTY, 20, LATE) == 1


def test_slots_with_keys_go_one_by_one(calm: TransferPace) -> None:
    assert after(calm, EMPTY, 20, CALM) == MOST_GROUP
    assert calm.group([pace.GROUP_KEYS // 2] * MOST_GROUP, fast=False) == 2
    assert calm.group([10_000] * MOST_GROUP, fast=False) == 1
    assert calm.group([0, 0, 10_000, 0], fast=False) == 2


def test_who_is_in_a_hurry_asks_nobody() -> None:
    assert TransferPace().group(EMPTY, fast=True) == MOST_GROUP
    assert TransferPace().group([10_000] * MOST_GROUP, fast=True) == pace.FAST_GROUP
    assert TransferPace().group([10_000], fast=True) == 1


@pytest.mark.parametrize(("closing", "most"), [(0.0002, 200), (0.003, 200), (0.05, 8192)])
def test_empty_slots_are_a_matter_of_few_groups_also_where_each_waits_for_a_disk(
    calm: TransferPace, closing: float, most: int
) -> None:
    """One PING in a group meets the moment in which it is closed, the other does not."""
    left, groups = 8192, 0
    while left:
        left -= calm.group([0] * min(left, MOST_GROUP), fast=False)
        calm._group_answers.extend([closing, CALM])
        groups += 1
    assert groups <= most
    assert (groups > 2000) == (closing == 0.05), "who makes shards wait for long goes on one by one"


def test_few_keys_count_as_keys_and_not_as_slots(calm: TransferPace) -> None:
    """2,990 keys in 9,831 slots: 5 primaries become 2."""
    counts = [1 if slot % 10 < 3 else 0 for slot in range(9831)]
    groups = 0
    while counts:
        counts = counts[calm.group(counts[:MOST_GROUP], fast=False) :]
        calm._group_answers.extend([0.003, CALM])
        groups += 1
    assert groups <= 220


def test_the_last_slot_goes_alone(calm: TransferPace) -> None:
    after(calm, EMPTY, 20, CALM)
    assert calm.group([0], fast=False) == 1


def job(which: TransferPace, late: int, *, slots: int = 4096, keys: int = 10**6, size: float = 0.0) -> float:
    """A job of a second, in which so many of a hundred answers were late. How long the rest is after it."""
    which.job_slots(1, 0, fast=False)
    which._job_answers.extend([LATE] * late + [CALM] * (100 - late))
    return which.rest_after_job(1.0, slots, keys, size)


@pytest.mark.parametrize(
    ("late", "rest"), [(0, 0.2), (2, 4.0), (4, 9.0), (8, 19.0), (50, 4096 / pace.GENTLE_SLOTS - 1)]
)
def test_it_rests_until_few_of_all_answers_are_late(calm: TransferPace, late: int, rest: float) -> None:
    assert job(calm, late) == pytest.approx(rest)


@pytest.mark.parametrize(
    ("slots", "keys", "size", "rest"),
    [
        (4096, 0, 0.0, 2.0),
        (4096, 10_000, 0.0, 10_000 / pace.GENTLE_KEYS - 1),
        (4096, 1, 30e6, 30e6 / pace.GENTLE_BYTES + 1 / pace.GENTLE_KEYS - 1),
        (1000, 10**6, 1e9, 1000 / pace.GENTLE_SLOTS - 1),
        (10, 10**6, 1e9, 2.0),
    ],
)
def test_a_rest_is_no_longer_than_what_was_moved_is_worth(
    calm: TransferPace, slots: int, keys: int, size: float, rest: float
) -> None:
    assert job(calm, 50, slots=slots, keys=keys, size=size) == pytest.approx(rest)


def test_jobs_grow_while_nobody_notices_and_are_of_the_first_size_where_somebody_does(calm: TransferPace) -> None:
    assert calm.job_slots(1, 0, fast=False) == pace.FIRST_JOB
    job(calm, 0)
    assert calm.job_slots(1, 0, fast=False) > pace.FIRST_JOB
    for _ in range(10):
        job(calm, 0)
    assert calm.job_slots(1, 0, fast=False) == pace.MOST_JOB
    for _ in range(10):
        job(calm, 50)
    assert calm.job_slots(1, 0, fast=False) == pace.FIRST_JOB


def test_jobs_of_small_keys_are_bounded_by_their_number_but_for_those_that_are_fast(calm: TransferPace) -> None:
    assert calm.job_slots(1000, 10, fast=False) == pace.JOB_KEYS / 10
    assert calm.job_slots(1e6, 10, fast=False) == pace.FIRST_JOB / 1e6
    assert calm.job_slots(1000, 10, fast=True) == pace.MOST_JOB / 1000


def test_before_anything_was_heard_the_rest_is_as_long_as_the_job(calm: TransferPace) -> None:
    calm.job_slots(1, 0, fast=False)
    assert calm.rest_after_job(2.0, 4096, 10**6, 1e9) == 2.0
