"""Estimate of the duration and latency of a resharding at both paces, with the measurements that it is based on.

The duration has three parts: shards that start or stop, slots that move with or without keys, and the data in them. Each part has a
measured rate. The amount of data is taken from the newest samples, in proportion to the slots of each pair that move. The native
slot migration of the engine is fast; the gentle pace adds pauses (`agent/placement/throttle.py`). Machines differ, so the result is
approximate. Without a known size there is no estimate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from shardboard.domain.placement.resharding import SlotBatch

ReshardingPace = Literal["gentle", "fast"]
PACES: tuple[ReshardingPace, ...] = ("gentle", "fast")


@dataclass(frozen=True)
class Rates:
    """Rates measured on one machine, and the latency observed there."""

    slots: float
    """Slots without keys per second."""
    keys: float
    """Small keys per second."""
    bytes: float
    """Bytes of data in memory per second."""
    latency: str
    """Effect on clients, with figures."""
    source: str
    """Description of the measurement."""


_MACHINE = "two cores, 3 to 6 primaries with replicas, busy with other work, one run each"
_V8 = f"measured on Valkey 8.0.1 with no keys, 200,000 small keys and 2,000 keys of 100 kB; {_MACHINE} (load 16 to 23)"
_V9 = "measured on Valkey 9.1 with 2,000 to 200,000 small keys and 2,000 keys of 100 kB; two cores, 3 to 6 primaries with replicas"

RATES: Mapping[tuple[bool, ReshardingPace], Rates] = {
    (False, "gentle"): Rates(
        slots=250,
        keys=1_500,
        bytes=2.6e6,
        latency="Latency increases while slots move: measured with a client of 200 requests per second on two cores, P99 was 3 to "
        "4 ms instead of 0.7 ms. If slots have few keys, many move together: on a busy machine, 1% of the requests then took "
        "40 ms.",
        source=_V8,
    ),
    (False, "fast"): Rates(
        slots=890,
        keys=7_600,
        bytes=40e6,
        latency="Latency increases strongly while slots move: measured on two cores, P99 was 18 to 25 ms instead of 0.7 ms.",
        source=_V8,
    ),
    (True, "gentle"): Rates(
        slots=185,
        keys=2_000,
        bytes=3e6,
        latency="Latency increases slightly while slots move: measured with a client of 200 requests per second on two cores, P99 "
        "was 2 to 4 ms instead of 0.5 to 0.8 ms.",
        source=_V9,
    ),
    (True, "fast"): Rates(
        slots=20_000,
        keys=100_000,
        bytes=100e6,
        latency="Latency increases strongly while slots move: measured with a client of 200 requests per second on two cores, P99 "
        "was 15 to 80 ms instead of 0.5 to 0.8 ms.",
        source=_V9,
    ),
}
"""Rates by use of the native slot migration, and pace. docs/benchmarks/resharding.md lists the request latency on Valkey 8."""

MIGRATE = "MIGRATE of single keys"
NATIVE_MIGRATION = "the engine's own slot migration (Valkey 9)"

GENTLE_AT_LEAST = 3.0
"""Minimum duration of the native slot migration at gentle pace, as a multiple of the fast pace."""

START_SECONDS = 5.0
"""Time until new shards serve or empty ones are removed: 6 shards started in parallel in 5.5 s on a busy machine with two cores."""


@dataclass(frozen=True)
class ShardData:
    """Data of a pair's primary by its newest sample; None if unknown."""

    slots: int
    keys: int | None
    bytes: int | None


@dataclass(frozen=True)
class MovedData:
    """Data that a resharding moves."""

    slots: int
    keys: int | None
    bytes: int | None
    shards: int
    """Shards that are started or removed."""
    native_migration: bool
    """Whether all engines support native slot migration."""
    unknown: str = ""
    """Message: why keys and bytes are unknown."""


@dataclass(frozen=True)
class Estimate:
    """Estimate for one pace."""

    seconds: int | None
    """Rounded up; None if sizes are unknown."""
    time: str
    latency: str
    basis: str


def moved_data(
    batches: Sequence[SlotBatch],
    data_by_shard: Mapping[int, ShardData],
    *,
    shards: int,
    native_migration: bool,
    unknown: str = "",
) -> MovedData:
    """Return what moves. The share of keys and bytes of a pair equals the share of its slots. `unknown` is a reason that is already
    known."""
    slots = sum(batch.size for batch in batches)
    if unknown:
        return MovedData(slots, None, None, shards, native_migration, unknown)
    keys = size = 0.0
    for batch in batches:
        source_holding = data_by_shard.get(batch.source)
        if source_holding is None or source_holding.keys is None or source_holding.bytes is None:
            reason = f"The data size of pair {batch.source} is unknown: there is no recent sample of its primary."
            return MovedData(slots, None, None, shards, native_migration, reason)
        share = batch.size / max(1, source_holding.slots)
        keys += share * source_holding.keys
        size += share * source_holding.bytes
    return MovedData(slots, round(keys), round(size), shards, native_migration)


def estimate(moved: MovedData, pace: ReshardingPace) -> Estimate:
    """Return the duration and the effect on clients."""
    rates = RATES[moved.native_migration, pace]
    basis = f"{NATIVE_MIGRATION if moved.native_migration else MIGRATE}: {rates.source}"
    if moved.slots == 0 and moved.shards == 0:
        return Estimate(0, "Nothing moves.", "Clients are not affected.", basis)
    if moved.keys is None or moved.bytes is None:
        return Estimate(None, f"The duration is unknown. {moved.unknown}", rates.latency, basis)
    seconds = rounded(
        (START_SECONDS if moved.shards else 0.0)
        + _move_seconds(moved.native_migration, pace, moved.slots, moved.keys, moved.bytes)
    )
    return Estimate(seconds, f"about {duration_text(seconds)}", rates.latency, basis)


def _move_seconds(native_migration: bool, pace: ReshardingPace, slots: int, keys: int, size: int) -> float:
    """Return the seconds from the first slot to the last."""
    rates = RATES[native_migration, pace]
    if native_migration and pace == "gentle":
        # Its pauses end when the slots, or their keys, have moved as slowly as with valkey-cli.
        seconds_needed = min(slots / rates.slots, keys / rates.keys + size / rates.bytes)
        return max(GENTLE_AT_LEAST * _move_seconds(native_migration, "fast", slots, keys, size), seconds_needed)
    return slots / rates.slots + max(keys / rates.keys, size / rates.bytes)


def rounded(seconds: float) -> int:
    """Round up: to 5 s below 1 min, 15 s below 5 min, 1 min below 1 h, 10 min below 6 h, 1 h above."""
    for limit, step in ((60, 5), (300, 15), (3600, 60), (21_600, 600)):
        if seconds <= limit:
            return max(5, ceil(seconds / step) * step)
    return ceil(seconds / 3600) * 3600


def duration_text(seconds: int) -> str:
    """Return a duration such as `40 s`, `1 min 15 s`, `20 min`, `1 h 30 min`, `26 h`."""
    minutes, remainder = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
        f"{remainder} s" if remainder and not hours else "",
    ]
    return " ".join(part for part in parts if part) or "0 s"
