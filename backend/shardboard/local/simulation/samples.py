"""Samples of simulated nodes: one per node and second, with the values, size and encoding of a real agent's.

The values are those of shards without keys, recorded from Valkey 9.1.2. Counters grow with the simulated requests.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from math import exp, log, pi, sqrt

from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.contract import NODE_FIELDS, SHARD_FIELDS, EndpointReading, ProxyReading, Sample, ShardSpec
from shardboard.driver.interfaces import NodeRef
from shardboard.local.simulation.agents import CORES, MEMORY, PROBES_PER_SECOND, SimulatedAgents

MEDIAN_MICROS, SIGMA = 600, 0.35
"""Simulated latency of requests: a log-normal distribution, P99 1.35 ms."""
BYTES_IN, BYTES_OUT = 78.0, 61.0
"""Bytes of a request and of its reply, half of them SET and half of them GET, with values of 64 bytes."""
CPU_SECONDS = 6e-6
"""CPU time of a shard for one request."""

_IDLE_SHARD = {
    "used_memory": 3051736.0,
    "used_memory_rss": 11931648.0,
    "fragmentation": 4.01,
    "memory_peak": 3112528.0,
    "memory_lua": 31744.0,
    "memory_not_evictable": 0.0,
    "allocator_allocated": 3312864.0,
    "allocator_active": 3661824.0,
    "allocator_resident": 8736768.0,
    "clients": 3.0,
    "connections": 21.0,
    "connection_limit": 9983.0,
    "process_cpu_user": 1.203415,
    "process_cpu_system": 1.341868,
    "main_cpu_system": 1.339724,
    "cpu": 2.541126,
    "fork_cpu_user": 0.001342,
    "fork_cpu_system": 0.002815,
    "engine_version": 90102.0,
    "sync_full": 1.0,
    "ping_ms": 0.184,
    "ping_p50_ms": 0.071,
}
"""Values that are not 0."""
_SHARD_INDEX = {name: index for index, name in enumerate(SHARD_FIELDS)}
_BASE_ROW = [_IDLE_SHARD.get(name, 0.0) for name in SHARD_FIELDS]
_PINGS = (64, 71, 68, 184, 73, 70, 66, 69, 77, 71)
"""Duration of PINGs in microseconds, one second of one shard."""


class NodeSampler:
    """Makes the samples of one node."""

    def __init__(self, agents: SimulatedAgents, node: NodeRef, ops: int, ring: SampleRing) -> None:
        """Each primary executes `ops` requests per second."""
        self._agents = agents
        self._node = node
        self._ops = ops
        self._ring = ring
        self._started_at = time.time()

    def sample(self, second: int) -> Sample:
        """Return the sample of a second, and add it to the ring."""
        agents, running = self._agents, self._agents.running[self._node.uid]
        died = {uid: agents.died[uid] for uid in running if uid in agents.died}
        living = {uid: spec for uid, spec in running.items() if uid not in died}
        pings: dict[int, list[int]] = defaultdict(list)
        primaries: dict[int, int] = defaultdict(int)
        shards = {}
        for uid, spec in living.items():
            is_primary = agents.databases[spec.bdb_uid].is_primary(spec.engine_id)
            shards[uid] = self._shard_row(spec, second, is_primary=is_primary)
            pings[spec.bdb_uid] += _PINGS[:PROBES_PER_SECOND]
            primaries[spec.bdb_uid] += is_primary
        sample = Sample(
            seq=self._ring.seq + 1,
            boot=self._ring.boot,
            t=second,
            at=time.time(),
            node=self._node_row(second, len(living)),
            shards=shards,
            missing={},
            died=died,
            proxy=self._proxy(primaries),
            pings=pings,
        )
        self._ring.append(sample)
        return sample

    def _shard_row(self, spec: ShardSpec, second: int, *, is_primary: bool) -> list[float | None]:
        row: list[float | None] = [*_BASE_ROW]
        database, started_at = self._agents.databases[spec.bdb_uid], self._agents.started_at[spec.uid]
        primary = database.primary_of(spec.engine_id)
        row[: len(_CONDITION)] = [
            1000.0 + spec.uid,
            started_at,
            float(is_primary),
            0.0,
            float(is_primary or primary is None or not primary.is_dead),
        ]
        row[_REPLICAS] = float(len(database.replicas_of(spec.engine_id)))
        row[_CLUSTER_DOWN] = 0.0 if is_primary else None  # agents query primaries only
        if is_primary and self._ops:
            requests = float(max(0, second - int(started_at)) * self._ops)
            for index, per_request in _GROWTH:
                row[index] = (row[index] or 0.0) + round(requests * per_request, 6)
            row[_INSTANTANEOUS] = float(self._ops)
        return row

    def _node_row(self, second: int, shards: int) -> list[float | None]:
        age = second - self._started_at + 3600
        busy = min(float(CORES), 0.3 + shards * (0.003 + self._ops * CPU_SECONDS))
        values = {
            "cpu_user": 0.6 * busy * age,
            "cpu_system": 0.4 * busy * age,
            "cpu_iowait": 0.01 * age,
            "cpu_idle": (CORES - busy) * age,
            "free_memory": MEMORY * 0.9 - shards * 12e6,
            "available_memory": MEMORY * 0.95 - shards * 12e6,
            "net_in": 40e3 * age,
            "net_out": 90e3 * age,
            "disk_read": 4096.0 * 1000,
            "disk_write": 8192.0 * age,
            "storage_free": 90e9,
            "storage_avail": 85e9,
            "agent_cpu": 0.02 * age,
            "agent_rss": 55e6,
            "cpu_nice": 0.1 * age,
            "cpu_irqs": 0.05 * age,
            "cpu_steal": 0.0,
            "pressure_cpu": 0.02 * age,
            "pressure_io": 0.001 * age,
            "pressure_memory": 0.0,
        }
        return [round(values[name], 2) if name in values else None for name in NODE_FIELDS]

    def _proxy(self, primaries: Mapping[int, int]) -> ProxyReading | None:
        """Return the activity of the node's proxy; None if it serves no database."""
        state = self._agents.proxies.get(self._node.uid)
        if state is None or not state.databases:
            return None
        return ProxyReading(
            seconds=1.0,
            pid=500 + self._node.uid,
            threads=state.threads,
            cpu=round(0.01 * (time.time() - self._started_at), 2),
            rss=24_000_000,
            databases={
                database.uid: _endpoint(self._ops * primaries.get(database.uid, 0)) for database in state.databases
            },
        )


