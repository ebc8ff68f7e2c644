"""Shards and endpoints that an agent reports and the store does not contain.

They belong to a database that is newer than the backup from which the store was restored, or to another store. They are not
changed; their uids, ports and memory count as occupied.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from shardboard.domain.placement.shard_placement import BUS_OFFSET

LARGEST_UID = 2**30
"""Counters are not raised above this limit: no store has issued as many uids, and an agent must not be able to use them up."""


@dataclass(frozen=True)
class UnknownShard:
    """A shard without a row. Sizes are in bytes; 0 = unlimited or unknown."""

    uid: int
    bdb_uid: int
    engine_id: str
    port: int | None = None
    """None if the release of the agent does not report it."""
    bus_port: int | None = None
    memory: int = 0
    flash: int = 0


@dataclass(frozen=True)
class UnknownEndpoint:
    """An endpoint of a database none of whose shards has a row."""

    bdb_uid: int
    port: int


@dataclass(frozen=True)
class Unknown:
    """Unknown shards and endpoints of one node."""

    shards: tuple[UnknownShard, ...] = ()
    endpoints: tuple[UnknownEndpoint, ...] = ()

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> "Unknown":
        return cls(
            tuple(UnknownShard(**each) for each in stored.get("shards", ())),
            tuple(UnknownEndpoint(**each) for each in stored.get("endpoints", ())),
        )

    def stored(self) -> dict[str, Any]:
        """Return the JSON form; empty if there are none."""
        if not self.shards and not self.endpoints:
            return {}
        return {"shards": [*map(asdict, self.shards)], "endpoints": [*map(asdict, self.endpoints)]}

    @property
    def bdb_uids(self) -> set[int]:
        return {each.bdb_uid for each in self.shards} | {each.bdb_uid for each in self.endpoints}

    @property
    def shard_ports(self) -> set[int]:
        """Ports that other shards cannot have, because clients or the cluster bus use them."""
        bus = {each.bus_port - BUS_OFFSET for each in self.shards if each.bus_port is not None}
        return bus | {each.port for each in self.shards if each.port is not None}

    @property
    def ports(self) -> set[int]:
        """Ports that endpoints cannot have."""
        return self.shard_ports | {each.port for each in self.endpoints}


def next_uid(present: int, reported: Iterable[int]) -> int:
    """Return the next uid to issue: `present`, or one above the highest reported uid."""
    return max([present, *(uid + 1 for uid in reported if uid < LARGEST_UID)])
