"""Times at which scheduled backups are due, and the decision which of them to start, to skip or to wait for.

Intervals are counted from 1970-01-01 UTC plus an offset, as in the Redis Enterprise REST API. Cron expressions apply to the wall
clock of a time zone. When clocks are set forward, a fixed time in the missing hour is due at the end of that hour. When clocks are
set back, a fixed time in the repeated hour is due once. Expressions whose minute or hour starts with `*` follow elapsed time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

MIN_INTERVAL = 60
"""Seconds, the resolution of cron expressions."""
MAX_INTERVAL = 366 * 86_400
MAX_WINDOW = 1_440
"""Minutes."""
MAX_SKIPPED = 1_000
"""Skipped due times that are counted."""
CLOCK_TOLERANCE = timedelta(minutes=10)
"""A clock that is set back by less repeats no backup. After a larger change, the due times of the new time apply."""
MAX_EXPRESSION = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class IntervalSchedule:
    """Due every `interval` seconds, `offset` seconds after multiples of the interval."""

    interval: int
    offset: int = 0

    def due_times(self, after: datetime) -> Iterator[datetime]:
        """Yield the due times after `after`, in UTC and ascending."""
        period = timedelta(seconds=self.interval)
        start = _EPOCH + timedelta(seconds=self.offset)
        count = (after - start) // period
        while True:
            count += 1
            yield start + count * period

    def __str__(self) -> str:
        return f"every {self.interval} s, offset {self.offset} s"


@dataclass(frozen=True)
class CronSchedule:
    """Due when a cron expression of five fields matches the wall clock of a time zone."""

    expression: str
    time_zone: str = "UTC"

    def due_times(self, after: datetime) -> Iterator[datetime]:
        """Yield the due times after `after`, in UTC and ascending. The iterator ends if none follows within 50 years."""
        last = after.astimezone(UTC)
        for local in CronSim(self.expression, after.astimezone(ZoneInfo(self.time_zone))):
            due = local.astimezone(UTC)
            if due > last:  # repeated or missing hours can return a time twice, or an earlier one
                last = due
                yield due

    def __str__(self) -> str:
        return f"{self.expression} ({self.time_zone})"


Schedule = IntervalSchedule | CronSchedule


@lru_cache(1_024)
def time_zone_error(name: str) -> str:
    """Return what is wrong with the name of a time zone, or an empty string."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of the time zone database
        return "must be a name of the time zone database, such as UTC or Europe/Berlin"
    return ""


@lru_cache(1_024)
def cron_error(expression: str) -> str:
    """Return what is wrong with a cron expression, or an empty string."""
    if len(expression) > MAX_EXPRESSION or len(expression.split()) != 5:
        return "must have five fields: minute, hour, day of month, month and day of week, such as 30 2 * * *"
    try:
        due = next(CronSchedule(expression).due_times(_EPOCH), None)
    except CronSimError as reason:
        return f"is invalid: {str(reason).removeprefix('Bad ')} has a value that is not allowed"
    return "" if due else "never matches a date"


@lru_cache(4_096)
def next_due(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the first due time after `after`, or None if there is none within 50 years.

    Cached, because loops repeat the same questions about many databases.
    """
    return next(schedule.due_times(after), None)


@dataclass(frozen=True)
class Skipped:
    """Due times that will not be started."""

    first: datetime
    last: datetime
    count: int
    """At most `MAX_SKIPPED`."""


@dataclass(frozen=True)
class Decision:
    """Due times to start, skip and wait for."""

    start: datetime | None
    """Due time of a backup to start now."""
    skipped: Skipped | None
    handled: datetime
    """All due times until then were started or skipped. The caller stores `start` instead once it has started the backup."""
    next: datetime | None
    """First due time after now."""


def decide(schedule: Schedule, *, handled: datetime, now: datetime, window: timedelta) -> Decision:
    """Decide about the due times after `handled` until now.

    The latest due time can be started while its window is open: less than `window` after it. All earlier ones, and those whose
    window has closed, are skipped: after an outage, one backup is made, not one for each missed time.
    """
    if handled - now > CLOCK_TOLERANCE:
        handled = now
    opened = now - window
    missed = list(islice(_between(schedule, handled, opened), MAX_SKIPPED))
    current = list(_between(schedule, max(handled, opened), now))
    start = current.pop() if current else None
    missed += current
    skipped = Skipped(missed[0], missed[-1], min(len(missed), MAX_SKIPPED)) if missed else None
    if len(missed) >= MAX_SKIPPED:
        handled = max(handled, opened)
    return Decision(
        start, skipped, max(handled, missed[-1]) if missed else handled, next_due(schedule, max(now, handled))
    )


def _between(schedule: Schedule, after: datetime, until: datetime) -> Iterator[datetime]:
    """Yield the due times after `after`, up to and including `until`."""
    if after >= until:
        return
    for due in schedule.due_times(after):
        if due > until:
            return
        yield due