_CONDITION = SHARD_FIELDS[:5]
assert _CONDITION == ("pid", "started_at", "is_primary", "loading", "link_up")  # noqa: S101
_REPLICAS, _CLUSTER_DOWN, _INSTANTANEOUS = (
    _SHARD_INDEX[name] for name in ("replicas", "cluster_down", "instantaneous_ops")
)
_GROWTH = [
    (_SHARD_INDEX[name], per_request)
    for name, per_request in {
        "read_cmds": 0.5,
        "write_cmds": 0.5,
        "hits": 0.5,
        "net_in": BYTES_IN,
        "net_out": BYTES_OUT,
        "cpu": CPU_SECONDS,
        "process_cpu_user": CPU_SECONDS / 2,
        "process_cpu_system": CPU_SECONDS / 2,
        "main_cpu_system": CPU_SECONDS / 2,
        "repl_offset": BYTES_IN / 2,
    }.items()
]
"""Index of each counter of a shard, and how much it grows with each request."""


@lru_cache(256)
def _endpoint(requests: int) -> EndpointReading:
    half = requests // 2
    counts = [float(half), float(requests - half), 0.0]
    traffic = [requests * BYTES_IN, requests * BYTES_OUT, 0.0, 0.0, 50.0 if requests else 0.0]
    buckets = latency_buckets(half)
    latency = {"read": buckets, "write": buckets} if buckets else {}
    return EndpointReading.model_validate(
        {"values": [*counts, *counts, *traffic, 0.0, 0.0], "errors": {}, "latency": latency}
    )


def latency_buckets(requests: int) -> list[tuple[int, int]]:
    """Return the occupied buckets of a histogram of so many requests: three significant digits, in microseconds."""
    buckets = []
    value, step, below, counted = 1, 1, 0.0, 0
    while value < 60_000:
        if value >= 2048 * step:
            step *= 2
        highest = value + step - 1
        density = exp(-(log(highest / MEDIAN_MICROS) ** 2) / (2 * SIGMA**2)) / (highest * SIGMA * sqrt(2 * pi))
        below += requests * density * step
        # Rounding the sum instead of each bucket counts rare latencies as well.
        if (count := round(below) - counted) > 0:
            buckets.append((highest, count))
            counted += count
        value += step
    return buckets
