"""When each node was last heard from."""

import time


class Pulses:
    """Written by the tasks that follow agents, read by the node watch. Times are in seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._heard: dict[int, float] = {}
        self._broken: set[int] = set()
        self._excused: dict[int, float] = {}
        """Seconds since the last sign of life that do not count as silence, by node."""
        self._started = time.monotonic()
        self.clocks: dict[int, float] = {}
        """Seconds by which a node's newest sample was ahead of the console's clock; negative if the clock or the sample is late."""

    def record_pulse(self, node_uid: int) -> None:
        self._heard[node_uid] = time.monotonic()
        self._excused.pop(node_uid, None)
        self._broken.discard(node_uid)

    def record_stream_end(self, node_uid: int) -> None:
        """Note that the stream of a node ended, which is an earlier and stronger sign than silence."""
        self._broken.add(node_uid)

    def exclude_from_silence(self, seconds: float) -> None:
        """Do not count the last `seconds` as silence, because this process could not read data from nodes."""
        for uid, heard in self._heard.items():
            since = time.monotonic() - heard
            self._excused[uid] = min(self._excused.get(uid, 0.0) + seconds, since)

    def seconds_since_heard(self, node_uid: int) -> float | None:
        """Return the seconds since the last sign of life, even if the stream broke; None if there was none."""
        return time.monotonic() - self._heard[node_uid] if node_uid in self._heard else None

    def silence(self, node_uid: int) -> float:
        """Return the seconds since the node was heard from; infinite if its stream broke since then.

        Nodes that were never heard from have FIRST_CONTACT seconds from the start of this console.
        """
        if node_uid not in self._heard:
            return time.monotonic() - self._started - FIRST_CONTACT_SECONDS
        if node_uid in self._broken:
            return float("inf")
        return time.monotonic() - self._heard[node_uid] - self._excused.get(node_uid, 0.0)


FIRST_CONTACT_SECONDS = 15.0
"""Seconds after the start of the console within which agents must send their first sign of life."""
