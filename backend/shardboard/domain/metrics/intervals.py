"""Time intervals: the resolutions of the history, their alignment, and the choice of a resolution.

All calculations use UTC epoch seconds, so that daylight saving time and leap years do not change the length of an interval.
"""

from collections.abc import Iterable
from dataclasses import dataclass

DAY = 86_400
WEEK = 7 * DAY
_MONDAY = 4 * DAY
"""1970-01-05 was the first Monday; weeks start there. All shorter intervals divide a week, so one offset works for all of them."""


@dataclass(frozen=True)
class Resolution:
    """One level of the history. `samples` is the number that the REST reference keeps (4.1), `retention` the seconds that are kept
    here."""

    name: str
    step: int
    samples: int
    retention: int


RESOLUTIONS = (
    Resolution("1sec", 1, 10, 3_600),
    Resolution("10sec", 10, 30, DAY),
    Resolution("5min", 300, 12, 14 * DAY),
    Resolution("15min", 900, 96, 62 * DAY),
    Resolution("1hour", 3_600, 168, 400 * DAY),
    Resolution("12hour", 43_200, 62, 3 * 366 * DAY),
    Resolution("1week", WEEK, 53, 10 * 366 * DAY),
)
"""Finest first; each step is a multiple of the previous one."""

BY_STEP = {resolution.step: resolution for resolution in RESOLUTIONS}
BY_NAME = {resolution.name: resolution for resolution in RESOLUTIONS}
_SHORT = {"s": "sec", "m": "min", "h": "hour", "d": "day", "w": "week"}


def named(name: str) -> Resolution | None:
    """Return the resolution for a name of the reference or a common variant (`1h`, `5m`, `1hours`); None if there is none."""
    text = name.strip().lower()
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = text[len(digits) :].rstrip("s") or "s"
    return BY_NAME.get(digits + _SHORT.get(unit, unit))


def parent(step: int) -> int | None:
    """Return the next coarser step; None for the coarsest."""
    return next((resolution.step for resolution in RESOLUTIONS if resolution.step > step), None)


def child(step: int) -> int:
    """Return the next finer step, which intervals of `step` are computed from."""
    return max(resolution.step for resolution in RESOLUTIONS if resolution.step < step)


def start(t: int, step: int) -> int:
    """Return the start of the interval that contains second `t`."""
    return t - (t - _MONDAY) % step


def starts(times: Iterable[int], step: int) -> set[int]:
    """Return the starts of all intervals that contain one of `times`."""
    return {start(t, step) for t in times}


def choose(first: int, last: int, max_points: int, now: int) -> Resolution:
    """Return the finest resolution that covers `first <= t < last` with at most `max_points` and is still retained.

    If there is none, return the coarsest that is retained long enough: fewer points are better than a truncated chart.
    """
    retained = [resolution for resolution in RESOLUTIONS if now - first <= resolution.retention] or [RESOLUTIONS[-1]]
    fitting = (resolution for resolution in retained if points(first, last, resolution.step) <= max_points)
    return next(fitting, retained[-1])


def points(first: int, last: int, step: int) -> int:
    """Return the number of intervals that overlap `first <= t < last`."""
    return -(-(last - start(first, step)) // step) if first < last else 0
