"""Compact storage of seconds while their samples arrive, and the rows that are computed from them."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan, nan

from shardboard.domain.metrics import flash_rates, shard_rates
from shardboard.domain.metrics.rates import MAX_STEP, Value
from shardboard.domain.metrics.shard_rates import PLACE, ShardRates
from shardboard.driver.interfaces import SHARD_FIELDS, TIER_FIELDS, Sample

Raw = dict[str, Value]

RATES = ShardRates(SHARD_FIELDS)
_STARTED, _USED = RATES.fields["started_at"], RATES.fields["used_memory"]
_PRIMARY, _OFFSET = RATES.fields["is_primary"], RATES.fields["repl_offset"]
_LAG = PLACE["repl_lag_bytes"]


@dataclass(frozen=True)
class ShardPlace:
    """Database, pair and node of a shard."""

    bdb_uid: int
    pair: int
    node_uid: int
    has_slots: bool = True
    """Whether slots are assigned to it, as to the primaries of pairs that serve clients."""


@dataclass
class Second:
    """Data of one second that has arrived so far."""

    nodes: dict[int, Raw] = field(default_factory=dict)
    shards: "dict[int, array[float]]" = field(default_factory=dict)
    """Values of shards, packed by `RATES.pack`."""
    tiers: "dict[int, array[float]]" = field(default_factory=dict)
    """Values of shards on flash, in the order of TIER_FIELDS."""
    pings: "dict[tuple[int, int], array[int]]" = field(default_factory=dict)
    """Microseconds of all PINGs, by database and node."""
    died: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    """Shards that are running, but reported no values."""
    endpoints: dict[tuple[int, int], Mapping[str, Value]] = field(default_factory=dict)
    """Metrics of endpoints, by database and node."""
    proxies: dict[int, int] = field(default_factory=dict)
    """Start of the process of each proxy that reported (`ProxyReading.started_ms`), by node."""
    silent_proxies: set[int] = field(default_factory=set)
    """Nodes whose proxy is running, but reported no values."""
    completed_at: float = 0.0
    first_arrival: float = 0.0
    is_published: bool = False

    def probes(self, bdb_uid: int | None = None) -> list[int]:
        """Return the microseconds of all PINGs of one database, or of all databases."""
        ping_lists = (pings for (uid, _), pings in self.pings.items() if bdb_uid in (None, uid))
        return list(chain.from_iterable(ping_lists))


class PackedSample(Mapping[str, Value]):
    """Mapping of one packed sample by the agent's field names."""

    __slots__ = ("_raw",)

    def __init__(self, raw: "array[float]") -> None:
        self._raw = raw

    def __getitem__(self, name: str) -> Value:
        value = self._raw[RATES.fields[name]]
        return None if isnan(value) else value

    def __iter__(self) -> Iterator[str]:
        return iter(RATES.fields)

    def __len__(self) -> int:
        return len(RATES.fields)


class ShardRows:
    """Computed rows of shards in one second, by uid."""

    def __init__(
        self,
        members: Mapping[int, ShardPlace],
        second: Second,
        earlier: "Sequence[tuple[int, dict[int, array[float]]]]",
    ) -> None:
        """`earlier` contains the shards of earlier seconds that are still known, newest first, with their age in seconds."""
        self.rows: dict[int, array[float]] = {}
        self.primary_uids: set[int] = set()
        self._members = members
        self._missing = second.missing
        for uid, raw in second.shards.items():
            if uid in members:
                age, previous = next(((age, seconds[uid]) for age, seconds in earlier if uid in seconds), (0, None))
                self.rows[uid] = RATES.row(raw, previous, age)
                if raw[_PRIMARY] == 1.0:
                    self.primary_uids.add(uid)
        if len(self.primary_uids) < len(self.rows):
            self._compute_lag(second)

    def _compute_lag(self, second: Second) -> None:
        offsets = {}
        for uid in self.primary_uids:
            member = self._members[uid]
            offsets[member.bdb_uid, member.pair] = second.shards[uid][_OFFSET]
        for uid in self.rows.keys() - self.primary_uids:
            member = self._members[uid]
            primary_offset = offsets.get((member.bdb_uid, member.pair), nan)
            self.rows[uid][_LAG] = max(primary_offset - second.shards[uid][_OFFSET], 0.0)

    def database_row(self, uids: Sequence[int], probes: Sequence[int]) -> list[float]:
        """Return the sums of the known `uids` as one row in the order of BDB_METRICS."""
        return shard_rates.database(*self._split(uids), probes)

    def node_row(self, uids: Sequence[int]) -> dict[str, Value]:
        """Return the part of a node's row that is computed from its shards; unknown if one of them has no values."""
        if not self._missing.isdisjoint(uids):
            return dict.fromkeys(("total_req", "conns", "used_memory", "cur_aof_rewrites"))
        primaries, replicas = self._split(uids)
        total = {name: sum(row[PLACE[name]] for row in primaries) for name in ("total_req", "connected_clients")}
        all_rows = (*primaries, *replicas)
        return {
            "total_req": total["total_req"],
            "conns": total["connected_clients"],
            "used_memory": sum(row[PLACE["used_memory"]] for row in all_rows),
            "cur_aof_rewrites": sum(row[PLACE["aof_rewrite_inprog"]] for row in all_rows),
        }

    def _split(self, uids: Sequence[int]) -> "tuple[list[array[float]], list[array[float]]]":
        primaries = [self.rows[uid] for uid in uids if uid in self.primary_uids]
        replicas = [self.rows[uid] for uid in uids if uid in self.rows and uid not in self.primary_uids]
        return primaries, replicas


