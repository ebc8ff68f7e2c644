"""Aggregation of machines: CPU, memory and disk metrics of the cluster."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import fsum, nan
from typing import Any

from shardboard.domain.metrics.rollup import TopicFrame

SHARES = ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle", "cpu_nice", "cpu_irqs", "cpu_steal")
SUMS = (
    "free_memory",
    "available_memory",
    "persistent_storage_free",
    "persistent_storage_avail",
    "disk_read_bytes",
    "disk_write_bytes",
)


FLASH_ONLY_METRICS = ("bigstore_free", "bigstore_iops", "bigstore_kv_ops", "bigstore_throughput")
"""Metrics that only nodes with flash have."""


def one_per_machine(nodes: Iterable[tuple[int, str]]) -> frozenset[int]:
    """Return the first node of each machine from pairs (node uid, machine id), so that agents on the same machine do not count it
    twice."""
    first: dict[str, int] = {}
    for uid, machine in sorted(nodes):
        first.setdefault(machine, uid)
    return frozenset(first.values())


def totals(frame: TopicFrame, uids: Collection[int]) -> Iterator[tuple[str, float]]:
    """Yield mean shares and total amounts of the nodes `uids`, one per machine. A value is NaN if one node is unknown; a metric of
    OF_FLASH is NaN if no node has flash."""
    indexes = [index for index, uid in enumerate(frame.uids) if uid in uids]
    is_complete = len(indexes) == len(uids) > 0
    for names, divisor in ((SHARES, max(1, len(indexes))), (SUMS, 1)):
        for name in names:
            yield name, _sum(frame.columns, name, indexes) / divisor if is_complete else nan
    for name in FLASH_ONLY_METRICS:
        # Free flash belongs to the machine; the other metrics are measured by each of its agents.
        frame_indexes = indexes if name == "bigstore_free" else range(len(frame.uids))
        values = [frame.columns[name][index] for index in frame_indexes if name in frame.columns]
        values = [value for value in values if value == value]
        yield name, fsum(values) if is_complete and values else nan


def _sum(columns: "Mapping[str, Any]", name: str, places: Iterable[int]) -> float:
    column = columns.get(name)
    return fsum(column[index] for index in places) if column is not None else nan
