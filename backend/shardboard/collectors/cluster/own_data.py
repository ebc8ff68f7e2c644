"""Ownership of reported data: an agent reports about the shards of one node and about databases that exist. Everything else is
removed before it is processed, because a faulty or hostile agent can report anything.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from shardboard.collectors.metrics.sample_seconds import ShardPlace
from shardboard.driver.interfaces import Sample, max_line_bytes

V = TypeVar("V")


@dataclass(frozen=True)
class OwnData:
    """Uids about which the agent of a node may report."""

    shards: frozenset[int] = frozenset()
    """Shards of the node."""
    databases: frozenset[int] = frozenset()
    """Databases of these shards."""
    served: frozenset[int] = frozenset()
    """Databases that its proxy can serve: all."""
    unknown_shards: int = 0
    """Number of its shards that the store does not contain. The agent reports them, and they are ignored."""

    @property
    def max_line_bytes(self) -> int:
        """Maximum length of a sample."""
        return max_line_bytes(len(self.shards) + self.unknown_shards, len(self.served))


def own_data(members: Mapping[int, ShardPlace], unknown: Mapping[int, Collection[int]]) -> dict[int, OwnData]:
    """Return the data of each node that has shards. `unknown` are uids of shards by node that the store does not contain: a row
    with such a uid belongs to another shard.
    """
    uids_by_node = defaultdict(set)
    for uid, member in members.items():
        uids_by_node[member.node_uid].add(uid)
    served = frozenset(member.bdb_uid for member in members.values())
    found = {}
    for node_uid in uids_by_node.keys() | unknown.keys():
        foreign = unknown.get(node_uid, ())
        own = uids_by_node[node_uid].difference(foreign)
        found[node_uid] = OwnData(frozenset(own), frozenset(members[uid].bdb_uid for uid in own), served, len(foreign))
    return found


def keep_own(sample: Sample, own: OwnData) -> Sample:
    """Return the part of a sample about own data, usually all of it."""
    parts = {
        **{name: _kept(getattr(sample, name), own.shards) for name in ("shards", "tiers", "missing", "died")},
        "pings": _kept(sample.pings, own.databases),
    }
    changed: dict[str, object] = {name: part for name, part in parts.items() if part is not getattr(sample, name)}
    if sample.proxy is not None:
        databases = _kept(sample.proxy.databases, own.served)
        if databases is not sample.proxy.databases:
            changed["proxy"] = sample.proxy.model_copy(update={"databases": databases})
    if sample.late_proxy is not None:
        reading = sample.late_proxy.reading
        databases = _kept(reading.databases, own.served)
        if databases is not reading.databases:
            reading = reading.model_copy(update={"databases": databases})
            changed["late_proxy"] = sample.late_proxy.model_copy(update={"reading": reading})
    if not all(outage.uid in own.served for outage in sample.outages):
        changed["outages"] = [outage for outage in sample.outages if outage.uid in own.served]
    return sample.model_copy(update=changed) if changed else sample


def without_shards(sample: Sample, uids: Collection[int]) -> Sample:
    """Return a sample without what it reports about these shards."""
    if not uids:
        return sample
    names = ("shards", "tiers", "missing", "died")
    kept = {name: {uid: value for uid, value in getattr(sample, name).items() if uid not in uids} for name in names}
    return sample.model_copy(update=kept)


def _kept(part: dict[int, V], uids: frozenset[int]) -> dict[int, V]:
    return part if part.keys() <= uids else {uid: value for uid, value in part.items() if uid in uids}
