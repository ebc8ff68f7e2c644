"""Which consoles are slowed down by the store, from the durations of their last queries."""

from collections.abc import Collection, Mapping

SLOW_MS = 300.0
"""A quarter of the time for which a leader may act without a renewal."""
RAISE_SECONDS = 6.0
CLEAR_SECONDS = 30.0
"""Time for which queries must be slow, or no longer slow."""


class StoreDelays:
    """Consoles whose queries have been slow for some time. Durations fluctuate around the threshold."""

    def __init__(self, slow: Collection[str] = ()) -> None:
        self.slow = set(slow)
        self._changing_since: dict[str, float] = {}

    def update(self, delays: Mapping[str, float], now: float) -> None:
        """Update `slow` with the durations in milliseconds of all running consoles, by their ID."""
        self.slow &= delays.keys()
        self._changing_since = {uid: since for uid, since in self._changing_since.items() if uid in delays}
        for uid, delay in delays.items():
            is_slow = delay > SLOW_MS
            if is_slow == (uid in self.slow):
                self._changing_since.pop(uid, None)
            elif now - self._changing_since.setdefault(uid, now) >= (RAISE_SECONDS if is_slow else CLEAR_SECONDS):
                del self._changing_since[uid]
                self.slow ^= {uid}
