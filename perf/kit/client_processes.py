"""Clients in separate processes, their records, and the machine that they share."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from perf.kit.kernel import AUTOGROUP, changed
from perf.kit.scale import scaled

SATURATED_SECONDS = scaled(5.0, 1.0)


class ClientRecord:
    """Requests of a client, from the first to the last."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.errors: list[str] = record["errors"]
        self.wrong: int = record["wrong"]
        self._samples: list[tuple[float, float]] = record["samples"]

    def between(self, first: float, last: float) -> "ClientLatencies":
        """Return the latencies of the requests that were due in this time (Unix seconds)."""
        return ClientLatencies(sorted(latency for due, latency in self._samples if first <= due < last))

    def per_second(self) -> float:
        """Return the average number of requests per second."""
        return len(self._samples) / (self._samples[-1][0] - self._samples[0][0])


class ClientLatencies:
    """Latencies in milliseconds, measured from when each request was due."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self._sorted = seconds

    @property
    def p99(self) -> float:
        return 1000 * self._sorted[math.ceil(0.99 * len(self._sorted)) - 1]

    @property
    def worst(self) -> float:
        return 1000 * self._sorted[-1]


class ClientProcess:
    """Runs `python -m module arguments` from entering the context until `end`."""

    def __init__(self, module: str, *arguments: object) -> None:
        self._command = [sys.executable, "-m", module, *map(str, arguments)]

    def __enter__(self) -> "ClientProcess":
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    def end(self) -> ClientRecord:
        """Stop the client and return its record. Raises TimeoutExpired."""
        output, _ = self._process.communicate("stop\n", timeout=120)
        return ClientRecord(json.loads(output))


def traffic(host: str, port: int, keys: int) -> ClientProcess:
    """Return a client with sequential requests, 200 per second, that follows redirections: a low load that does not disturb
    measurements.
    """
    return ClientProcess("perf.kit.cluster_client", host, port, keys)


def open_loop(host: str, port: int, rate: float) -> ClientProcess:
    """Return a client with `rate` requests per second, each sent to its shard when it is due."""
    return ClientProcess("perf.kit.open_loop", host, port, rate)


def saturation(host: str, port: int) -> float:
    """Return the maximum number of replies per second that such a client gets."""
    with open_loop(host, port, 0) as client:
        time.sleep(SATURATED_SECONDS)
        return client.end().per_second()


@contextmanager
def without_autogroup() -> Iterator[str]:
    """Yield a note on how CPU time is shared.

    A kernel with autogroup (sched(7)) gives each session an equal share, and priorities only count within a session. It is intended
    for desktops; services and containers, which use separate control groups, are not affected.
    """
    with changed(AUTOGROUP, 0) as is_off:
        yield " (autogroup off)" if is_off else " (autogroup unchanged)"
