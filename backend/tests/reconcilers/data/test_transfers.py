"""Intervals in which transfers are polled."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.domain.data.statuses import TransferKind
from shardboard.reconcilers.data.transfers import FIRST_POLL_SECONDS, new_row, next_poll
from shardboard.state.data.transfers import Transfer


def started_ago(seconds: float, *, is_ended: bool = False) -> Transfer:
    row = new_row(1, TransferKind.SNAPSHOT)
    row.created_at = datetime.now(UTC) - timedelta(seconds=seconds)
    row.finished_at = row.created_at if is_ended else None
    return row


@pytest.mark.parametrize(
    ("ages", "expected"),
    [([0], FIRST_POLL_SECONDS), ([1], 0.5), ([60], 1.0), ([60, 1], 0.5), ([], 1.0), ([-60], FIRST_POLL_SECONDS)],
    ids=["new", "young", "old", "several", "none", "clock set back"],
)
def test_new_transfers_are_polled_more_often(ages: list[float], expected: float) -> None:
    rows = [*map(started_ago, ages), started_ago(0, is_ended=True)]
    assert next_poll(rows, 1.0) == pytest.approx(expected, abs=0.1)


def test_the_longest_interval_is_kept() -> None:
    assert next_poll([started_ago(0)], 0.01) == 0.01
