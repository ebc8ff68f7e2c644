"""Scheduled backups of the console: their schedule, the names of their files, and which of them are deleted."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from shardboard.domain.data import schedules

FOLDER = "shardboard-console"
"""Folder of the location."""
WINDOW = timedelta(hours=1)
"""A backup that is due can start this much later."""
MAX_KEPT = 1_000
FAILED_KEPT = 10
"""Failed backups that stay in the list."""


class ConsoleBackupStatus(StrEnum):
    WAITING = "waiting"
    """For the leading console."""
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DELETING = "deleting"


UNFINISHED = frozenset({ConsoleBackupStatus.WAITING, ConsoleBackupStatus.RUNNING})


def path_of(created_at: datetime, uid: int) -> str:
    """Return the path of a backup in its location. The uid distinguishes backups of a restored console."""
    return f"{FOLDER}/console-{created_at:%Y%m%dT%H%M%SZ}-{uid}.age"


def schedule_error(cron: str, time_zone: str) -> str:
    """Return the first problem of a schedule as a sentence, or an empty string."""
    if error := schedules.cron_error(cron):
        return f"cron {error}."
    if error := schedules.time_zone_error(time_zone):
        return f"time_zone {error}."
    return ""


def outdated(scheduled: Iterable[tuple[int, str]], keep: int) -> list[int]:
    """Return the uids of the scheduled backups to delete. Backups are uids and statuses, newest first."""
    counts = {ConsoleBackupStatus.SUCCEEDED: keep, ConsoleBackupStatus.FAILED: FAILED_KEPT}
    found = []
    for uid, status in scheduled:
        if status in counts:
            counts[ConsoleBackupStatus(status)] -= 1
            if counts[ConsoleBackupStatus(status)] < 0:
                found.append(uid)
    return found
