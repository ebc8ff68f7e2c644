"""What a resharding will cost, before it is ordered: time and latency at both paces, with what that is based on.

Time is made of three parts: shards that start or go, slots that change hands whether they hold keys or not, and what is in them.
Each has a rate that was measured; what moves is known from the newest samples, as the share of each pair's slots that goes. The
engines' own way is quick, and what is gentle about it are rests (`agent/pace.py`). All machines differ, so the answer is an
"about", and where a size is not known there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from shardboard.domain.reshard import SlotBatch

ReshardingPace = Literal["gentle", "fast"]
PACES: tuple[ReshardingPace, ...] = ("gentle", "fast")


@dataclass(frozen=True)
class Rates:
    """As measured on one machine, and the latency that was seen there."""

    slots: float
    """A second, of slots without keys."""
    keys: float
    """A second, of small ones."""
    bytes: float
    """A second, of data in memory."""
    latency: str
    """What a client noticed, in words and figures."""
    source: str
    """The measurement."""


_MACHINE = "two cores, 3 to 6 primaries with replicas, busy with other work, one run each"
_OLD = f"measured on Valkey 8.0.1 with no keys, 200,000 small ones and 2,000 of 100 kB; {_MACHINE} (load 16 to 23)"
_NEW = "measured on Valkey 9.1 with 2,000 to 200,000 small keys and 2,000 of 100 kB; two cores, 3 to 6 primaries with replicas"

RATES: Mapping[tuple[bool, ReshardingPace], Rates] = {
    (False, "gentle"): Rates(
        slots=250,
        keys=1_500,
        bytes=2.6e6,
        latency="Answers come later while slots move: measured at a client of 200 requests a second on two cores, P99 3 to 4 ms "
        "instead of 0.7 ms. Where slots hold few keys, many change hands together, and on a busy machine one answer in a "
        "hundred took 40 ms.",
        source=_OLD,
    ),
    (False, "fast"): Rates(
        slots=890,
        keys=7_600,
        bytes=40e6,
        latency="Answers come much later while slots move: measured on two cores, P99 18 to 25 ms instead of 0.7 ms.",
        source=_OLD,
    ),
    (True, "gentle"): Rates(
        slots=185,
        keys=2_000,
        bytes=3e6,
        latency="Answers come a little later while slots move: measured at a client of 200 requests a second on two cores, P99 "
        "2 to 4 ms instead of 0.5 to 0.8 ms.",
        source=_NEW,
    ),
    (True, "fast"): Rates(
        slots=20_000,
        keys=100_000,
        bytes=100e6,
        latency="Answers come much later while slots move: measured at a client of 200 requests a second on two cores, P99 "
        "15 to 80 ms instead of 0.5 to 0.8 ms.",
        source=_NEW,
    ),
}
"""By whether the engines' own way is used, and pace. docs/benchmarks/resharding.md lists the latency of requests on Valkey 8."""

MIGRATE = "MIGRATE, key by key"
OWN_WAY = "the engine's own slot migration (Valkey 9)"

GENTLE_AT_LEAST = 3.0
"""The engines' own way at gentle pace may take that many times as long as fast, whatever its rates say."""

START_SECONDS = 5.0
"""Until new shards serve or empty ones are gone: 6 shards started side by side in 5.5 s on a busy machine with two cores."""


@dataclass(frozen=True)
class Holding:
    """What a pair's primary holds, by its newest sample; None where that is not known."""

    slots: int
    keys: int | None
    bytes: int | None


@dataclass(frozen=True)
class Cargo:
    """What moves."""

    slots: int
    keys: int | None
    bytes: int | None
    shards: int
    """That start or go."""
    own_way: bool
    """Whether all engines can hand over slots themselves."""
    unknown: str = ""
    """Why nothing can be said of keys and bytes, as a sentence."""


@dataclass(frozen=True)
class Estimate:
    """At one pace."""

    seconds: int | None
    """Rounded up; None when sizes are not known."""
    time: str
    latency: str
    basis: str


def cargo(
    batches: Sequence[SlotBatch], held: Mapping[int, Holding], *, shards: int, own_way: bool, unknown: str = ""
) -> Cargo:
    """Of a pair goes the same share of its keys and bytes as of its slots. `unknown` is a reason that is known beforehand."""
    slots = sum(batch.size for batch in batches)
    if unknown:
        return Cargo(slots, None, None, shards, own_way, unknown)
    keys = size = 0.0
    for batch in batches:
        holding = held.get(batch.source)
        if holding is None or holding.keys is None or holding.bytes is None:
            told = f"How much pair {batch.source} holds is not known: there is no recent sample of its primary."
            return Cargo(slots, None, None, shards, own_way, told)
        share = batch.size / max(1, holding.slots)
        keys += share * holding.keys
        size += share * holding.bytes
    return Cargo(slots, round(keys), round(size), shards, own_way)


def estimate(of: Cargo, pace: ReshardingPace) -> Estimate:
    """How long it takes and what clients notice."""
    rates = RATES[of.own_way, pace]
    basis = f"{OWN_WAY if of.own_way else MIGRATE}: {rates.source}"
    if of.slots == 0 and of.shards == 0:
        return Estimate(0, "Nothing moves.", "Clients notice nothing.", basis)
    if of.keys is None or of.bytes is None:
        return Estimate(None, f"How long it takes is not known. {of.unknown}", rates.latency, basis)
    seconds = rounded((START_SECONDS if of.shards else 0.0) + _moving(of.own_way, pace, of.slots, of.keys, of.bytes))
    return Estimate(seconds, f"about {words(seconds)}", rates.latency, basis)


def _moving(own_way: bool, pace: ReshardingPace, slots: int, keys: int, size: int) -> float:
    """Seconds from the first slot to the last."""
    rates = RATES[own_way, pace]
    if own_way and pace == "gentle":
        # Its rests end when slots have gone as slowly as valkey-cli moves them, or their keys.
        worth = min(slots / rates.slots, keys / rates.keys + size / rates.bytes)
        return max(GENTLE_AT_LEAST * _moving(own_way, "fast", slots, keys, size), worth)
    return slots / rates.slots + max(keys / rates.keys, size / rates.bytes)


def rounded(seconds: float) -> int:
    """Up to 5 s below a minute, 15 s below five, a minute below an hour, 10 minutes below six hours, an hour above."""
    for limit, step in ((60, 5), (300, 15), (3600, 60), (21_600, 600)):
        if seconds <= limit:
            return max(5, ceil(seconds / step) * step)
    return ceil(seconds / 3600) * 3600


def words(seconds: int) -> str:
    """`40 s`, `1 min 15 s`, `20 min`, `1 h 30 min`, `26 h`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
        f"{rest} s" if rest and not hours else "",
    ]
    return " ".join(part for part in parts if part) or "0 s"
