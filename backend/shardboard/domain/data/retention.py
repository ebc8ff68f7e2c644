"""Retention: which backups of a database are kept, why, and which are deleted.

Each rule keeps backups independently of the others. `count` keeps the newest. `days` keeps those of the last days. The rules
`daily`, `weekly`, `monthly` and `yearly` keep the newest backup of each of the last days, weeks, months or years in which a backup
was made (grandfather-father-son). Without any rule, all backups are kept.

Age is measured from the newest successful backup instead of from now, so nothing is deleted while backups fail. Backups dated in
the future, made while the clock was wrong, neither count nor are deleted. The newest backup is always kept. If its test restore
failed, the newest one whose test restore did not fail is kept too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

FAILED_DAYS = 7
"""Days for which failed and canceled backups stay in the list."""
MAX_KEPT = 3_660
"""Largest number of a rule."""
CLOCK_TOLERANCE = timedelta(minutes=10)
"""Backups later than now by more are dated in the future."""


class Outcome(StrEnum):
    """State of a backup, as far as retention distinguishes it."""

    SUCCEEDED = "succeeded"
    UNFINISHED = "unfinished"
    """Still running."""
    FAILED = "failed"
    """Or canceled."""


@dataclass(frozen=True)
class StoredBackup:
    """A backup as retention needs it."""

    uid: str
    created_at: datetime
    outcome: Outcome
    manual: bool = False
    is_damaged: bool = False
    """Its last test restore failed."""


@dataclass(frozen=True)
class Rules:
    """Numbers of backups, days, weeks, months and years to keep. 0: the rule is off."""

    count: int = 0
    days: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    include_manual: bool = False
    """Apply the rules to manual backups too. Otherwise, they are kept until a user deletes them."""

    @property
    def keeps_all(self) -> bool:
        return not any((self.count, self.days, self.daily, self.weekly, self.monthly, self.yearly))


@dataclass(frozen=True)
class Kept:
    """Why and how long a backup is kept."""

    because: tuple[str, ...]
    """Names of rules, or `newest`, `manual`, `unfinished`, `failed`, `future`, `no_rules`."""
    until: datetime | None
    """With the same rules, it is not deleted before this time. None: the rules give no time."""


@dataclass(frozen=True)
class Retention:
    """Decision about all backups of a database. Each is either in `kept` or in `delete`."""

    kept: Mapping[str, Kept]
    delete: Sequence[str]
    """Oldest first."""


def decide(backups: Iterable[StoredBackup], rules: Rules, *, now: datetime, time_zone: str = "UTC") -> Retention:
    """Decide which backups are kept. Calendar rules use days, weeks, months and years of the time zone."""
    newest_first = sorted(backups, key=lambda each: (each.created_at, each.uid), reverse=True)
    latest = now + CLOCK_TOLERANCE
    counted = [each for each in newest_first if each.outcome is Outcome.SUCCEEDED and each.created_at <= latest]
    reference = counted[0].created_at if counted else None
    if not rules.include_manual:
        counted = [each for each in counted if not each.manual]
    reasons: dict[str, list[str]] = defaultdict(list)
    until: dict[str, datetime] = {}
    for backup, reason, limit in _reasons(counted, rules, now, reference, ZoneInfo(time_zone)):
        reasons[backup.uid].append(reason)
        if limit is not None:
            until[backup.uid] = max(limit, until.get(backup.uid, limit))
    kept, delete = {}, []
    for backup in newest_first:
        exempt = _exemption(backup, rules, reference, latest)
        if exempt:
            kept[backup.uid] = Kept((exempt,), None)
        elif backup.uid in reasons:
            kept[backup.uid] = Kept(tuple(reasons[backup.uid]), until.get(backup.uid))
        else:
            delete.append(backup.uid)
    return Retention(kept, delete[::-1])


def _exemption(backup: StoredBackup, rules: Rules, reference: datetime | None, latest: datetime) -> str:
    """Return why the rules do not apply to a backup, or an empty string."""
    if backup.outcome is Outcome.UNFINISHED:
        return "unfinished"
    if backup.created_at > latest:
        return "future"
    if backup.outcome is Outcome.FAILED:
        recent = reference is None or backup.created_at > reference - timedelta(days=FAILED_DAYS)
        return "failed" if recent else ""
    return "manual" if backup.manual and not rules.include_manual else ""


_Reason = tuple[StoredBackup, str, datetime | None]


def _reasons(
    counted: Sequence[StoredBackup], rules: Rules, now: datetime, reference: datetime | None, zone: ZoneInfo
) -> Iterator[_Reason]:
    """Yield each backup that a rule keeps, with the rule and until when at least; `counted` is sorted, newest first."""
    if rules.keeps_all:
        yield from ((each, "no_rules", None) for each in counted)
        return
    undamaged = [each for each in counted if not each.is_damaged]
    yield from ((each, "newest", None) for each in dict.fromkeys([*counted[:1], *undamaged[:1]]))
    yield from ((each, "count", None) for each in counted[: rules.count])
    if rules.days and reference is not None:
        age = timedelta(days=rules.days)
        yield from ((each, "days", each.created_at + age) for each in counted if each.created_at > reference - age)
    for name, period in _PERIODS.items():
        if number := getattr(rules, name):
            yield from _calendar(counted, name, number, period, now, zone)


def _calendar(
    counted: Sequence[StoredBackup], name: str, number: int, period: "_Period", now: datetime, zone: ZoneInfo
) -> Iterator[_Reason]:
    """Yield the newest backup of each of the last `number` periods with a backup."""

    def first_day(backup: StoredBackup) -> date:
        return period(backup.created_at.astimezone(zone).date(), 0)

    for index, (day, members) in enumerate(groupby(counted, first_day)):
        if index == number:
            return
        ended = period(now.astimezone(zone).date(), 0) > day
        # A later backup can replace the newest one of the current period at any time.
        yield next(members), name, _midnight(period(day, number), zone) if ended else None


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)


_Period = Callable[[date, int], date]
"""Returns the first day of the period that contains a day, or of a later period."""


def _day(day: date, later: int) -> date:
    return day + timedelta(days=later)


def _week(day: date, later: int) -> date:
    return day - timedelta(days=day.weekday()) + timedelta(weeks=later)


def _month(day: date, later: int) -> date:
    months = day.year * 12 + day.month - 1 + later
    return date(months // 12, months % 12 + 1, 1)


def _year(day: date, later: int) -> date:
    return date(day.year + later, 1, 1)


_PERIODS: Mapping[str, _Period] = {"daily": _day, "weekly": _week, "monthly": _month, "yearly": _year}


def parse(stored: Mapping[str, Any], history: int = 0) -> Rules:
    """Return the rules of a database; `history` is `backup_history` of the Redis Enterprise REST API, the number of backups."""
    known = {each.name for each in fields(Rules)}
    rules = {name: value for name, value in stored.items() if name in known}
    return Rules(**{**rules, "count": rules.get("count") or history})
