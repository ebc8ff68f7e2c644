"""Clock of the time in which this process could run.

A stopped process, a machine that swaps and a paused virtual machine receive nothing for a while. Measured with another clock, all
nodes are silent afterwards, although it was the console that did not listen. This clock does not count such pauses.
"""

import asyncio
import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
TOLERANCE = 0.1
"""Seconds by which a tick may be late on a busy machine."""
PAUSE_SECONDS = 1.0
"""Duration from which a pause makes observations useless, instead of only late."""


class ActiveClock:
    """Measures while `run` is running; otherwise it equals the monotonic clock.

    A pause is detected at the first use after it, whichever task runs first.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic, self._wall = monotonic, wall
        self._ticked: tuple[float, float] | None = None
        """Monotonic and wall-clock time of the last tick."""
        self._paused = 0.0
        self._pauses = 0
        self._last_pause = float("-inf")

    def now(self) -> float:
        """Return seconds of an arbitrary start, without pauses."""
        self._detect()
        return self._monotonic() - self._paused

    @property
    def pauses(self) -> int:
        """Number of pauses of at least PAUSE_SECONDS. If it has changed, earlier observations are outdated."""
        self._detect()
        return self._pauses

    def seconds_since_pause(self) -> float:
        """Return the seconds since the end of the last pause of at least PAUSE_SECONDS; infinite if there was none."""
        self._detect()
        return self._monotonic() - self._last_pause if self._ticked is not None else float("inf")

    async def run(self) -> None:
        """Measure until cancelled."""
        try:
            while True:
                self._detect()
                self._ticked = self._monotonic(), self._wall()
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._ticked = None

    def _detect(self) -> None:
        if self._ticked is None:
            return
        now, wall_time = self._monotonic(), self._wall()
        elapsed, elapsed_wall = now - self._ticked[0], wall_time - self._ticked[1]
        delay = elapsed - TICK_SECONDS
        # The monotonic clock stands still while a machine is suspended, and the wall clock jumps afterwards.
        duration = max(delay, elapsed_wall - TICK_SECONDS)
        if duration <= TOLERANCE:
            return
        self._paused += max(0.0, delay)
        self._ticked = now - min(elapsed, TICK_SECONDS), wall_time - min(elapsed, TICK_SECONDS)
        if duration >= PAUSE_SECONDS:
            self._pauses, self._last_pause = self._pauses + 1, now
            log.warning("this process was paused for %.1f s; what it observed before is outdated", duration)


ACTIVE = ActiveClock()
"""The clock of this process."""
