"""The last minutes of many series in flat arrays, one value per metric and second. An unknown value is NaN."""

from array import array
from collections.abc import Sequence
from math import isfinite, isnan, nan

from shardboard.domain.metrics.rates import Value


class Ring:
    """`width` values for each of the newest `seconds` seconds; older values are overwritten."""

    def __init__(self, width: int, seconds: int) -> None:
        self._width = width
        self._seconds = seconds
        self._values = array("f", [nan]) * (width * seconds)
        self._stamps = array("q", [0]) * seconds

    def put(self, second: int, row: Sequence[Value]) -> None:
        """Store one second; see `put_packed`."""
        self.put_packed(second, array("f", [nan if value is None else value for value in row]))

    def put_packed(self, second: int, row: "array[float]") -> None:
        """Store one second. Seconds may arrive late and out of order; a second whose slot holds a newer one is ignored.

        If a second is stored again, values that are unknown now keep their former value: the first sample that a restarted
        console receives has no predecessor to compute rates from, but the rates may have been known before the restart.
        """
        slot = second % self._seconds
        start = slot * self._width
        if second < self._stamps[slot]:
            return
        if second == self._stamps[slot]:
            previous = self._values[start : start + self._width]
            row = array("f", [old_value if isnan(new) else new for new, old_value in zip(row, previous, strict=True)])
        self._stamps[slot] = second
        self._values[start : start + self._width] = row

    def get(self, second: int, width: int | None = None) -> list[Value] | None:
        """Return the row of one second, or its first `width` values; None if nothing was stored for it."""
        row = self.packed(second)
        return [_value(value) for value in row[:width]] if row is not None else None

    def value(self, second: int, index: int) -> Value:
        """Return one metric of one second; None if it is unknown."""
        slot = second % self._seconds
        return _value(self._values[slot * self._width + index]) if self._stamps[slot] == second else None

    def packed(self, second: int) -> "array[float] | None":
        """Return the row of one second, with NaN for unknown values; None if nothing was stored for it."""
        slot = second % self._seconds
        if self._stamps[slot] != second:
            return None
        start = slot * self._width
        return self._values[start : start + self._width]

    def newest_known(self, second: int, count: int, width: int) -> list[Value] | None:
        """Return the newest known value of each of the first `width` metrics in the `count` seconds that end with `second`; None if
        nothing was stored for them."""
        values = array("f", [nan]) * width
        unknown: list[int] | range = range(width)
        is_stored = False
        for t in range(second, second - count, -1):
            if (row := self.packed(t)) is None:
                continue
            is_stored = True
            for index in unknown:
                values[index] = row[index]
            if not (unknown := [index for index in unknown if isnan(values[index])]):
                break
        return [_value(value) for value in values] if is_stored else None

    def columns(self, first: int, count: int, width: int | None = None) -> list[list[Value]]:
        """Return one list for each of the first `width` metrics, for `count` seconds from `first`; None where there is no value."""
        width = self._width if width is None else width
        rows = [self.get(second, width) for second in range(first, first + count)]
        empty: list[Value] = [None] * width
        return [list(column) for column in zip(*(row or empty for row in rows), strict=True)]


def _value(value: float) -> Value:
    return float(f"{value:.7g}") if isfinite(value) else None
