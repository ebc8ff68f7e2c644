"""When each node was last heard."""

import time


class Pulses:
    """Written by who follows agents, read by who watches over nodes. Times are of the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._heard: dict[int, float] = {}
        self._broken: set[int] = set()
        self._excused: dict[int, float] = {}
        """By node: seconds since it was heard that do not count as silence."""
        self._started = time.monotonic()
        self.clocks: dict[int, float] = {}
        """By how many seconds a node's newest sample was ahead of our clock; behind also when it came late."""

    def heard(self, node_uid: int) -> None:
        self._heard[node_uid] = time.monotonic()
        self._excused.pop(node_uid, None)
        self._broken.discard(node_uid)

    def broke(self, node_uid: int) -> None:
        """The stream of a node ended, which tells more and sooner than silence."""
        self._broken.add(node_uid)

    def excuse(self, seconds: float) -> None:
        """Do not count the last `seconds` as silence: this process could not read what nodes had sent."""
        for uid, heard in self._heard.items():
            since = time.monotonic() - heard
            self._excused[uid] = min(self._excused.get(uid, 0.0) + seconds, since)

    def unheard(self, node_uid: int) -> float | None:
        """Seconds since its last sign of life, whether its stream broke or not; None when it was never heard."""
        return time.monotonic() - self._heard[node_uid] if node_uid in self._heard else None

    def silence(self, node_uid: int) -> float:
        """Seconds since the node was heard; infinite when its stream broke after that. A node that was never heard is given
        time from the start of this console on."""
        if node_uid not in self._heard:
            return time.monotonic() - self._started - FIRST_CONTACT
        if node_uid in self._broken:
            return float("inf")
        return time.monotonic() - self._heard[node_uid] - self._excused.get(node_uid, 0.0)


FIRST_CONTACT = 15.0
"""Seconds that agents have to be heard for the first time after the console started."""
