"""Which hash slots of a database take most: what its primaries have counted, joined, and turned into rates between two looks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

Metric = Literal["cpu_usec", "network_bytes_in", "network_bytes_out", "key_count"]
METRICS: tuple[Metric, ...] = get_args(Metric)
MOST = 100
"""Slots of one reply."""
_ROWS, _LEAST_ROWS, _MOST_ROWS = 4096, 32, 256


@dataclass(frozen=True)
class Count:
    """Of one slot. Time and bytes only rise; None where the engine does not count them."""

    keys: int
    cpu_usec: int | None = None
    network_bytes_in: int | None = None
    network_bytes_out: int | None = None

    def of(self, metric: Metric) -> int:
        """What is not counted is nothing."""
        return self.keys if metric == "key_count" else getattr(self, metric) or 0


@dataclass(frozen=True)
class Told:
    """What one primary said at one look."""

    shard_uid: int
    node_uid: int
    reason: str = ""
    """Why it said nothing; empty when it did."""
    at: float = 0.0
    """Epoch seconds, by its node's clock."""
    run_id: str = ""
    started_at: float | None = None
    """Epoch seconds."""
    counts: Mapping[int, Count] = field(default_factory=dict)
    """By slot."""


@dataclass(frozen=True)
class HotSlot:
    """A slot, its primary, and what it takes. Rates are None until there are two looks that know it."""

    slot: int
    shard_uid: int
    node_uid: int
    count: Count
    cpu: float | None = None
    """Processors that commands on its keys take: 1 is one core."""
    ingress_bytes: float | None = None
    """Per second."""
    egress_bytes: float | None = None
    """Per second."""

    def rank(self, by: Metric) -> tuple[float, float]:
        """Greatest first: by what it takes now, and where nobody knows that yet by what it has taken."""
        rates = {"cpu_usec": self.cpu, "network_bytes_in": self.ingress_bytes, "network_bytes_out": self.egress_bytes}
        rate = rates.get(by)
        return (-1.0 if rate is None else rate, float(self.count.of(by)))


def rows_of_each(primaries: int) -> int:
    """How many slots each of so many primaries is asked for: thousands in all, as an engine has few that are really hot."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _ROWS // max(primaries, 1)))


def hottest(now: Sequence[Told], before: Mapping[int, Told], by: Metric, limit: int) -> list[HotSlot]:
    """The first `limit` slots of a look, without those that took nothing; `before` is an earlier one, by shard."""
    found = [slot for told in now for slot in _of(told, before.get(told.shard_uid)) if slot.count.of(by)]
    return sorted(found, key=lambda each: (*(-value for value in each.rank(by)), each.slot))[:limit]


def interval(now: Iterable[Told], before: Mapping[int, Told]) -> float | None:
    """Seconds that rates are of, the longest of all shards; None without any."""
    known = [
        told.at - earlier.at for told in now if (earlier := _comparable(told, before.get(told.shard_uid))) is not None
    ]
    return max(known, default=None)


def _of(told: Told, before: Told | None) -> list[HotSlot]:
    before = _comparable(told, before)
    found = []
    for slot, count in told.counts.items():
        hot = HotSlot(slot, told.shard_uid, told.node_uid, count)
        earlier = before.counts.get(slot) if before is not None else None
        if before is not None and earlier is not None:
            seconds = told.at - before.at
            cpu = _rate(count.cpu_usec, earlier.cpu_usec, seconds)
            hot = HotSlot(
                *(slot, told.shard_uid, told.node_uid, count),
                cpu=None if cpu is None else cpu / 1_000_000,
                ingress_bytes=_rate(count.network_bytes_in, earlier.network_bytes_in, seconds),
                egress_bytes=_rate(count.network_bytes_out, earlier.network_bytes_out, seconds),
            )
        found.append(hot)
    return found


def _comparable(told: Told, before: Told | None) -> Told | None:
    """An earlier look at the same process."""
    same = before is not None and not (told.reason or before.reason) and told.run_id == before.run_id
    return before if same and before is not None and told.at > before.at else None


def _rate(now: int | None, before: int | None, seconds: float) -> float | None:
    """None where the count began anew: the slot came back, or the statistics were reset."""
    return None if now is None or before is None or now < before else (now - before) / seconds
