"""Measurements of a console with simulated agents: collection of samples, REST requests, and failover decisions."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psutil

from shardboard.local.cluster import LocalCluster, LocalError, ok
from shardboard.local.simulation.agent_process import AgentProcess
from shardboard.local.simulation.figures import Collection, Figures, Resources, Stream, Times

SETTLE_SECONDS = 10
"""Seconds between the last change and the measurement."""
STORED_SECONDS = 30.0
"""Seconds until which the newest second must be in the store. Seconds that are stored later count as missed."""
REQUESTS, REQUEST_SECONDS = 20, 20.0
"""Requests of each kind, and seconds after which no further one is sent."""
KILLED_SHARDS, LOST_NODES = 5, 3
"""Failures, each on another node. Of small clusters, a third of the nodes loses a shard, and a third is lost."""
DECISION_SECONDS = 30.0
"""Seconds in which the console must request all promotions."""
POLL_SECONDS = 0.1
QUIET_SECONDS = 3.0
"""Seconds between two failures."""


class Measurements:
    """`remaining` returns the seconds until the end of the run, and raises LocalError after it."""

    def __init__(self, cluster: LocalCluster, agents: AgentProcess, remaining: Callable[[], float]) -> None:
        self._cluster = cluster
        self._agents = agents
        self._remaining = remaining

    def collect(self, figures: Figures, uids: Sequence[int]) -> None:
        """Wait for the time to measure. Add what the console used, received and missed."""
        self._wait(SETTLE_SECONDS)
        self._agents.request("counters")
        events = self._lost_agents()
        start, first = Usage(self._cluster), int(time.time()) + 1
        before = self._agents.request("counters")
        self._wait(figures.seconds)
        after = self._agents.request("counters")
        last, end = int(time.time()), Usage(self._cluster)
        figures.resources = end.since(start)
        seconds = after["at"] - before["at"]

        def rate(name: str) -> float:
            return float((after[name] - before[name]) / seconds)

        figures.stream = Stream(
            rate("samples"), rate("shard_samples"), rate("pulses"), rate("bytes"), latest=after["latest"]
        )
        self._wait_until_stored(uids[-1], last)
        missed = sum(self._missed(uid, first, last) for uid in uids)
        figures.collection = Collection(missed, figures.shards * (last - first), self._lost_agents() - events)

    def request_times(self, uids: Sequence[int]) -> Iterator[Times]:
        """Measure requests while samples are collected."""
        for path in ("/v1/bdbs", "/v1/shards", "/v1/nodes", f"/v1/bdbs/stats/{uids[0]}", "/v1/bdbs/stats/last"):
            yield Times.of(f"GET {path}", list(self._times(path)))

    def failover_times(self) -> Iterator[Times]:
        """Kill primaries one after another, then nodes. Measure the time until the console requests the promotions of replicas.

        Small clusters can have no further primary with a replica. A figure without failures is left out.
        """
        from_death, from_report, nodes = [], [], []
        avoid: list[int] = []
        third = max(1, len(self._cluster.addresses) // 3)
        for index in range(min(KILLED_SHARDS, third)):
            # Agents report once per second: failures are spread over the second.
            self._wait(QUIET_SECONDS + index / KILLED_SHARDS)
            if not (failure := self._agents.request("kill_shard", avoid=avoid))["killed"]:
                break
            requested, reported = self._promotions(failure)
            avoid.append(failure["node"])
            from_death.append(max(requested) - failure["at"])
            from_report.append(max(requested) - max(reported))
        yield from _times("Killed primary: promotion requested after its end", from_death)
        yield from _times("Killed primary: promotion requested after the sample that reports it", from_report)
        for _ in range(min(LOST_NODES, third)):
            self._wait(QUIET_SECONDS)
            if not (failure := self._agents.request("lose_node", avoid=avoid))["killed"]:
                break
            requested, _ = self._promotions(failure)
            avoid.append(failure["node"])
            nodes.append(max(requested) - failure["at"])
        yield from _times("Lost node: last promotion requested", nodes)

    def _promotions(self, failure: dict[str, Any]) -> tuple[list[float], list[float]]:
        """Wait until all promotions are requested. Return the times of the requests and of the reports of ended shards."""
        deadline = time.monotonic() + min(DECISION_SECONDS, self._remaining())
        while True:
            found = self._agents.request("promotions", uids=failure["promotable"], killed=failure["killed"])
            if len(found["requested"]) == len(failure["promotable"]):
                return found["requested"], found["reported"]
            if time.monotonic() > deadline:
                count = len(failure["promotable"]) - len(found["requested"])
                raise LocalError(f"the console did not request {count} promotions within {DECISION_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _times(self, path: str) -> Iterator[float]:
        end = time.monotonic() + REQUEST_SECONDS
        for _ in range(REQUESTS):
            start = time.monotonic()
            ok(self._cluster.api.get(path, timeout=self._remaining()))
            yield time.monotonic() - start
            if time.monotonic() > end:
                return

    def _missed(self, uid: int, first: int, last: int) -> int:
        """Return the shard-seconds of a database without a value, as in charts."""
        query: dict[str, Any] = {"topic": f"shards:{uid}", "metrics": "used_memory", "from": first, "to": last}
        history = ok(
            self._cluster.api.get("/v1/history", params={**query, "max_points": 4000}, timeout=self._remaining())
        )
        known = sum(value is not None for columns in history["series"].values() for value in columns[0])
        shards = ok(self._cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "shard_list"}))["shard_list"]
        return len(shards) * (last - first) - known

    def _wait_until_stored(self, uid: int, last: int) -> None:
        """Wait until the second before `last` is complete in the store."""
        end = time.monotonic() + STORED_SECONDS
        while self._missed(uid, last - 1, last) and time.monotonic() < end:
            self._wait(1.0)

    def _lost_agents(self) -> int:
        rows = ok(self._cluster.api.get("/v1/logs", params={"source": "node", "severity": "WARNING"}))
        return sum(row["type"] == "node_agent_lost" for row in rows)

    def _wait(self, seconds: float) -> None:
        """Wait. Raises LocalError if a process ends, or at the end of the run."""
        end = time.monotonic() + seconds
        while (pause := min(1.0, end - time.monotonic())) > 0:
            time.sleep(pause)
            self._cluster.check()
            self._remaining()


class Usage:
    """CPU seconds of the processes of the run and of the machine, until now."""

    def __init__(self, cluster: LocalCluster) -> None:
        processes = {name: psutil.Process(child.pid) for name, child in cluster.children.items()}
        self._seconds = {name: _cpu_seconds(process) for name, process in processes.items()}
        self._megabytes = processes["console"].memory_info().rss / 1e6
        times = psutil.cpu_times()
        self._busy = (
            sum(times) - times.idle - times.iowait - getattr(times, "guest", 0) - getattr(times, "guest_nice", 0)
        )
        self._at = time.monotonic()

    def since(self, start: "Usage") -> Resources:
        elapsed = self._at - start._at
        console, agents = ((self._seconds[name] - start._seconds[name]) / elapsed for name in ("console", "agents"))
        busy = (self._busy - start._busy) / elapsed
        return Resources(
            console_cores=console,
            console_megabytes=self._megabytes,
            agents_cores=agents,
            other_cores=max(0.0, busy - console - agents),
            load_average=os.getloadavg()[0],
        )


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _times(name: str, values: Sequence[float]) -> Iterator[Times]:
    if values:
        yield Times.of(name, values)
