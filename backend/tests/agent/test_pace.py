"""How many slots move together: more while they are nearly empty and nobody notices."""

import pytest

from shardboard.agent import pace
from shardboard.agent.pace import MOST_GROUP, Pace

CALM, LATE = 0.0002, 0.05
EMPTY = [0] * MOST_GROUP


@pytest.fixture
def calm() -> Pace:
    """Of shards that answer quickly."""
    made = Pace()
    made._calm.extend([CALM] * pace.CALM_PINGS)
    return made


def after(which: Pace, counts: list[int], groups: int, answer: float) -> int:
    """The size of the group after so many of them, during which shards answered so."""
    for _ in range(groups):
        which.group(counts, fast=False)
        which._group_answers.extend([answer] * pace.GROUP_ANSWERS)
    return which.group(counts, fast=False)


def test_it_begins_with_one_slot(calm: Pace) -> None:
    assert calm.group(EMPTY, fast=False) == 1


def test_empty_slots_go_together_as_long_as_nobody_notices(calm: Pace) -> None:
    assert after(calm, EMPTY, 20, CALM) == MOST_GROUP
    assert after(calm, EMPTY, 2, LATE) < MOST_GROUP
    assert after(calm, EMPTY, 20, LATE) == 1


def test_slots_with_keys_go_one_by_one(calm: Pace) -> None:
    assert after(calm, EMPTY, 20, CALM) == MOST_GROUP
    assert calm.group([pace.GROUP_KEYS // 2] * MOST_GROUP, fast=False) == 2
    assert calm.group([10_000] * MOST_GROUP, fast=False) == 1
    assert calm.group([0, 0, 10_000, 0], fast=False) == 2


def test_who_is_in_a_hurry_asks_nobody() -> None:
    assert Pace().group(EMPTY, fast=True) == MOST_GROUP
    assert Pace().group([10_000] * MOST_GROUP, fast=True) == pace.FAST_GROUP
    assert Pace().group([10_000], fast=True) == 1


@pytest.mark.parametrize(("closing", "most"), [(0.0002, 200), (0.003, 200), (0.05, 8192)])
def test_empty_slots_are_a_matter_of_few_groups_also_where_each_waits_for_a_disk(
    calm: Pace, closing: float, most: int
) -> None:
    """One PING in a group meets the moment in which it is closed, the other does not."""
    left, groups = 8192, 0
    while left:
        left -= calm.group([0] * min(left, MOST_GROUP), fast=False)
        calm._group_answers.extend([closing, CALM])
        groups += 1
    assert groups <= most
    assert (groups > 2000) == (closing == 0.05), "who makes shards wait for long goes on one by one"


def test_few_keys_count_as_keys_and_not_as_slots(calm: Pace) -> None:
    """2,990 keys in 9,831 slots: 5 primaries become 2."""
    counts = [1 if slot % 10 < 3 else 0 for slot in range(9831)]
    groups = 0
    while counts:
        counts = counts[calm.group(counts[:MOST_GROUP], fast=False) :]
        calm._group_answers.extend([0.003, CALM])
        groups += 1
    assert groups <= 220


def test_the_last_slot_goes_alone(calm: Pace) -> None:
    after(calm, EMPTY, 20, CALM)
    assert calm.group([0], fast=False) == 1
