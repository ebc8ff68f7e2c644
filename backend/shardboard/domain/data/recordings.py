"""Decisions about recordings of changes: which copy of a replication pair is followed, and when a backup is needed."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from shardboard.domain.data.backup_plan import Copy
from shardboard.domain.placement.shard_role import ShardRole

MIN_SEGMENT, MAX_SEGMENT, DEFAULT_SEGMENT = 5, 600, 30
"""Seconds of changes in one file."""
MAX_PAUSE = timedelta(minutes=10)
"""Longest pause until a pair is recorded again."""
MAX_BACKUP_PAUSE = timedelta(hours=1)
RECENT = timedelta(hours=1)
"""Recordings that ended within this time count as repeated failures."""


class EndReason(StrEnum):
    """Why a recording ended. Stored."""

    STOPPED = "stopped"
    """It is no longer requested."""
    STREAM_LOST = "stream-lost"
    """No copy has the following changes any longer."""
    SLOTS_MOVED = "slots-moved"
    LOCATION_CHANGED = "location-changed"
    """Another location, or other public keys."""


def choose_copy(copies: Sequence[Copy], lost_on: Collection[int], failed_on: int | None) -> Copy | None:
    """Return the copy of a pair that is followed: a replica, which serves no clients, rather than the primary.

    `lost_on` are copies that no longer have the following changes, `failed_on` the last one if it failed.
    """
    usable = [each for each in copies if each.is_in_sync and each.is_reachable and each.shard_uid not in lost_on]
    return min(
        usable,
        key=lambda each: (each.shard_uid == failed_on, each.role == ShardRole.PRIMARY, each.shard_uid),
        default=None,
    )


def is_lost(copies: Sequence[Copy], lost_on: Collection[int]) -> bool:
    """Return whether no copy can continue a recording: each that is in sync has reported so."""
    in_sync = [each.shard_uid for each in copies if each.is_in_sync]
    return bool(in_sync) and all(uid in lost_on for uid in in_sync)


def retry_pause(failures: int) -> timedelta:
    """Return the pause after this number of consecutive failures."""
    return min(timedelta(seconds=60), timedelta(seconds=2 ** min(failures, 6)))


def restart_pause(ended: Sequence[datetime], now: datetime) -> timedelta:
    """Return how long after the last end a pair is recorded again; `ended` are the times at which recordings were lost."""
    recent = sum(now - each <= RECENT for each in ended)
    return min(MAX_PAUSE, timedelta(seconds=2 ** min(recent, 10))) if recent > 1 else timedelta()


def needs_backup(recording_since: datetime, last_backup: datetime | None, losses: int, now: datetime) -> bool:
    """Return whether a backup must be started, so that the recordings of a database become usable.

    `recording_since`: when the last pair started to be recorded. `last_backup`: when the newest backup that has not failed was
    started. `losses`: how many recordings of a pair were lost recently; the more, the longer the pause.
    """
    if last_backup is not None and last_backup > recording_since:
        return False
    pause = min(MAX_BACKUP_PAUSE, timedelta(minutes=2 ** min(losses, 6))) if losses > 1 else timedelta()
    return now - recording_since >= pause
