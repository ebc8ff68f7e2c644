"""The last minutes of many series, one value per metric and second, in flat arrays: an unknown second is NaN."""

from array import array
from collections.abc import Sequence
from math import isnan, nan

from shardboard.domain.rates import Value


class Ring:
    """`width` values for each of the newest `seconds` seconds; older ones are overwritten."""

    def __init__(self, width: int, seconds: int) -> None:
        self._width = width
        self._seconds = seconds
        self._values = array("f", [nan]) * (width * seconds)
        self._stamps = array("q", [0]) * seconds

    def put(self, second: int, row: Sequence[Value]) -> None:
        """Store one second; seconds may come late and out of order, but none older than what has taken its place."""
        slot = second % self._seconds
        if second < self._stamps[slot]:
            return
        self._stamps[slot] = second
        start = slot * self._width
        self._values[start : start + self._width] = array("f", [nan if value is None else value for value in row])

    def get(self, second: int) -> list[Value] | None:
        """The row of one second, or None when nothing was stored for it."""
        slot = second % self._seconds
        if self._stamps[slot] != second:
            return None
        start = slot * self._width
        return [_value(value) for value in self._values[start : start + self._width]]

    def columns(self, first: int, count: int) -> list[list[Value]]:
        """One list per metric for `count` seconds from `first`; None where there is no value."""
        rows = [self.get(second) for second in range(first, first + count)]
        empty: list[Value] = [None] * self._width
        return [list(column) for column in zip(*(row or empty for row in rows), strict=True)]


def _value(value: float) -> Value:
    return None if isnan(value) else float(f"{value:.7g}")
