"""Linearity of throughput: slope, deviation from the ideal line, and spread of the throughput per node and per shard.

The ideal line is `ops/s = slope * nodes`. It passes through the origin, because a database without nodes has no throughput, and is
fitted to all points with least squares. A line through the first point would depend on that point only.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

PUBLISHED_SPREAD = 0.13
"""The published benchmark states that the throughput per node varies by at most about 13% between its clusters."""


class ScalingPoint(NamedTuple):
    """One measured repetition of a database of `shards` shards on `nodes` nodes."""

    nodes: int
    shards: int
    ops_per_second: float


@dataclass(frozen=True)
class PointSummary:
    """All repetitions of one size. Throughput in ops/s."""

    nodes: int
    shards: int
    ops_per_second: float
    """Median of the repetitions."""
    lowest: float
    highest: float
    repetitions: int
    ideal: float
    """Throughput on the ideal line."""
    deviation: float
    """Throughput relative to the ideal one, minus 1: -0.1 is 10% below the line."""
    per_node: float
    per_shard: float


@dataclass(frozen=True)
class LinearScaling:
    """Summary of all sizes, in the order of nodes and shards."""

    points: tuple[PointSummary, ...]
    slope: float
    """Ops/s of each node on the ideal line."""
    deviation_from_linear: float
    """Largest absolute deviation of a point."""
    per_node: tuple[float, ...]
    """Ops/s per node of each point."""
    per_shard: tuple[float, ...]
    spread: float
    """Difference between the highest and the lowest throughput per node, relative to the highest."""
    shard_spread: float
    """The same per shard."""


def summarize(points: Iterable[ScalingPoint]) -> LinearScaling:
    """Summarize points of any sizes in any order; points of the same size are repetitions. Raises ValueError without points, and if
    a point has no nodes, no shards, or a negative throughput.
    """
    repetitions: dict[tuple[int, int], list[float]] = defaultdict(list)
    for nodes, shards, ops_per_second in points:
        if nodes < 1 or shards < 1 or not 0 <= ops_per_second < float("inf"):
            raise ValueError(f"{ops_per_second} ops/s with {shards} shards on {nodes} nodes is not a measurement")
        repetitions[nodes, shards].append(ops_per_second)
    if not repetitions:
        raise ValueError("linear scaling needs at least one point")
    slope = _slope([(nodes, median(each)) for (nodes, _), each in repetitions.items()])
    summaries = tuple(_summary(*size, repetitions[size], slope) for size in sorted(repetitions))
    per_node = tuple(each.per_node for each in summaries)
    per_shard = tuple(each.per_shard for each in summaries)
    return LinearScaling(
        points=summaries,
        slope=slope,
        deviation_from_linear=max(abs(each.deviation) for each in summaries),
        per_node=per_node,
        per_shard=per_shard,
        spread=_spread(per_node),
        shard_spread=_spread(per_shard),
    )


def _slope(throughput_by_nodes: Sequence[tuple[int, float]]) -> float:
    """Return the slope of the line through the origin with the least squares of the distances to the points."""
    return sum(nodes * ops for nodes, ops in throughput_by_nodes) / sum(nodes**2 for nodes, _ in throughput_by_nodes)


def _summary(nodes: int, shards: int, ops_per_second: Sequence[float], slope: float) -> PointSummary:
    typical, ideal = median(ops_per_second), slope * nodes
    return PointSummary(
        nodes=nodes,
        shards=shards,
        ops_per_second=typical,
        lowest=min(ops_per_second),
        highest=max(ops_per_second),
        repetitions=len(ops_per_second),
        ideal=ideal,
        deviation=typical / ideal - 1 if ideal else 0.0,
        per_node=typical / nodes,
        per_shard=typical / shards,
    )


def _spread(values: Sequence[float]) -> float:
    highest = max(values)
    return (highest - min(values)) / highest if highest else 0.0
