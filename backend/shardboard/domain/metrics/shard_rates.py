"""Conversion of raw seconds of shards into rows of metrics, and aggregation of shards into databases.

Hundreds of shards are computed every second, so values are packed in arrays and accessed by position. NaN means unknown, and
values derived from it are unknown as well.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, isnan, nan
from operator import itemgetter

from shardboard.domain.metrics.rates import BDB_METRICS, MAX_STEP, SHARD_METRICS, Value

COUNTERS: Mapping[str, str] = {
    "read_req": "read_cmds",
    "write_req": "write_cmds",
    "other_req": "other_cmds",
    "read_hits": "hits",
    "read_misses": "misses",
    "evicted_objects": "evicted",
    "expired_objects": "expired",
    "total_connections_received": "connections",
    "ingress_bytes": "net_in",
    "egress_bytes": "net_out",
    "main_thread_cpu": "cpu",
    "main_thread_cpu_system": "main_cpu_system",
    "shard_cpu_user": "process_cpu_user",
    "shard_cpu_system": "process_cpu_system",
    "fork_cpu_user": "fork_cpu_user",
    "fork_cpu_system": "fork_cpu_system",
}
"""Rates per second, with the agent's fields."""

_MONOTONIC = 8
"""The first counters only increase. If one has decreased, the statistics of the engine were reset and all rates of this second are
unknown."""

GAUGES: Mapping[str, str] = {
    "used_memory": "used_memory",
    "used_memory_rss": "used_memory_rss",
    "used_memory_peak": "memory_peak",
    "no_of_keys": "keys",
    "no_of_expires": "expires",
    "avg_ttl": "avg_ttl",
    "connected_clients": "clients",
    "blocked_clients": "blocked_clients",
    "mem_frag_ratio": "fragmentation",
    "mem_not_counted_for_evict": "memory_not_evictable",
    "responsiveness": "ping_ms",
    "p50_responsiveness": "ping_p50_ms",
    "instantaneous_ops_per_sec": "instantaneous_ops",
    "aof_rewrite_inprog": "aof_rewriting",
    "rdb_changes_since_last_save": "unsaved_changes",
    "mem_size_lua": "memory_lua",
    "pubsub_channels": "pubsub_channels",
    "pubsub_patterns": "pubsub_patterns",
}

ROW = (
    *SHARD_METRICS,
    *("instantaneous_ops_per_sec", "mem_not_counted_for_evict", "mem_size_lua", "pubsub_channels", "pubsub_patterns"),
)
"""Values of a computed row: the metrics of a shard, and values that only its database has."""
PLACE = {name: index for index, name in enumerate(ROW)}
_COMPUTED = (*COUNTERS, *GAUGES, "total_req", "hit_ratio", "main_thread_cpu_user", "repl_lag_bytes")
_in_order = itemgetter(*(_COMPUTED.index(name) for name in ROW))
_TOTALS = itemgetter(*(list(COUNTERS).index(name) for name in ("read_req", "write_req", "other_req")))
_LOOKUPS = itemgetter(*(list(COUNTERS).index(name) for name in ("read_hits", "read_misses")))
_CPU = itemgetter(*(list(COUNTERS).index(name) for name in ("main_thread_cpu", "main_thread_cpu_system")))


