"""The most used commands of a database: counts of single commands from all its proxies, merged into rates and percentiles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shardboard.domain.metrics.histogram import Histogram

MAX_COMMANDS = 30
"""Maximum number of commands that are reported for each database."""


@dataclass(frozen=True)
class CommandCounters:
    """Counts of one command at one proxy. Times are in microseconds."""

    name: str
    calls: int
    errors: int
    micros: int
    """Total time of all replies of shards."""
    latency: Sequence[tuple[int, int]] = ()
    """Pairs of the highest latency of a bucket and the number of replies of shards in it."""


@dataclass(frozen=True)
class ProxyCommandCounts:
    """Report of the proxy of one node about one database."""

    node_uid: int
    reason: str = ""
    """Why there is no report; empty if there is one."""
    seconds: float = 0.0
    """How long the proxy had counted."""
    counts: Sequence[CommandCounters] = ()


@dataclass(frozen=True)
class CommandStats:
    """Rates per second, times in milliseconds. Times are None if no shard replied."""

    name: str
    calls: float
    errors: float
    avg: float | None = None
    p50: float | None = None
    p99: float | None = None


@dataclass
class _Sum:
    calls: float = 0.0
    errors: float = 0.0
    micros: int = 0
    histogram: Histogram = field(default_factory=Histogram)


def most_used(counts: Iterable[ProxyCommandCounts], limit: int = MAX_COMMANDS) -> list[CommandStats]:
    """Return the commands with the most calls per second over all proxies, the highest first, then by name."""
    sums: dict[str, _Sum] = {}
    for each in counts:
        if each.reason or each.seconds <= 0:
            continue
        for count in each.counts:
            total = sums.setdefault(count.name, _Sum())
            total.calls += count.calls / each.seconds
            total.errors += count.errors / each.seconds
            total.micros += count.micros
            total.histogram.add(Histogram.from_pairs(count.latency))
    ranked = sorted(sums.items(), key=lambda item: (-item[1].calls, item[0]))
    return [_command(name, total) for name, total in ranked[:limit]]


def interval(counts: Iterable[ProxyCommandCounts]) -> float | None:
    """Return the longest counting period of all proxies in seconds; None without any report."""
    return max((each.seconds for each in counts if not each.reason), default=None)


def _command(name: str, own: _Sum) -> CommandStats:
    measured = own.histogram.count
    if not measured:
        return CommandStats(name, own.calls, own.errors)
    p50, p99 = (own.histogram.quantile(q) for q in (0.5, 0.99))
    assert p50 is not None  # noqa: S101 - the histogram is not empty
    assert p99 is not None  # noqa: S101
    return CommandStats(name, own.calls, own.errors, own.micros / measured / 1000, p50 / 1000, p99 / 1000)
