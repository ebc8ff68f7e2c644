"""When each node was last heard from."""

import time
from collections.abc import Callable

from shardboard.contract import PULSE_SECONDS, RARE_PULSE_SECONDS
from shardboard.domain.cluster.agent_reach import SILENT_SECONDS
from shardboard.kit.active_clock import ACTIVE


class Pulses:
    """Written by the tasks that follow agents, read by the node watch. Time in which the console could not read is not silence."""

    def __init__(self, clock: Callable[[], float] = ACTIVE.now) -> None:
        self._clock = clock
        self._last_pulses: dict[int, tuple[float, float]] = {}
        """Last sign of life by node, by `clock` and by the monotonic clock."""
        self._broken: set[int] = set()
        self._gap_ends: dict[int, float] = {}
        """End of the last gap of at least GAP_SECONDS by node, by the monotonic clock."""
        self._started = clock()
        self.clocks: dict[int, float] = {}
        """Seconds by which a node's newest sample was ahead of the console's clock; negative if the clock or the sample is late."""

    def record_pulse(self, node_uid: int, *, is_rare: bool = False) -> None:
        """Note a sign of life. A rare one postpones silence by the time in which no other one was requested."""
        delay = RARE_PULSE_SECONDS - PULSE_SECONDS if is_rare else 0.0
        if self.seconds_since_gap(node_uid) == 0:
            self._gap_ends[node_uid] = time.monotonic()
        self._last_pulses[node_uid] = self._clock() + delay, time.monotonic()
        self._broken.discard(node_uid)

    def record_stream_end(self, node_uid: int) -> None:
        """Note that the stream of a node ended, which is an earlier and stronger sign than silence."""
        self._broken.add(node_uid)

    def seconds_since_pulse(self, node_uid: int) -> float | None:
        """Return the seconds since the last sign of life, with pauses and even if the stream broke; None if there was none."""
        return time.monotonic() - self._last_pulses[node_uid][1] if node_uid in self._last_pulses else None

    def seconds_since_gap(self, node_uid: int) -> float:
        """Return the seconds since the last gap between signs of life, 0 during a gap, and infinity if there was none. A gap also
        results from a pause of this console."""
        silence = self.seconds_since_pulse(node_uid)
        if silence is None:
            return float("inf")
        if silence >= GAP_SECONDS:
            return 0.0
        return time.monotonic() - self._gap_ends.get(node_uid, float("-inf"))

    def count_reached(self) -> int:
        """Return the number of nodes whose agents this console reaches."""
        return sum(self.is_reached(node_uid) for node_uid in self._last_pulses)

    def is_reached(self, node_uid: int) -> bool:
        """Return whether the agent of the node sent a sign of life recently."""
        return node_uid in self._last_pulses and self.silence(node_uid) <= SILENT_SECONDS

    def silence(self, node_uid: int) -> float:
        """Return the seconds since the node was heard from; infinite if its stream broke since then.

        Nodes that were never heard from have FIRST_CONTACT seconds from the start of this console.
        """
        if node_uid not in self._last_pulses:
            return self._clock() - self._started - FIRST_CONTACT_SECONDS
        if node_uid in self._broken:
            return float("inf")
        return self._clock() - self._last_pulses[node_uid][0]


GAP_SECONDS = 2.0
"""Seconds without a sign of life after which it is unknown how the node was in the meantime. Rare pulses are more frequent."""
FIRST_CONTACT_SECONDS = 15.0
"""Seconds after the start of the console within which agents must send their first sign of life."""
