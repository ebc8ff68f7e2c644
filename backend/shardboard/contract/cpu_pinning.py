"""Pinning of shards and proxies to cores, and the cores of a machine.

Console and agent both check a setting against the cores: the console refuses an invalid request, and the agent reports cores that
have been taken offline since.
"""

import re
from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import Field

from shardboard.contract.base import MAX_SHARDS, Count, Message, Reply, Uid

MAX_CORE = 8_191
"""Highest number of a core that Linux supports."""
_RANGE = re.compile(r"(\d{1,4})(?: ?- ?(\d{1,4}))?", re.ASCII)

CoreList = Annotated[str, Field(max_length=4096)]
"""Cores in the format of taskset(1) and of /sys: `0-3,8`."""
Mode = Literal["off", "numa", "cores"]


class NumaNode(Reply):
    """A group of cores with their own memory."""

    id: Count
    cores: CoreList
    """Its cores that are online and that the agent may use; empty if it has memory only."""


class CpuTopology(Reply):
    """Cores of a machine that are online and that the agent may use."""

    numa_nodes: list[NumaNode] = Field(max_length=1024)
    """At least one: a machine without NUMA has node 0."""
    siblings: list[CoreList] = Field(default=[], max_length=MAX_CORE)
    """Cores that are threads of the same physical core; only groups of several."""
    offline: CoreList = ""

    @property
    def cores(self) -> frozenset[int]:
        return frozenset[int]().union(*(parse_cores(node.cores) for node in self.numa_nodes))

    def numa_nodes_of(self, cores: Collection[int]) -> str:
        """Return the ids of the NUMA nodes to which these cores belong, as a list in the format of core lists."""
        return format_cores([node.id for node in self.numa_nodes if not parse_cores(node.cores).isdisjoint(cores)])


class CpuPinning(Message):
    """Cores on which the processes of a node run."""

    mode: Mode = "off"
    """`numa`: each shard runs on the cores of one NUMA node. `cores`: on the cores in `shards`."""
    shards: CoreList = ""
    proxy: CoreList = ""
    """Cores of the proxy, which shards in mode `numa` do not use. Empty: the proxy may use all cores."""
    cores_per_shard: int = Field(default=0, ge=0, le=MAX_CORE)
    """Divides the cores in `shards` into groups of this size, with each shard in one group. 0: all shards share the cores."""


class ShardCores(Reply):
    """Where the process of a shard runs."""

    cores: CoreList
    numa_nodes: CoreList


class PinningReport(Reply):
    """The pinning that the agent has applied. Without pinning, `shards` and `proxy` are empty."""

    state: Literal["off", "active", "failed"] = "off"
    detail: str = Field(default="", max_length=1000)
    """Why the setting, or a part of it, is not applied."""
    shards: dict[Uid, ShardCores] = Field(default={}, max_length=MAX_SHARDS)
    proxy: CoreList = ""


def parse_cores(text: str) -> frozenset[int]:
    """Return the cores of a list; empty for empty text. Raises ValueError with what is wrong."""
    cores: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f'"{part.strip()}" is not a core or range of cores; use a list such as 0-3,8')
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last or last > MAX_CORE:
            raise ValueError(f'"{part.strip()}" must be ascending, with cores from 0 to {MAX_CORE}')
        cores.update(range(first, last + 1))
    return frozenset(cores)


def format_cores(cores: Collection[int]) -> str:
    """Return the shortest list of these cores."""
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in _ranges(sorted(cores)))


def _ranges(cores: list[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for index in range(1, len(cores) + 1):
        if index == len(cores) or cores[index] != cores[index - 1] + 1:
            yield cores[start], cores[index - 1]
            start = index


def core_sets(pinning: CpuPinning, topology: CpuTopology) -> list[frozenset[int]]:
    """Return the sets of cores of which each shard gets one; empty without pinning. Raises ValueError if a list is malformed."""
    if pinning.mode == "off":
        return []
    if pinning.mode == "numa":
        reserved = proxy_cores(pinning)
        return [cores for node in topology.numa_nodes if (cores := parse_cores(node.cores) - reserved)]
    chosen = sorted(parse_cores(pinning.shards))
    size = pinning.cores_per_shard or max(1, len(chosen))
    groups = [frozenset(chosen[start : start + size]) for start in range(0, len(chosen), size)]
    # A smaller last group would give its shards fewer cores than the others.
    return [group for group in groups if len(group) == size]


def proxy_cores(pinning: CpuPinning) -> frozenset[int]:
    """Return the cores of the proxy; empty if it is not pinned. Raises ValueError if the list is malformed."""
    return frozenset() if pinning.mode == "off" else parse_cores(pinning.proxy)


def pinning_error(pinning: CpuPinning, topology: CpuTopology) -> tuple[str, str]:
    """Return the field of a setting that cannot be applied on this machine, and why; empty if it can be."""
    if pinning.mode == "off":
        return "", ""
    for field, text in (("shards", pinning.shards), ("proxy", pinning.proxy)):
        try:
            missing = parse_cores(text) - topology.cores
        except ValueError as error:
            return field, str(error)
        if missing:
            available = format_cores(topology.cores)
            return field, f"cores {format_cores(missing)} do not exist or are offline; available are {available}"
    if pinning.mode == "numa" and (pinning.shards or pinning.cores_per_shard):
        return ("shards" if pinning.shards else "cores_per_shard"), "applies to mode cores only; leave it out"
    return _empty_set_error(pinning, topology)


def _empty_set_error(pinning: CpuPinning, topology: CpuTopology) -> tuple[str, str]:
    if pinning.mode == "cores" and not (pinning.shards.strip() or pinning.proxy.strip()):
        return "shards", "must contain a core; to end pinning, use mode off"
    if pinning.mode == "cores" and pinning.cores_per_shard > len(parse_cores(pinning.shards)):
        return "cores_per_shard", "must not exceed the number of cores in shards"
    if pinning.mode == "numa" and not core_sets(pinning, topology):
        return "proxy", "leaves no core for shards"
    return "", ""
