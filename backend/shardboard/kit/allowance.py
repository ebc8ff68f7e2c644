"""An amount that grows with time up to a maximum, and that is spent."""


class Allowance:
    """Full at first. Times are seconds of one monotonic clock."""

    def __init__(self, per_second: float, maximum: float, now: float) -> None:
        self._per_second = per_second
        self._maximum = maximum
        self._left = maximum
        self._at = now

    def spend(self, amount: float, now: float) -> bool:
        """Spend an amount, even if less is left. Return whether it was left."""
        self._left = min(self._left + (now - self._at) * self._per_second, self._maximum) - amount
        self._at = now
        return self._left >= 0

    def left(self, now: float) -> float:
        return min(self._left + (now - self._at) * self._per_second, self._maximum)
