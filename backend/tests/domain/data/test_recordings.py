"""Tests of the decisions about recordings of changes."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.domain.data.backup_plan import Copy
from shardboard.domain.data.recordings import choose_copy, is_lost, needs_backup, restart_pause, retry_pause

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def copy(shard_uid: int, role: str = "slave", *, in_sync: bool = True, reachable: bool = True) -> Copy:
    return Copy(shard_uid, 0, 1, role, in_sync, reachable)


def test_a_replica_in_sync_is_followed() -> None:
    primary, replica = copy(1, "master"), copy(2)
    assert choose_copy([primary, replica], [], None) == replica
    assert choose_copy([primary, copy(2, in_sync=False)], [], None) == primary
    assert choose_copy([primary, copy(2, reachable=False)], [], None) == primary
    assert choose_copy([primary, replica], [2], None) == primary, "it no longer has the changes"
    assert choose_copy([primary, replica], [], failed_on=2) == primary
    assert choose_copy([replica], [], failed_on=2) == replica, "there is no other copy"
    assert choose_copy([], [], None) is None


def test_a_recording_is_lost_if_no_copy_has_its_changes() -> None:
    copies = [copy(1, "master"), copy(2)]
    assert not is_lost(copies, [])
    assert not is_lost(copies, [2])
    assert is_lost(copies, [2, 1])
    assert is_lost([copy(1, "master"), copy(2, in_sync=False)], [1])
    assert not is_lost([copy(1, "master", in_sync=False)], [1]), "during a failover, no copy is in sync"


@pytest.mark.parametrize(
    ("last_backup", "losses", "age", "needed"),
    [
        (None, 0, 0, True),
        (NOW - 2 * MINUTE, 0, 1, True),
        (NOW - 1 * MINUTE, 0, 2, False),
        (None, 1, 0, True),
        (None, 3, 7, False),
        (None, 3, 8, True),
        (None, 20, 59, False),
        (None, 20, 60, True),
    ],
)
def test_a_backup_is_needed_if_none_started_after_the_recordings(
    last_backup: datetime | None, losses: int, age: int, needed: bool
) -> None:
    assert needs_backup(NOW - age * MINUTE, last_backup, losses, NOW) == needed


def test_pauses_grow_and_are_limited() -> None:
    assert [retry_pause(failures).total_seconds() for failures in (1, 2, 20)] == [2, 4, 60]
    assert restart_pause([NOW - MINUTE], NOW) == timedelta(0)
    assert restart_pause([NOW - MINUTE] * 3, NOW) == timedelta(seconds=8)
    assert restart_pause([NOW - MINUTE] * 60, NOW) == timedelta(minutes=10)
    assert restart_pause([NOW - 120 * MINUTE] * 60, NOW) == timedelta(0)