class ShardRates:
    """Conversion with the positions of the values that agents send.

    A raw sample is an array of doubles in the order of the agent's fields, with the identity of the agent's process at the
    end; a row is an array of float32 in the order of ROW.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        self.fields = {name: index for index, name in enumerate((*fields, "boot"))}
        self._counters = itemgetter(*(self.fields[name] for name in COUNTERS.values()))
        self._gauges = itemgetter(*(self.fields[name] for name in GAUGES.values()))
        self._process = itemgetter(self.fields["started_at"], self.fields["boot"])

    def pack(self, values: Iterable[Value], boot: float) -> "array[float]":
        """Return a raw sample. `boot` differs between agent processes, because each one subtracts the traffic that it caused."""
        raw = array("d", [nan if value is None else value for value in values])
        raw.append(boot)
        return raw

    def row(self, now: "array[float]", before: "array[float] | None", seconds: float) -> "array[float]":
        """Return the row of one second; `before` is the sample `seconds` earlier, None if there is none to compare with."""
        if before is not None and 0 < seconds <= MAX_STEP and self._process(now) == self._process(before):
            increases = [a - b for a, b in zip(self._counters(now), self._counters(before), strict=True)]
            reset = [delta for delta in increases[:_MONOTONIC] if delta < 0]
            rates = _UNKNOWN if reset else [delta / seconds if delta >= 0 else nan for delta in increases]
        else:
            rates = _UNKNOWN
        hits, misses = _LOOKUPS(rates)
        cpu, cpu_system = _CPU(rates)
        derived = (sum(_TOTALS(rates)), _share(hits, misses), max(cpu - cpu_system, 0.0), nan)
        return array("f", _in_order((*rates, *self._gauges(now), *derived)))


_UNKNOWN = [nan] * len(COUNTERS)


def _share(part: float, rest: float) -> float:
    """Return part / (part + rest); NaN if unknown or if both are zero."""
    total = part + rest
    return part / total if total > 0 else nan


_OF_PRIMARIES = (
    *("total_req", "read_req", "write_req", "other_req", "read_hits", "read_misses"),
    *("ingress_bytes", "egress_bytes", "evicted_objects", "expired_objects", "no_of_keys"),
    *("no_of_expires", "total_connections_received", "instantaneous_ops_per_sec"),
    *("pubsub_channels", "pubsub_patterns"),
)
_OF_ALL = (
    *("used_memory", "main_thread_cpu", "mem_size_lua", "mem_not_counted_for_evict"),
    *("shard_cpu_user", "shard_cpu_system", "main_thread_cpu_user", "main_thread_cpu_system"),
    *("fork_cpu_user", "fork_cpu_system"),
)


def database(
    primaries: "Sequence[array[float]]", replicas: "Sequence[array[float]]", probes: Sequence[int]
) -> list[float]:
    """Return all shards of one or several databases as one row in the order of BDB_METRICS.

    Traffic and keys are those of the primaries, memory and CPU those of all shards. `probes` are the durations of all PINGs of the
    second in microseconds.
    """
    primary_sums, replica_sums = summed(primaries), summed(replicas) if replicas else [0.0] * len(ROW)
    combined = [a + b for a, b in zip(primary_sums, replica_sums, strict=True)] if primaries else replica_sums
    memory, resident = (combined[PLACE[name]] for name in ("used_memory", "used_memory_rss"))
    latencies = sorted(probes)
    values = {
        **{name: primary_sums[PLACE[name]] for name in _OF_PRIMARIES},
        **{name: combined[PLACE[name]] for name in _OF_ALL},
        "conns": primary_sums[PLACE["connected_clients"]],
        "hit_ratio": _share(primary_sums[PLACE["read_hits"]], primary_sums[PLACE["read_misses"]]),
        "mem_frag_ratio": resident / memory if memory > 0 else nan,
        "responsiveness": worst((*primaries, *replicas), "responsiveness"),
        "p50_responsiveness": _quantile(latencies, 0.5),
        "p99_responsiveness": _quantile(latencies, 0.99),
        **dict.fromkeys(("total_res", "read_res", "write_res", "other_res"), nan),
    }
    return [values[name] for name in BDB_METRICS]


def summed(rows: "Sequence[array[float]]") -> list[float]:
    """Return the sum of each value of ROW; NaN if a part is unknown, because a partial sum would be misleading."""
    return list(map(sum, zip(*rows, strict=True))) if rows else [nan] * len(ROW)


def worst(rows: "Iterable[array[float]]", name: str) -> float:
    """Return the highest known value."""
    index = PLACE[name]
    return max((row[index] for row in rows if not isnan(row[index])), default=nan)


def _quantile(taken: Sequence[int], q: float) -> float:
    """Return the milliseconds that a share `q` of the PINGs did not exceed."""
    return taken[max(0, ceil(q * len(taken)) - 1)] / 1000 if taken else nan
