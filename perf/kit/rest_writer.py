"""A client that writes through the REST API of one console continuously, and records which requests succeeded."""

import threading
import time
from itertools import pairwise

import httpx

PAUSE = 0.02


class RestWriter:
    """Changes a setting in the store over and over during the block."""

    def __init__(self, api: httpx.Client) -> None:
        self._api = api
        self.succeeded: list[tuple[float, float]] = []
        """When each successful request was sent, and when its response was received (monotonic clock)."""
        self.failures: list[tuple[float, str]] = []
        """When each failed request was sent, and why it failed."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "RestWriter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(PAUSE):
            number += 1
            sent_at = time.monotonic()
            try:
                reply = self._api.put("/v1/cluster/policy", json={"events_keep_days": 100 + number % 100})
            except httpx.TransportError as error:
                self.failures.append((sent_at, repr(error)))
                continue
            if reply.status_code == 200:
                self.succeeded.append((sent_at, time.monotonic()))
            else:
                self.failures.append((sent_at, reply.text))

    def longest_pause(self, since: float) -> float:
        """Return the longest time without a successful write between a moment and now."""
        times = [since, *(received_at for _, received_at in self.succeeded if received_at > since), time.monotonic()]
        return max(later - earlier for earlier, later in pairwise(times))
