"""Rules for backups that failed: how long they can be resumed, and when scheduled ones are."""

from collections.abc import Sequence
from datetime import datetime, timedelta

RESUMABLE = timedelta(hours=6)
"""How long the complete files of a failed backup are kept. The longer, the further the moments of its files are apart."""
DELAYS: Sequence[timedelta] = (timedelta(minutes=5), timedelta(minutes=15), timedelta(minutes=45))
"""Before each automatic retry, counted from the failure."""


def retry_time(failed_at: datetime, runs: int, next_due: datetime | None) -> datetime | None:
    """Return when a scheduled backup is retried that failed in its `runs`-th run; None if the next due time comes first, or after
    the last retry.
    """
    if runs > len(DELAYS):
        return None
    retry_at = failed_at + DELAYS[runs - 1]
    return retry_at if next_due is None or retry_at < next_due else None
