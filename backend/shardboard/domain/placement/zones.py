"""Zones of nodes: a loss of one zone must not take all copies of a pair of a rack-aware database.

A node has a zone (`rack_id`) and possibly a second one (`second_rack_id`); it is lost with either. Nodes without a zone could be
anywhere, so that no copy counts as separate from a copy on such a node.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from shardboard.domain.text import plural

Zones = frozenset[str]
NO_ZONES: Zones = frozenset()
_RACK_ID = r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?"
RACK_ID = f"|{_RACK_ID}"
"""Rules of the Redis Enterprise REST API; empty = no zone."""
RACK_ID_IN_USE = f"^{_RACK_ID}$"
MAX_RACK_ID = 63


def zones_of(*rack_ids: str) -> Zones:
    """Return the zones of a node. IDs are not case-sensitive, and empty ones are no zone."""
    return frozenset(rack_id.lower() for rack_id in rack_ids if rack_id)


def are_separate(first: Zones, second: Zones) -> bool:
    """Return whether two nodes are known to be in different zones."""
    return bool(first) and bool(second) and first.isdisjoint(second)


def is_violation(copies: Sequence[Zones]) -> bool:
    """Return whether the loss of one zone can take all copies of a pair. `copies` are the zones of their nodes.

    A third copy is there only while a copy moves, and two separate copies are sufficient.
    """
    return len(copies) > 1 and not any(are_separate(*pair) for pair in combinations(copies, 2))


def zone_text(zones: Iterable[str]) -> str:
    """Return zones for messages: `zone a`, `zones a and b`."""
    names = sorted(zones)
    return f"zone{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def node_text(node_uids: Iterable[int]) -> str:
    """Return nodes for messages: `node 1`, `nodes 1, 2`."""
    uids = sorted(node_uids)
    return f"node{'s' if len(uids) > 1 else ''} {', '.join(map(str, uids))}"


class ZoneCapacity:
    """Shards that still fit into the zones, and pairs of a rack-aware database that still need places.

    All shards have the same size. The checks are exact if no node has a second zone, and necessary otherwise.
    """

    def __init__(self, fitting: Mapping[int, int], zones: Mapping[int, Zones], pairs: int) -> None:
        """`fitting` is the number of shards that fit on each node with a zone."""
        self._zones = zones
        self._pairs = pairs
        self._names = sorted(frozenset().union(*(zones[uid] for uid in fitting)))
        self._total = sum(fitting.values())
        self._inside = {
            name: sum(count for uid, count in fitting.items() if name in zones[uid]) for name in self._names
        }
        self._waiting: dict[str, int] = dict.fromkeys(self._names, 0)
        """Number of placed primaries without a replica, by zone."""
        self._waiting_total = 0

    def is_sufficient(self) -> bool:
        """Return whether all pairs fit: each zone can take at most one copy of a pair."""
        if self._total < 2 * self._pairs + self._waiting_total:
            return False
        return all(self._total - self._inside[name] >= self._waiting[name] + self._pairs for name in self._names)

    def can_take(self, node_uid: int, primary_uid: int | None) -> bool:
        """Return whether all other pairs still fit after a primary, or the replica of the primary on a node, is on this node."""
        self.take(node_uid, primary_uid)
        is_sufficient = self.is_sufficient()
        self._count(node_uid, primary_uid, -1)
        return is_sufficient

    def take(self, node_uid: int, primary_uid: int | None) -> None:
        self._count(node_uid, primary_uid, 1)

    def _count(self, node_uid: int, primary_uid: int | None, sign: int) -> None:
        self._total -= sign
        for name in self._zones[node_uid]:
            self._inside[name] -= sign
        if primary_uid is None:
            self._pairs -= sign
        self._waiting_total += sign if primary_uid is None else -sign
        for name in self._zones[node_uid if primary_uid is None else primary_uid]:
            self._waiting[name] += sign if primary_uid is None else -sign

    def missing(self) -> int:
        """Return the number of shards that do not fit, with at most one copy of each pair in a zone."""
        usable = sum(min(count, self._pairs) for count in self._inside.values())
        return max(0, 2 * self._pairs - min(usable, self._total))


def shortage_message(capacity: ZoneCapacity, pairs: int, without_zone: Mapping[int, int]) -> str:
    """Return why the pairs of a rack-aware database do not fit, and the smallest change that helps.

    `without_zone` is the number of shards that would fit on each node that has no zone.
    """
    missing = capacity.missing()
    reason = (
        "The two copies of each pair of a rack-aware database must be in different zones, and there is no capacity in different "
        f"zones for {missing} of {plural(2 * pairs, 'shard')}."
    )
    chosen: dict[int, int] = {}
    for uid, count in sorted(without_zone.items(), key=lambda each: (-each[1], each[0])):
        if sum(chosen.values()) < missing:
            chosen[uid] = min(count, pairs)  # a new zone takes at most one copy of each pair
    if sum(chosen.values()) >= missing and len(chosen) == 1:
        return f"{reason} Set rack_id of {node_text(chosen)}, which has no zone, to another zone."
    if sum(chosen.values()) >= missing:
        return f"{reason} Set rack_id of {node_text(chosen)}, which have no zone, to different zones."
    node, zones = ("a node", "another zone") if missing <= pairs else ("nodes", "two other zones")
    return f"{reason} Add {node} with capacity for {plural(missing, 'shard')} in {zones}, or set rack_aware to false."


def obstacle(partners: Mapping[int, Zones], without_zone: Collection[int]) -> str:
    """Return why a copy has no place in another zone, as a clause, and the smallest change that helps.

    `partners` are the nodes of the other copies of its pair with their zones, `without_zone` are nodes with capacity for it that
    have no zone.
    """
    if unknown := [uid for uid, zones in partners.items() if not zones]:
        return f"its other copy is on node {unknown[0]}, which has no zone; set rack_id of node {unknown[0]}"
    zones: Zones = NO_ZONES.union(*partners.values())
    reason = (
        f"no node outside {zone_text(zones)} has enough capacity for it"
        if zones
        else "no node with a zone has enough capacity for it"
    )
    if without_zone:
        return f"{reason}; set rack_id of node {min(without_zone)}, which has no zone"
    return f"{reason}; add a node in another zone"
