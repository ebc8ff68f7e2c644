"""Time in intervals: the resolutions that history is kept in, how they align, and which one suits a question.

All of it is UTC arithmetic on epoch seconds: no interval is longer or shorter because of daylight saving or a leap year.
"""

from collections.abc import Iterable
from dataclasses import dataclass

DAY = 86_400
WEEK = 7 * DAY
_MONDAY = 4 * DAY
"""1970-01-05 was the first Monday: weeks start there. All shorter intervals divide it, so one offset serves them all."""


@dataclass(frozen=True)
class Resolution:
    """One level of history. `samples` is how many the REST reference keeps (4.1), `retention` how many seconds we keep."""

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
"""Finest first; each step is a multiple of the one before."""

BY_STEP = {resolution.step: resolution for resolution in RESOLUTIONS}
BY_NAME = {resolution.name: resolution for resolution in RESOLUTIONS}
_SHORT = {"s": "sec", "m": "min", "h": "hour", "d": "day", "w": "week"}


def named(name: str) -> Resolution | None:
    """By the reference's name, or one that clients are known to send: `1h`, `5m`, `1hours`. None when there is none."""
    wanted = name.strip().lower()
    digits = wanted[: len(wanted) - len(wanted.lstrip("0123456789"))]
    unit = wanted[len(digits) :].rstrip("s") or "s"
    return BY_NAME.get(digits + _SHORT.get(unit, unit))


def parent(step: int) -> int | None:
    """The next coarser step; None for the coarsest."""
    return next((resolution.step for resolution in RESOLUTIONS if resolution.step > step), None)


def child(step: int) -> int:
    """The next finer step, of which an interval of `step` is made."""
    return max(resolution.step for resolution in RESOLUTIONS if resolution.step < step)


def start(t: int, step: int) -> int:
    """The beginning of the interval that holds second `t`."""
    return t - (t - _MONDAY) % step


def starts(times: Iterable[int], step: int) -> set[int]:
    """The beginnings of all intervals that hold one of `times`."""
    return {start(t, step) for t in times}


def choose(first: int, last: int, max_points: int, now: int) -> Resolution:
    """The finest resolution that covers `first <= t < last` with at most `max_points` and still has its beginning.

    When none does both, the coarsest that is kept long enough: fewer points of the truth rather than a cut chart.
    """
    kept = [resolution for resolution in RESOLUTIONS if now - first <= resolution.retention] or [RESOLUTIONS[-1]]
    fitting = (resolution for resolution in kept if points(first, last, resolution.step) <= max_points)
    return next(fitting, kept[-1])


def points(first: int, last: int, step: int) -> int:
    """How many intervals touch `first <= t < last`."""
    return -(-(last - start(first, step)) // step) if first < last else 0