class FlashShardRows:
    """Computed rows of shards on flash in one second, by uid."""

    def __init__(self, shards: ShardRows, second: Second, past: Sequence[tuple[int, Second]]) -> None:
        self.rows: dict[int, flash_rates.FlashRow] = {}
        self._leading = shards.primary_uids
        for uid, raw in second.tiers.items():
            if uid in shards.rows:
                started_at, used_memory = second.shards[uid][_STARTED], second.shards[uid][_USED]
                age, previous = next(
                    ((age, past_second) for age, past_second in past if uid in past_second.tiers), (0, None)
                )
                # Counters of another process cannot be compared.
                is_same_process = (
                    previous is not None and uid in previous.shards and previous.shards[uid][_STARTED] == started_at
                )
                previous_values = _named(previous.tiers[uid]) if previous is not None and is_same_process else None
                self.rows[uid] = flash_rates.row(_named(raw), previous_values, age, used_memory)

    def database_row(self, uids: Sequence[int]) -> dict[str, float] | None:
        """Return the row of one database; None if it is not on flash or one of its shards has no values."""
        if not uids or not all(uid in self.rows for uid in uids):
            return None
        primaries = [self.rows[uid] for uid in uids if uid in self._leading]
        return flash_rates.database(primaries, [self.rows[uid] for uid in uids if uid not in self._leading])

    def node_row(self, uids: Sequence[int]) -> dict[str, Value]:
        return flash_rates.disk(self.rows[uid] for uid in uids if uid in self.rows)


def _named(raw: "array[float]") -> dict[str, float]:
    return dict(zip(TIER_FIELDS, raw, strict=True))


def without_foreign_shards(sample: Sample, node_uid: int, members: Mapping[int, ShardPlace]) -> Sample:
    """Return a sample without shards that are known to be on other nodes, and without databases that have no shards on the node."""

    def elsewhere(uid: int) -> bool:
        return uid in members and members[uid].node_uid != node_uid

    sampled_uids = {*sample.shards, *sample.missing, *sample.died}
    misplaced_uids = {uid for uid in sampled_uids if elsewhere(uid)}
    bdb_uids = {members[uid].bdb_uid for uid in sampled_uids - misplaced_uids if uid in members}
    foreign = sample.pings.keys() - bdb_uids
    if not misplaced_uids and not foreign:
        return sample
    parts = {name: getattr(sample, name) for name in ("shards", "tiers", "missing", "died")}
    remaining = {
        name: {uid: value for uid, value in part.items() if uid not in misplaced_uids} for name, part in parts.items()
    }
    pings = {uid: pings_of_bdb for uid, pings_of_bdb in sample.pings.items() if uid not in foreign}
    return sample.model_copy(update={**remaining, "pings": pings})


def earlier_seconds(seconds: Mapping[int, Second], t: int) -> list[tuple[int, Second]]:
    """Return the seconds before `t` that are known and near enough for a rate, newest first, with their age in seconds."""
    return [(age, seconds[t - age]) for age in range(1, MAX_STEP + 1) if t - age in seconds]
