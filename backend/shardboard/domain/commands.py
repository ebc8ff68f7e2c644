"""What clients of a database ask for most: counts of single commands by all its proxies, joined into rates and percentiles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shardboard.domain.histogram import Histogram

MOST = 30
"""Commands that are told of each database."""


@dataclass(frozen=True)
class Count:
    """One command at one proxy. Times are microseconds."""

    name: str
    calls: int
    errors: int
    micros: int
    """That all replies of shards took together."""
    latency: Sequence[tuple[int, int]] = ()
    """(highest, how many replies of shards took that long)."""


@dataclass(frozen=True)
class Told:
    """What the proxy of one node said of one database."""

    node_uid: int
    reason: str = ""
    """Why it said nothing; empty when it did."""
    seconds: float = 0.0
    """How long it had counted."""
    counts: Sequence[Count] = ()


@dataclass(frozen=True)
class Command:
    """Per second, and milliseconds; None where no shard answered, so that nothing was measured."""

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


def most_used(told: Iterable[Told], limit: int = MOST) -> list[Command]:
    """The commands with the most calls per second at all proxies together, the highest first, then by name."""
    sums: dict[str, _Sum] = {}
    for each in told:
        if each.reason or each.seconds <= 0:
            continue
        for count in each.counts:
            own = sums.setdefault(count.name, _Sum())
            own.calls += count.calls / each.seconds
            own.errors += count.errors / each.seconds
            own.micros += count.micros
            own.histogram.add(Histogram.of(count.latency))
    ranked = sorted(sums.items(), key=lambda item: (-item[1].calls, item[0]))
    return [_command(name, own) for name, own in ranked[:limit]]


def interval(told: Iterable[Told]) -> float | None:
    """Seconds that rates are of, the longest of all proxies; None where none told."""
    return max((each.seconds for each in told if not each.reason), default=None)


def _command(name: str, own: _Sum) -> Command:
    measured = own.histogram.count
    if not measured:
        return Command(name, own.calls, own.errors)
    p50, p99 = (own.histogram.quantile(q) for q in (0.5, 0.99))
    assert p50 is not None  # noqa: S101 - there is something in it
    assert p99 is not None  # noqa: S101
    return Command(name, own.calls, own.errors, own.micros / measured / 1000, p50 / 1000, p99 / 1000)
