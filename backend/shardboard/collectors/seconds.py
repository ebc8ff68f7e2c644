"""Seconds while their samples arrive, as compact as hundreds of shards over some minutes need it, and the rows made of them."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan, nan

from shardboard.domain import flash_rates, shard_rates
from shardboard.domain.rates import MAX_STEP, Value
from shardboard.domain.shard_rates import PLACE, ShardRates
from shardboard.driver.ports import SHARD_FIELDS, TIER_FIELDS, Sample

Raw = dict[str, Value]

RATES = ShardRates(SHARD_FIELDS)
_STARTED, _USED = RATES.fields["started_at"], RATES.fields["used_memory"]
_PRIMARY, _OFFSET = RATES.fields["is_primary"], RATES.fields["repl_offset"]
_LAG = PLACE["repl_lag_bytes"]


@dataclass(frozen=True)
class ShardPlace:
    """Where a shard belongs."""

    bdb_uid: int
    pair: int
    node_uid: int


@dataclass
class Second:
    """What was told of one second so far."""

    nodes: dict[int, Raw] = field(default_factory=dict)
    shards: "dict[int, array[float]]" = field(default_factory=dict)
    """By `RATES.pack`."""
    tiers: "dict[int, array[float]]" = field(default_factory=dict)
    """Of shards on flash, in the order of TIER_FIELDS."""
    pings: "dict[tuple[int, int], array[int]]" = field(default_factory=dict)
    """Microseconds of every PING, by database and node."""
    died: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    """Shards that run and told nothing."""
    endpoints: dict[tuple[int, int], Mapping[str, Value]] = field(default_factory=dict)
    """By database and node."""
    at: float = 0.0
    first_arrival: float = 0.0
    told: bool = False

    def probes(self, bdb_uid: int | None = None) -> list[int]:
        """What all PINGs of one database took, or of all databases."""
        found = (pings for (uid, _), pings in self.pings.items() if bdb_uid in (None, uid))
        return list(chain.from_iterable(found))


class PackedSample(Mapping[str, Value]):
    """One packed sample by the agent's names."""

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


class Shards:
    """The computed rows of one second, by uid."""

    def __init__(
        self, members: Mapping[int, ShardPlace], second: Second, past: "Sequence[tuple[int, dict[int, array[float]]]]"
    ) -> None:
        """`past` are the shards of the seconds before that are still known, nearest first, with how long ago each was."""
        self.rows: dict[int, array[float]] = {}
        self.leading: set[int] = set()
        self._members = members
        for uid, raw in second.shards.items():
            if uid in members:
                ago, before = next(((ago, found[uid]) for ago, found in past if uid in found), (0, None))
                self.rows[uid] = RATES.row(raw, before, ago)
                if raw[_PRIMARY] == 1.0:
                    self.leading.add(uid)
        if len(self.leading) < len(self.rows):
            self._compute_lag(second)

    def _compute_lag(self, second: Second) -> None:
        offsets = {}
        for uid in self.leading:
            member = self._members[uid]
            offsets[member.bdb_uid, member.pair] = second.shards[uid][_OFFSET]
        for uid in self.rows.keys() - self.leading:
            member = self._members[uid]
            ahead = offsets.get((member.bdb_uid, member.pair), nan)
            self.rows[uid][_LAG] = max(ahead - second.shards[uid][_OFFSET], 0.0)

    def together(self, uids: Sequence[int], probes: Sequence[int]) -> list[float]:
        """Those of `uids` that are known, as one row in the order of BDB_METRICS."""
        return shard_rates.database(*self._split(uids), probes)

    def of_node(self, uids: Sequence[int]) -> dict[str, Value]:
        """What a node's row says of its shards."""
        leading, following = self._split(uids)
        total = {name: sum(row[PLACE[name]] for row in leading) for name in ("total_req", "connected_clients")}
        everyone = (*leading, *following)
        return {
            "total_req": total["total_req"],
            "conns": total["connected_clients"],
            "used_memory": sum(row[PLACE["used_memory"]] for row in everyone),
            "cur_aof_rewrites": sum(row[PLACE["aof_rewrite_inprog"]] for row in everyone),
        }

    def _split(self, uids: Sequence[int]) -> "tuple[list[array[float]], list[array[float]]]":
        leading = [self.rows[uid] for uid in uids if uid in self.leading]
        following = [self.rows[uid] for uid in uids if uid in self.rows and uid not in self.leading]
        return leading, following


class Tiers:
    """The computed rows of one second of shards on flash, by uid."""

    def __init__(self, shards: Shards, second: Second, past: Sequence[tuple[int, Second]]) -> None:
        self.rows: dict[int, flash_rates.Row] = {}
        self._leading = shards.leading
        for uid, raw in second.tiers.items():
            if uid in shards.rows:
                started, used = second.shards[uid][_STARTED], second.shards[uid][_USED]
                ago, before = next(((ago, then) for ago, then in past if uid in then.tiers), (0, None))
                # Of another process nothing can be said.
                same = before is not None and uid in before.shards and before.shards[uid][_STARTED] == started
                earlier = _named(before.tiers[uid]) if before is not None and same else None
                self.rows[uid] = flash_rates.row(_named(raw), earlier, ago, used)

    def together(self, uids: Sequence[int]) -> dict[str, float] | None:
        """One database; None when it is not on flash, or one of its shards did not tell."""
        if not uids or not all(uid in self.rows for uid in uids):
            return None
        leading = [self.rows[uid] for uid in uids if uid in self._leading]
        return flash_rates.database(leading, [self.rows[uid] for uid in uids if uid not in self._leading])

    def of_node(self, uids: Sequence[int]) -> dict[str, Value]:
        return flash_rates.disk(self.rows[uid] for uid in uids if uid in self.rows)


def _named(raw: "array[float]") -> dict[str, float]:
    return dict(zip(TIER_FIELDS, raw, strict=True))


def about_own(sample: Sample, node_uid: int, members: Mapping[int, ShardPlace]) -> Sample:
    """A sample without what an agent says of shards that are known to be elsewhere, and of databases that have none with it."""

    def elsewhere(uid: int) -> bool:
        return uid in members and members[uid].node_uid != node_uid

    told = {*sample.shards, *sample.missing, *sample.died}
    strange = {uid for uid in told if elsewhere(uid)}
    own = {members[uid].bdb_uid for uid in told - strange if uid in members}
    foreign = sample.pings.keys() - own
    if not strange and not foreign:
        return sample
    parts = {name: getattr(sample, name) for name in ("shards", "tiers", "missing", "died")}
    kept = {name: {uid: said for uid, said in part.items() if uid not in strange} for name, part in parts.items()}
    pings = {uid: taken for uid, taken in sample.pings.items() if uid not in foreign}
    return sample.model_copy(update={**kept, "pings": pings})


def past_of(seconds: Mapping[int, Second], t: int) -> list[tuple[int, Second]]:
    """The seconds before `t` that are still known and near enough for a rate, nearest first, with how long ago each was."""
    return [(ago, seconds[t - ago]) for ago in range(1, MAX_STEP + 1) if t - ago in seconds]
