"""The most used hash slots of a database: counts of its primaries, merged and converted into rates between two polls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

Metric = Literal["cpu_usec", "network_bytes_in", "network_bytes_out", "key_count"]
METRICS: tuple[Metric, ...] = get_args(Metric)
MAX_SLOTS = 100
"""Maximum number of slots in one response."""
_ROWS, _MIN_ROWS, _MAX_ROWS = 4096, 32, 256


@dataclass(frozen=True)
class SlotCounters:
    """Counts of one slot. Time and bytes only increase; None if the engine does not count them."""

    keys: int
    cpu_usec: int | None = None
    network_bytes_in: int | None = None
    network_bytes_out: int | None = None

    def metric_value(self, metric: Metric) -> int:
        """Return the value of a metric; 0 if it is not counted."""
        return self.keys if metric == "key_count" else getattr(self, metric) or 0


@dataclass(frozen=True)
class SlotReading:
    """Report of one primary at one poll."""

    shard_uid: int
    node_uid: int
    reason: str = ""
    """Why there is no report; empty if there is one."""
    at: float = 0.0
    """Epoch seconds by the clock of its node."""
    run_id: str = ""
    started_at: float | None = None
    """Epoch seconds."""
    counts: Mapping[int, SlotCounters] = field(default_factory=dict)
    """By slot."""


@dataclass(frozen=True)
class HotSlot:
    """A slot, its primary and its load. Rates are None until two polls know the slot."""

    slot: int
    shard_uid: int
    node_uid: int
    count: SlotCounters
    cpu: float | None = None
    """CPU cores used by commands on its keys: 1 is one core."""
    ingress_bytes: float | None = None
    """Per second."""
    egress_bytes: float | None = None
    """Per second."""

    def rank(self, by: Metric) -> tuple[float, float]:
        """Return the sort key, greatest first: the current rate, or the total count while no rate is known."""
        rates = {"cpu_usec": self.cpu, "network_bytes_in": self.ingress_bytes, "network_bytes_out": self.egress_bytes}
        rate = rates.get(by)
        return (-1.0 if rate is None else rate, float(self.count.metric_value(by)))


def rows_per_primary(primaries: int) -> int:
    """Return the number of slots to request from each primary: a few thousand in total, because few slots are really hot."""
    return max(_MIN_ROWS, min(_MAX_ROWS, _ROWS // max(primaries, 1)))


def hottest(now: Sequence[SlotReading], before: Mapping[int, SlotReading], by: Metric, limit: int) -> list[HotSlot]:
    """Return the first `limit` slots of a poll, without unused slots; `before` is an earlier poll, by shard."""
    all_slots = [
        slot
        for reading in now
        for slot in _slots_of(reading, before.get(reading.shard_uid))
        if slot.count.metric_value(by)
    ]
    return sorted(all_slots, key=lambda each: (*(-value for value in each.rank(by)), each.slot))[:limit]


def interval(now: Iterable[SlotReading], before: Mapping[int, SlotReading]) -> float | None:
    """Return the longest period of the rates of all shards in seconds; None without rates."""
    intervals = [
        reading.at - previous_reading.at
        for reading in now
        if (previous_reading := _comparable(reading, before.get(reading.shard_uid))) is not None
    ]
    return max(intervals, default=None)


def _slots_of(reading: SlotReading, before: SlotReading | None) -> list[HotSlot]:
    before = _comparable(reading, before)
    slot_readings = []
    for slot, count in reading.counts.items():
        hot = HotSlot(slot, reading.shard_uid, reading.node_uid, count)
        previous_count = before.counts.get(slot) if before is not None else None
        if before is not None and previous_count is not None:
            seconds = reading.at - before.at
            cpu = _rate(count.cpu_usec, previous_count.cpu_usec, seconds)
            hot = HotSlot(
                *(slot, reading.shard_uid, reading.node_uid, count),
                cpu=None if cpu is None else cpu / 1_000_000,
                ingress_bytes=_rate(count.network_bytes_in, previous_count.network_bytes_in, seconds),
                egress_bytes=_rate(count.network_bytes_out, previous_count.network_bytes_out, seconds),
            )
        slot_readings.append(hot)
    return slot_readings


def _comparable(reading: SlotReading, before: SlotReading | None) -> SlotReading | None:
    """Return the earlier report if it is from the same process."""
    is_same_process = before is not None and not (reading.reason or before.reason) and reading.run_id == before.run_id
    return before if is_same_process and before is not None and reading.at > before.at else None


def _rate(now: int | None, before: int | None, seconds: float) -> float | None:
    """Return a rate, or None if the count was reset: the slot was moved back, or the statistics were reset."""
    return None if now is None or before is None or now < before else (now - before) / seconds
