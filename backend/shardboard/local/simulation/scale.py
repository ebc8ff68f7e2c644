"""`shardboard simulate scale`: measure a real console that manages simulated nodes.

The console is a separate process with its own store. It communicates with the agents as with real ones: over HTTPS on loopback
addresses. All processes and files are removed at the end, even if this process is killed.
"""

import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from shardboard.domain.cluster.actions import ActionStatus
from shardboard.local.cluster import LocalCluster, LocalError, ok, private_cluster
from shardboard.local.lifeline import lifeline
from shardboard.local.postgres import PostgresUnavailable, PrivateServer, server_account
from shardboard.local.simulation import measurements
from shardboard.local.simulation.agent_process import AgentProcess
from shardboard.local.simulation.figures import Creation, Figures

MAX_PRIMARIES = 512
"""Of one database."""
MEMORY_SIZE = 100_000_000_000
"""Of each database in bytes, as published."""
STANDARD = [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}]
TOKEN_SECONDS = 3600

Say = Callable[[str], None]


@dataclass(frozen=True)
class ScaleOptions:
    nodes: int
    shards: int
    """In total: with replicas, half of them are primaries."""
    seconds: int
    """Seconds for which the collection of samples is measured."""
    ops: int = 0
    """Simulated requests per second and primary."""
    replicas: bool = True
    postgres: bool = False
    limit: int = 900
    """Seconds after which the run ends with what was measured."""

    def database_shards(self) -> list[int]:
        """Return the number of shards of each database: as few databases as possible, of equal size. Raises ValueError."""
        copies = 2 if self.replicas else 1
        if self.shards < copies or self.shards % copies:
            raise ValueError("with replicas, the number of shards must be even")
        primaries = self.shards // copies
        count = -(-primaries // MAX_PRIMARIES)
        return [copies * ((primaries + index) // count) for index in range(count)]


def run(options: ScaleOptions, say: Say) -> Figures:
    """Run the simulation and return its figures. A step that fails ends it, and the figures contain the reason."""
    sizes = options.database_shards()
    figures = Figures(
        nodes=options.nodes,
        shards=options.shards,
        replicas=options.replicas,
        ops=options.ops,
        seconds=options.seconds,
        store="PostgreSQL" if options.postgres else "SQLite",
        cores=psutil.cpu_count() or 1,
    )
    directory = Path(tempfile.mkdtemp(prefix="shardboard-simulation-"))
    with lifeline(directory, "--delete"):
        try:
            with _store(directory, options) as environment:
                cluster = private_cluster(directory / "console", nodes=options.nodes, environment=environment)
                try:
                    _Run(cluster, options, figures, say).measure(sizes)
                finally:
                    cluster.stop()
        except (LocalError, PostgresUnavailable, httpx.HTTPError, OSError) as error:
            figures.failure = str(error) or type(error).__name__
    return figures


@contextmanager
def _store(directory: Path, options: ScaleOptions) -> Iterator[dict[str, str]]:
    """Run PostgreSQL if it is requested. Yield the variables with which the console uses it. Raises PostgresUnavailable."""
    if not options.postgres:
        yield {}
        return
    if os.geteuid() == 0:  # the server runs as another user, who must be able to enter the directory
        directory.chmod(0o711)
    (directory / "postgres").mkdir(mode=0o700)
    server = PrivateServer(directory / "postgres", server_account())
    try:
        server.start()
        yield {"SHARDBOARD_DATABASE_URL": server.url}
    finally:
        server.stop()


class _Run:
    """The steps of one run, in their order."""

    def __init__(self, cluster: LocalCluster, options: ScaleOptions, figures: Figures, say: Say) -> None:
        self._cluster = cluster
        self._options = options
        self._figures = figures
        self._say = say
        self._end = time.monotonic() + options.limit

    def measure(self, sizes: list[int]) -> None:
        self._say(f"Starting a console and {self._options.nodes} simulated agents…")
        self._cluster.start_console()
        agents = AgentProcess(self._cluster)
        self._join(agents)
        uids = [self._create(shards) for shards in sizes]
        self._figures.databases = len(uids)
        self._say(f"Collecting samples for {self._options.seconds} s…")
        measured = measurements.Measurements(self._cluster, agents, self._remaining)
        measured.collect(self._figures, uids)
        self._say("Measuring requests…")
        for times in measured.request_times(uids):
            self._figures.requests.append(times)
        if self._options.replicas:
            self._say("Killing primaries and nodes…")
            for times in measured.failover_times():
                self._figures.failovers.append(times)

    def _remaining(self) -> float:
        """Return the seconds until the limit. Raises LocalError after it."""
        if (remaining := self._end - time.monotonic()) <= 0:
            raise LocalError(f"the limit of {self._options.limit} s was reached")
        return remaining

    def _join(self, agents: AgentProcess) -> None:
        start = time.monotonic()
        usage = measurements.Usage(self._cluster)
        tokens = {}
        for address in self._cluster.addresses:
            body = {"address": address, "ttl": TOKEN_SECONDS}
            tokens[address] = ok(self._cluster.api.post("/v1/join_tokens", json=body))["token"]
            self._remaining()
        agents.request(
            "join", seconds=self._remaining(), console=self._cluster.url, tokens=tokens, ops=self._options.ops
        )
        self._cluster.wait_until(
            lambda: bool(agents.request("counters")["reached"] == self._options.nodes),
            "the console does not follow all agents",
            self._remaining(),
        )
        self._figures.join_seconds = time.monotonic() - start
        self._figures.join_resources = measurements.Usage(self._cluster).since(usage)
        self._say(f"All nodes have joined after {self._figures.join_seconds:.1f} s.")

    def _create(self, shards: int) -> int:
        """Create a database over all nodes, and return its uid when it is active."""
        options = self._options
        body: dict[str, Any] = {
            "name": f"simulated-{len(self._figures.creations) + 1}",
            "memory_size": MEMORY_SIZE,
            "sharding": True,
            "shards_count": shards // 2 if options.replicas else shards,
            "replication": options.replicas,
            "data_internode_encryption": False,
            "oss_cluster": True,
            "proxy_policy": "all-master-shards",
            "shards_placement": "sparse",
            "shard_key_regex": STANDARD,
            "authentication_redis_pass": secrets.token_urlsafe(12),
        }
        start = time.monotonic()
        usage = measurements.Usage(self._cluster)
        bdb = ok(self._cluster.api.post("/v1/bdbs", json=body))
        uid: int = bdb["uid"]

        def is_active() -> bool:
            # The reply about a database contains data of all of its shards. Often repeated, it would delay the creation.
            try:
                action = ok(self._cluster.api.get(f"/v2/actions/{bdb['action_uid']}"))
            except httpx.TimeoutException:
                return False
            if action["status"] == ActionStatus.FAILED:
                raise LocalError(f"the database was not created: {action['additional_info']['error']}")
            return bool(action["status"] == ActionStatus.COMPLETED)

        self._cluster.wait_until(is_active, "the database did not become active", self._remaining())
        seconds = time.monotonic() - start
        resources = measurements.Usage(self._cluster).since(usage)
        self._figures.creations.append(Creation(shards, min(shards, options.nodes), seconds, resources))
        self._say(f"A database of {shards} shards is active after {seconds:.1f} s.")
        return uid
