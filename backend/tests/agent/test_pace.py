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
        which._group_answers.extend([answer] * 3)
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
    assert Pace().group([10_000], fast=True) == MOST_GROUP


def test_the_last_slot_goes_alone(calm: Pace) -> None:
    after(calm, EMPTY, 20, CALM)
    assert calm.group([0], fast=False) == 1
