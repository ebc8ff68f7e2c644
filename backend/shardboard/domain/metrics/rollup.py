"""Aggregation rules of metrics, and the merge of rows of short intervals into rows of longer intervals.

A frame contains all series of one topic in one interval: float32 columns with one value per uid, NaN = unknown. Frames of 1 s
contain only the metrics. Longer frames also contain, for metrics that need it, the number of known seconds (`#name`; a mean of
means must be weighted by it), the highest value of one second (`name_max`) and the lowest (`name_min`).
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

from shardboard.domain.metrics import flash_rates
from shardboard.domain.metrics.endpoint_metrics import ENDPOINT_METRICS
from shardboard.domain.metrics.flash_rates import FLASH_METRICS
from shardboard.domain.metrics.rates import BDB_METRICS, NODE_METRICS, SHARD_METRICS
from shardboard.domain.metrics.shard_rates import COUNTERS

TOPICS: Mapping[str, tuple[str, ...]] = {
    "cluster": BDB_METRICS,
    "nodes": NODE_METRICS,
    "bdbs": BDB_METRICS,
    "shards": SHARD_METRICS,
    "endpoints": ENDPOINT_METRICS,
    "flash": FLASH_METRICS,
    "flash_shards": FLASH_METRICS,
}
"""Metrics of each topic, in the order of its rows."""

LAST = frozenset(
    {
        "used_memory",
        "used_memory_rss",
        "no_of_keys",
        "no_of_expires",
        "mem_frag_ratio",
        "free_memory",
        "available_memory",
        "persistent_storage_free",
        "agent_rss",
        "repl_lag_bytes",
        "used_memory_peak",
        "mem_size_lua",
        "mem_not_counted_for_evict",
        "avg_ttl",
        "blocked_clients",
        "instantaneous_ops_per_sec",
        "aof_rewrite_inprog",
        "cur_aof_rewrites",
        "rdb_changes_since_last_save",
        "pubsub_channels",
        "pubsub_patterns",
        "persistent_storage_avail",
        "bigstore_free",
        *flash_rates.LAST,
    }
)
"""Gauges whose newest known value is used. All other metrics are means over the known seconds."""

SHARES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hit_ratio": (("read_hits",), ("read_misses",)),
    **flash_rates.SHARES,
}
"""Ratios, computed from their parts: the sum of the first metrics divided by the sum of all."""

PEAKS = frozenset(
    {
        "total_req",
        "read_req",
        "write_req",
        "responsiveness",
        "p99_responsiveness",
        "main_thread_cpu",
        "used_memory",
        "conns",
        "connected_clients",
        "repl_lag_bytes",
        "cpu_user",
        "cpu_system",
        "cpu_pressure",
        "io_pressure",
        "memory_pressure",
    }
)
"""Metrics whose highest second is stored in addition."""

LOWS = frozenset({"total_req", "read_req", "write_req"})
"""Metrics whose lowest second is stored in addition: a pause of a few seconds hardly shows in the mean of a long interval."""

_OF_FLASH = (
    frozenset(FLASH_METRICS) - flash_rates.LAST - flash_rates.SHARES.keys() - {"flash_read_p50", "flash_read_p99"}
)
KNOWN_TOGETHER: Mapping[str, frozenset[str]] = {
    "shards": frozenset(COUNTERS) - {"ingress_bytes", "egress_bytes"} | {"total_req"},
    **dict.fromkeys(("flash", "flash_shards"), _OF_FLASH),
}
"""Rates of a shard that are known in the same seconds, because they depend on the same process and the same reset. The number of
known seconds is stored once for all of them (see LEADS), because hundreds of shards make up most of the stored data."""
WEIGHT_METRICS = {"shards": "total_req", "flash": "big_fetch_ram", "flash_shards": "big_fetch_ram"}


@dataclass(frozen=True)
class TopicFrame:
    """Data of one topic in the interval that starts at `t`."""

    t: int
    uids: "array[int]"
    """Created by `numbers`."""
    columns: "Mapping[str, array[float]]"


def numbers(uids: Iterable[int]) -> "array[int]":
    """Return uids in ascending order as 64-bit integers, because the number of an endpoint combines two uids."""
    return array("q", sorted(uids))


def is_mean(metric: str) -> bool:
    return metric not in LAST and metric not in SHARES


def weight_of(topic: str, metric: str) -> str:
    """Return the column with the number of known seconds of a mean."""
    return f"#{WEIGHT_METRICS[topic]}" if metric in KNOWN_TOGETHER.get(topic, ()) else f"#{metric}"


def columns_of(topic: str, step: int) -> tuple[str, ...]:
    """Return the columns of a frame in the stored order."""
    metrics = TOPICS[topic]
    if step == 1:
        return metrics
    peaks = tuple(f"{metric}_max" for metric in metrics if metric in PEAKS)
    lows = tuple(f"{metric}_min" for metric in metrics if metric in LOWS)
    weights = dict.fromkeys(weight_of(topic, metric) for metric in metrics if is_mean(metric))
    return (*metrics, *peaks, *lows, *weights)


def merge(topic: str, t: int, parts: Sequence[TopicFrame], seconds: int) -> TopicFrame:
    """Merge `parts`, in order of time and each of `seconds`, into the frame of the longer interval that starts at `t`."""
    uids = parts[0].uids
    if any(part.uids != uids for part in parts[1:]):
        uids = numbers(set().union(*(part.uids for part in parts)))
        parts = [_aligned(part, uids) for part in parts]
    columns: dict[str, array[float]] = {}
    for metric in TOPICS[topic]:
        if metric in LAST:
            columns[metric] = _newest([part.columns[metric] for part in parts if metric in part.columns], len(uids))
        elif is_mean(metric):
            weight = weight_of(topic, metric)
            columns[metric], known_seconds = _mean(metric, weight, parts, seconds, len(uids))
            columns.setdefault(weight, known_seconds)
        if metric in PEAKS:
            columns[f"{metric}_max"] = _fold(_extremes(parts, metric, "max"), len(uids), _higher)
        if metric in LOWS:
            columns[f"{metric}_min"] = _fold(_extremes(parts, metric, "min"), len(uids), _lower)
    for ratio, (parts_of, rest_of) in SHARES.items():
        if ratio in TOPICS[topic]:
            columns[ratio] = array("f", map(_share, _total(columns, parts_of), _total(columns, rest_of)))
    return TopicFrame(t, uids, columns)


def aligned(column: "array[float]", uids: "array[int]", target_uids: "array[int]") -> "array[float]":
    """Return a column of `uids` as a column of `wanted`; NaN for missing uids."""
    if uids == target_uids:
        return column
    values = dict(zip(uids, column, strict=True))
    return array("f", [values.get(uid, nan) for uid in target_uids])


def _aligned(frame: TopicFrame, target_uids: "array[int]") -> TopicFrame:
    if frame.uids == target_uids:
        return frame
    return TopicFrame(
        frame.t, target_uids, {name: aligned(column, frame.uids, target_uids) for name, column in frame.columns.items()}
    )


def _mean(
    metric: str, weight: str, parts: Sequence[TopicFrame], seconds: int, width: int
) -> "tuple[array[float], array[float]]":
    """Return the mean over the known seconds, and the number of these seconds."""
    totals, known_seconds = [0.0] * width, [0.0] * width
    for part in parts:
        values, counts = part.columns.get(metric), part.columns.get(f"#{metric}", part.columns.get(weight))
        if values is None:
            continue
        if counts is None and _complete(values):
            totals = [total + value * seconds for total, value in zip(totals, values, strict=True)]
            known_seconds = [count + seconds for count in known_seconds]
            continue
        for index, value in enumerate(values):
            if value == value:
                length = seconds if counts is None else counts[index]
                totals[index] += value * length
                known_seconds[index] += length
    return array("f", [a / b if b else nan for a, b in zip(totals, known_seconds, strict=True)]), array(
        "f", known_seconds
    )


def _newest(columns: "Sequence[array[float]]", width: int) -> "array[float]":
    return _fold(columns[::-1], width, lambda newer, older: newer if newer == newer else older)


def _fold(columns: "Sequence[array[float]]", width: int, choose: Callable[[float, float], float]) -> "array[float]":
    folded = array("f", [nan]) * width
    for column in columns:
        folded = array("f", map(choose, folded, column))
    return folded


def _higher(a: float, b: float) -> float:
    return b if b > a or a != a else a


def _lower(a: float, b: float) -> float:
    return b if b < a or a != a else a


def _extremes(parts: Sequence[TopicFrame], metric: str, which: str) -> "list[array[float]]":
    """Return the highest or lowest second of each part, or the value itself if it was not stored."""
    columns = (part.columns.get(f"{metric}_{which}", part.columns.get(metric)) for part in parts)
    return [column for column in columns if column is not None]


def _complete(values: "array[float]") -> bool:
    total = sum(values)
    return total == total


def _total(columns: "Mapping[str, array[float]]", names: Sequence[str]) -> list[float]:
    return [sum(values) for values in zip(*(columns[name] for name in names), strict=True)]


def _share(part: float, rest: float) -> float:
    total = part + rest
    return part / total if total > 0 else nan
