"""Seconds while their samples arrive, as compact as hundreds of shards over some minutes need it, and the rows made of them."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan, nan

from shardboard.domain import shard_rates
from shardboard.domain.rates import MAX_STEP, Value
from shardboard.domain.shard_rates import PLACE, ShardRates
from shardboard.driver.ports import SHARD_FIELDS

Raw = dict[str, Value]

RATES = ShardRates(SHARD_FIELDS)
_PRIMARY, _OFFSET = RATES.fields["is_primary"], RATES.fields["repl_offset"]
_LAG = PLACE["repl_lag_bytes"]


@dataclass(frozen=True)
class Member:
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


class Reading(Mapping[str, Value]):
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
        self, members: Mapping[int, Member], second: Second, past: "Sequence[tuple[int, dict[int, array[float]]]]"
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


def past_of(seconds: Mapping[int, Second], t: int) -> list[tuple[int, Second]]:
    """The seconds before `t` that are still known and near enough for a rate, nearest first, with how long ago each was."""
    return [(ago, seconds[t - ago]) for ago in range(1, MAX_STEP + 1) if t - ago in seconds]
