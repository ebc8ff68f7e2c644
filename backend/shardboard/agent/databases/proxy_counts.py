"""Activity of the proxy in each second, from its reports, which count from the start of its process."""

import asyncio
from collections.abc import Mapping
from typing import Any

from shardboard.contract import EndpointReading, LateProxyReading, ProxyReading

KINDS = ("read", "write", "other")
ADDED_KIND = "blocking"
"""A kind that a proxy of the previous release counts as `other`."""
IGNORED_ERRORS = frozenset({"moved", "ask", "refused"})
"""Redirections and failed shard connections, which the proxy follows and retries, and redirections of cluster-aware clients."""
MAX_READINGS = 10
"""Number of readings that are kept until they are taken."""


class ProxyCounts:
    """Keeps the latest report, and the differences between reports until they are taken."""

    def __init__(self) -> None:
        self._before: Mapping[str, Any] | None = None
        self._second = 0
        self._readings: dict[int, ProxyReading] = {}
        """By the second in which the proxy reported."""
        self._grown = asyncio.Condition()
        self._waking: set[asyncio.Task[None]] = set()

    def add(self, report: Mapping[str, Any]) -> None:
        """Add a `metrics` report."""
        second = int(report["at"] // 1_000)
        if second == self._second and self._before is not None and self._before["pid"] == report["pid"]:
            return  # a delayed report and the next one in the same second: the following one contains its counts
        previous, self._before = self._before, report
        if previous is None or previous["pid"] != report["pid"]:
            # For a process that was running before this agent the previous counters are unknown. A new process started at zero.
            is_new = report["at"] - report["started_at"] < 3_000
            previous = {"at": report["started_at"], "databases": []} if is_new else None
        self._second = second
        if previous is not None:
            self._readings[second] = _difference(report, previous)
        if len(self._readings) > MAX_READINGS:
            del self._readings[min(self._readings)]
        task = asyncio.get_running_loop().create_task(self._wake())
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)

    async def reading_at(self, second: int, timeout: float) -> ProxyReading | None:
        """Return the reading that ended with `second`; None if it does not arrive within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout), self._grown:
                await self._grown.wait_for(lambda: self._second >= second)
        except TimeoutError:
            return None
        return self._readings.pop(second, None)

    def take_late(self, second: int) -> LateProxyReading | None:
        """Return the oldest reading of the seconds before `second` that `reading_at` has not returned."""
        oldest = min(self._readings, default=second)
        return LateProxyReading(t=oldest, reading=self._readings.pop(oldest)) if oldest < second else None

    async def _wake(self) -> None:
        async with self._grown:
            self._grown.notify_all()


def _difference(now: Mapping[str, Any], before: Mapping[str, Any]) -> ProxyReading:
    previous_by_uid = {database["uid"]: database for database in before["databases"]}
    return ProxyReading(
        seconds=max(0.001, (now["at"] - before["at"]) / 1_000),
        pid=now["pid"],
        started_ms=max(0, int(now["started_at"])),  # also if the clock of the machine is wrong
        threads=now["threads"],
        cpu=now["cpu_seconds"],
        rss=now["rss_bytes"],
        databases={
            database["uid"]: _endpoint(database, previous_by_uid.get(database["uid"], {}))
            for database in now["databases"]
        },
    )


def _endpoint(now: Mapping[str, Any], before: Mapping[str, Any]) -> EndpointReading:
    def increase(name: str) -> float:
        return float(now[name] - before.get(name, 0))

    def of_kind(name: str, kind: str) -> float:
        return float(now[name].get(kind, 0) - before.get(name, {}).get(kind, 0))

    def by_kind(name: str) -> list[float]:
        return [of_kind(name, kind) for kind in KINDS]

    counts = [increase(name) for name in ("bytes_in", "bytes_out", "connections_total", "connections_rejected")]
    added = [of_kind(name, ADDED_KIND) for name in ("requests", "responses")]
    errors = {kind: count - before.get("errors", {}).get(kind, 0) for kind, count in now["errors"].items()}
    return EndpointReading(
        values=[*by_kind("requests"), *by_kind("responses"), *counts, float(now["connections"]), *added],
        errors={kind: count for kind, count in errors.items() if count > 0 and kind not in IGNORED_ERRORS},
        latency={
            kind: _buckets(measured, before.get("latency", {}).get(kind, []))
            for kind, measured in now["latency"].items()
            if kind in (*KINDS, ADDED_KIND)
        },
    )


def _buckets(now: list[tuple[int, int]], before: list[tuple[int, int]]) -> list[tuple[int, int]]:
    previous = dict(before)
    return [(value, count - previous.get(value, 0)) for value, count in now if count > previous.get(value, 0)]
