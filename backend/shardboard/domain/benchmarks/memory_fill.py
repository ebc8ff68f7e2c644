"""Number of keys that fill the memory of servers, computed as in the published guide to memory drives (Intel, May 2018)."""

from dataclasses import dataclass
from typing import Literal

from shardboard.domain.benchmarks.benchmark_cost import KEY_BYTES
from shardboard.domain.text import size_text

Basis = Literal["database", "nodes"]
SHARE, OVERHEAD = 0.9, 1.10
SMALL_VALUE = 1_000
"""The guide's overhead is for values of at least this size in bytes. Keys of smaller values need more."""
NODE_RESERVE = 8 * 2**30
"""Bytes of each node that the guide leaves to the operating system."""
STEP = 10_000
"""The guide rounds the keys of all servers down to this multiple. Here, small numbers are not rounded."""


@dataclass(frozen=True)
class MemoryFill:
    """A computed number of keys, with everything that it is computed from."""

    basis: Basis
    """The memory limit of the database, or the memory of the nodes that hold its shards."""
    memory: int
    """Bytes, including replicas."""
    reserve_bytes: int
    """Bytes that are left free in total."""
    share_of_memory: float
    overhead: float
    """Memory of a key with its value, divided by the size of its value."""
    value_bytes: float
    copies: int
    """2 with replication, otherwise 1."""
    servers: int
    """Servers that share the memory, without replicas."""
    database_servers: int
    """Servers of this database."""

    @property
    def keys_per_server(self) -> int:
        return keys_per_server(
            self.memory // self.copies,
            self.reserve_bytes // self.copies,
            self.value_bytes,
            self.servers,
            share_of_memory=self.share_of_memory,
            overhead=self.overhead,
        )

    @property
    def keys(self) -> int:
        """Keys of this database."""
        return self.keys_per_server * self.database_servers

    @property
    def formula(self) -> str:
        memory = size_text(self.memory)
        if self.reserve_bytes:
            memory = f"({memory} − {size_text(self.reserve_bytes)})"
        copies = f" / {self.copies} copies" if self.copies > 1 else ""
        share = f" / {self.servers} × {self.database_servers} servers" if self.servers != self.database_servers else ""
        return f"{memory} × {self.share_of_memory * 100:g} % / {self.overhead:g}{copies} / {self.value_bytes:,.0f} bytes{share}"


def typical_overhead(value_bytes: float, prefix: str) -> float:
    """Return the guide's overhead, or for small values the estimated memory of a key divided by the size of its value."""
    if value_bytes >= SMALL_VALUE:
        return OVERHEAD
    return round((value_bytes + KEY_BYTES + len(prefix)) / value_bytes, 2)


def keys_per_server(
    memory: int,
    reserve_bytes: int,
    value_bytes: float,
    servers: int,
    *,
    share_of_memory: float = SHARE,
    overhead: float = OVERHEAD,
) -> int:
    """Return the number of keys of each server that together fill `memory` bytes; 0 if there is no free memory."""
    total = int(max(0, memory - reserve_bytes) * share_of_memory / overhead / value_bytes)
    if total >= 100 * STEP:
        total -= total % STEP
    return total // servers
