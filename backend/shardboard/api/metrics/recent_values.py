"""Collection of the last seconds for the Prometheus metrics with version 1 names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from shardboard.console import Console
from shardboard.domain.metrics import endpoint_metrics, latency
from shardboard.domain.metrics.endpoint_metrics import ENDPOINT_METRICS
from shardboard.domain.metrics.flash_rates import FLASH_METRICS
from shardboard.domain.metrics.rates import BDB_METRICS, NODE_METRICS
from shardboard.domain.metrics.recent_window import SECONDS, STATISTICS, summarize
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.queries.metrics import metric_history as queries
from shardboard.queries.metrics.prometheus_v1 import RecentValues, Windows

Window = dict[int, dict[str, float]]
_REPLIES = {"": ("read_res", "write_res", "other_res"), **{f"{kind}_": (f"{kind}_res",) for kind in latency.SERVED}}
"""The replies that each average latency refers to."""
_LATENCY_TIME = (("latency", ""), ("latency_max", "_max"))


def collect(console: Console) -> RecentValues:
    """Return the values of the last seconds. Without current data, everything is missing."""
    raw_nodes, raw_shards = console.live.latest_raw()
    if not raw_nodes:
        return RecentValues({}, {}, {}, {}, {}, {}, {}, {})
    seconds = range(console.live.newest - SECONDS + 1, console.live.newest + 1)
    return RecentValues(
        _databases(console, seconds),
        _nodes(console, seconds),
        _endpoints(console, seconds),
        summarize(_frames(console, "shards", seconds), ("shard_cpu_user", "shard_cpu_system")),
        raw_nodes,
        raw_shards,
        console.live.latest_raw_tiers(),
        _proxies(console),
    )


def _frames(console: Console, topic: str, seconds: Sequence[int]) -> list[TopicFrame]:
    return [frame for t in seconds if (frame := console.live.frame(topic, t)) is not None]


def _databases(console: Console, seconds: Sequence[int]) -> Windows:
    frames = _frames(console, "bdbs", seconds)
    with_flash = queries.with_flash(frames, _frames(console, "flash", seconds))
    found = summarize(with_flash, (*BDB_METRICS, *FLASH_METRICS), ("max",))
    replies = {infix: [_sums(frame, names) for frame in frames] for infix, names in _REPLIES.items()}
    for uid, values in found.items():
        columns = console.live.endpoints.latencies.columns("bdbs", str(uid), seconds[0], len(seconds))
        by_metric = dict(zip(latency.METRICS, columns, strict=True))
        for infix, counts in replies.items():
            averages = by_metric[f"avg_{infix}latency"]
            known = [
                (average, count[uid])
                for frame, count in zip(frames, counts, strict=True)
                if (average := averages[frame.t - seconds[0]]) is not None and count.get(uid, 0.0) > 0
            ]
            if known:
                total = fsum(average * count for average, count in known)
                values[f"avg_{infix}latency"] = total / fsum(count for _, count in known)
                values[f"avg_{infix}latency_max"] = max(average for average, _ in known)
    return found


def _sums(frame: TopicFrame, metrics: Iterable[str]) -> dict[int, float]:
    """Return the sum of these metrics by uid."""
    return dict(zip(frame.uids, map(sum, zip(*(frame.columns[name] for name in metrics), strict=True)), strict=True))


def _nodes(console: Console, seconds: Sequence[int]) -> Windows:
    frames = queries.with_node_latency(_frames(console, "nodes", seconds), _frames(console, "endpoints", seconds))
    return summarize(frames, (*NODE_METRICS, "avg_latency"), tuple(STATISTICS))


def _endpoints(console: Console, seconds: Sequence[int]) -> Windows:
    endpoints, frames = console.live.endpoints, _frames(console, "endpoints", seconds)
    frames = [queries.with_average(frame) for frame in frames]
    found = summarize(frames, (*ENDPOINT_METRICS, "total_res"), ("max",))
    for uid, values in found.items():
        key = endpoint_metrics.database(uid), endpoint_metrics.node(uid)
        request, response = endpoints.last_activity.get(key, (0, 0))
        rejected = endpoints.totals.get(key, Counter())["rejected"]
        values |= {
            f"acc_{name}": values[f"latency_time{end}"] for name, end in _LATENCY_TIME if "latency_time" in values
        }
        values |= {"last_req_time": request, "last_res_time": response, "monitor_sessions_count": 0.0}
        values |= dict.fromkeys(("max_connections_exceeded", "max_connections_exceeded_max"), float(rejected))
    _add_latencies_by_kind(console, [frame.t for frame in frames], found)
    return found


def _add_latencies_by_kind(console: Console, seconds: Sequence[int], found: Window) -> None:
    """Add the microseconds of latency per second, by kind of command."""
    totals: dict[tuple[int, str], list[float]] = {}
    for t in seconds:
        for (uid, kind), histogram in console.live.endpoints.latencies.endpoint_histograms_at(t).items():
            totals.setdefault((uid, kind), []).append(histogram.total)
    for (uid, kind), each in totals.items():
        if uid in found and kind in latency.SERVED:
            found[uid] |= {f"acc_{kind}_latency": fsum(each) / len(seconds), f"acc_{kind}_latency_max": max(each)}


def _proxies(console: Console) -> Mapping[int, Mapping[str, float]]:
    found: Window = {}
    for node_uid, reading in console.live.endpoints.newest().items():
        found[node_uid] = {"rss": float(reading.rss)}
        if reading.started_ms:
            found[node_uid]["started"] = reading.started_ms / 1000
        if (share := console.live.endpoints.cpu_shares.get(node_uid)) is not None:
            found[node_uid]["cpu_percent"] = share * 100
    return found
