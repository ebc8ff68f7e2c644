"""Counters into rates, and many shards into one database. A restart or a missing second is a gap, never a spike or a zero."""

from collections.abc import Iterable, Mapping, Sequence

Value = float | None

SHARD_METRICS = (
    "total_req",
    "read_req",
    "write_req",
    "other_req",
    "used_memory",
    "used_memory_rss",
    "no_of_keys",
    "hit_ratio",
    "connected_clients",
    "ingress_bytes",
    "egress_bytes",
    "evicted_objects",
    "expired_objects",
    "mem_frag_ratio",
    "main_thread_cpu",
    "responsiveness",
    "repl_lag_bytes",
    "read_hits",
    "read_misses",
)
"""Units: *_req, *_objects, read_hits and read_misses per second, *_bytes per second (repl_lag_bytes: bytes), memory bytes,
hit_ratio 0-1, main_thread_cpu cores, responsiveness milliseconds."""

BDB_METRICS = (
    "total_req",
    "read_req",
    "write_req",
    "other_req",
    "used_memory",
    "no_of_keys",
    "hit_ratio",
    "read_hits",
    "read_misses",
    "conns",
    "ingress_bytes",
    "egress_bytes",
    "evicted_objects",
    "expired_objects",
    "mem_frag_ratio",
    "main_thread_cpu",
    "responsiveness",
)

NODE_METRICS = (
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "cpu_idle",
    "free_memory",
    "available_memory",
    "ingress_bytes",
    "egress_bytes",
    "disk_read_bytes",
    "disk_write_bytes",
    "persistent_storage_free",
    "total_req",
    "used_memory",
    "conns",
    "agent_cpu",
    "agent_rss",
)

MAX_STEP = 10
"""Seconds between two samples after which no rate is made of them."""


class ShardSecond:
    """One shard's metrics in one second, with what only sums over shards need."""

    __slots__ = ("connections", "hits", "is_primary", "metrics", "misses")

    def __init__(self, now: Mapping[str, Value], before: Mapping[str, Value] | None, seconds: int) -> None:
        """`now` and `before` are raw samples by the agent's field names; `before` None when there is nothing to compare with.

        Both carry `boot`, which differs between agent processes: each subtracts another amount of its own traffic.
        """
        same = before is not None and (before["started_at"], before["boot"]) == (now["started_at"], now["boot"])
        same_process = same and 0 < seconds <= MAX_STEP

        def rate(name: str) -> Value:
            return per_second(now[name], before[name], seconds) if same_process and before is not None else None

        read, write, other = rate("read_cmds"), rate("write_cmds"), rate("other_cmds")
        self.is_primary = now["is_primary"] == 1.0
        self.hits, self.misses = rate("hits"), rate("misses")
        self.connections = now["clients"]
        self.metrics: dict[str, Value] = {
            "total_req": add((read, write, other)),
            "read_req": read,
            "write_req": write,
            "other_req": other,
            "used_memory": now["used_memory"],
            "used_memory_rss": now["used_memory_rss"],
            "no_of_keys": now["keys"],
            "hit_ratio": share(self.hits, self.misses),
            "connected_clients": now["clients"],
            "ingress_bytes": rate("net_in"),
            "egress_bytes": rate("net_out"),
            "evicted_objects": rate("evicted"),
            "expired_objects": rate("expired"),
            "mem_frag_ratio": now["fragmentation"],
            "main_thread_cpu": rate("cpu"),
            "responsiveness": now["ping_ms"],
            "repl_lag_bytes": None,
            "read_hits": self.hits,
            "read_misses": self.misses,
        }

    def row(self) -> list[Value]:
        """Values in the order of SHARD_METRICS."""
        return [self.metrics[name] for name in SHARD_METRICS]


def per_second(now: Value, before: Value, seconds: int) -> Value:
    """The rate of a counter; None when it went backwards (it was reset) or is unknown."""
    if now is None or before is None or seconds <= 0 or now < before:
        return None
    return (now - before) / seconds


def add(values: Iterable[Value]) -> Value:
    """The sum, or None when a part of it is unknown: a smaller number would be a lie."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def share(part: Value, rest: Value) -> Value:
    """part / (part + rest); None without either."""
    whole = add((part, rest))
    return None if not whole or part is None else part / whole


def database(shards: Sequence[ShardSecond]) -> list[Value]:
    """All shards of one database (or of several) as one row in the order of BDB_METRICS.

    Traffic and keys are those of the primaries, memory, processor and responsiveness those of all shards.
    """
    primaries = [shard for shard in shards if shard.is_primary]

    def total(name: str, of: Sequence[ShardSecond]) -> Value:
        return add(shard.metrics[name] for shard in of) if of else None

    def worst(name: str) -> Value:
        return max((value for shard in shards if (value := shard.metrics[name]) is not None), default=None)

    hits, misses = (add(shard.hits for shard in primaries), add(shard.misses for shard in primaries))
    memory, resident = total("used_memory", shards), total("used_memory_rss", shards)
    values: dict[str, Value] = {
        **{name: total(name, primaries) for name in ("total_req", "read_req", "write_req", "other_req", "no_of_keys")},
        **{
            name: total(name, primaries)
            for name in ("ingress_bytes", "egress_bytes", "evicted_objects", "expired_objects")
        },
        "used_memory": memory,
        "hit_ratio": share(hits, misses),
        "read_hits": hits if primaries else None,
        "read_misses": misses if primaries else None,
        "conns": total("connected_clients", primaries),
        "mem_frag_ratio": resident / memory if memory and resident is not None else None,
        "main_thread_cpu": total("main_thread_cpu", shards),
        "responsiveness": worst("responsiveness"),
    }
    return [values[name] for name in BDB_METRICS]


def node(
    now: Mapping[str, Value], before: Mapping[str, Value] | None, seconds: int, shards: Sequence[ShardSecond]
) -> list[Value]:
    """One machine and its shards as a row in the order of NODE_METRICS; cpu_* are shares of all cores."""

    def rate(name: str) -> Value:
        return per_second(now[name], before[name], seconds) if before is not None and seconds <= MAX_STEP else None

    cpu = {name: rate(name) for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")}
    busy_and_idle = add(cpu.values())
    primaries = [shard for shard in shards if shard.is_primary]
    values: dict[str, Value] = {
        **{name: value / busy_and_idle if busy_and_idle and value is not None else None for name, value in cpu.items()},
        "free_memory": now["free_memory"],
        "available_memory": now["available_memory"],
        "ingress_bytes": rate("net_in"),
        "egress_bytes": rate("net_out"),
        "disk_read_bytes": rate("disk_read"),
        "disk_write_bytes": rate("disk_write"),
        "persistent_storage_free": now["storage_free"],
        "total_req": add(shard.metrics["total_req"] for shard in primaries),
        "used_memory": add(shard.metrics["used_memory"] for shard in shards),
        "conns": add(shard.connections for shard in primaries),
        "agent_cpu": rate("agent_cpu"),
        "agent_rss": now["agent_rss"],
    }
    return [values[name] for name in NODE_METRICS]
