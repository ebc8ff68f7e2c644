"""Placement of shards on nodes, as a pure function of the known nodes.

Sparse placement spreads primaries over as many nodes as possible, dense placement uses as few as possible. A replica is never on
the node of its primary, and in a rack-aware database not in its zone. The replicas of one node's primaries are spread over the
other nodes, to share the load of a lost node.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shardboard.domain.placement import zones as zone_rules
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.placement.zones import NO_ZONES, ZoneCapacity, Zones

SHARD_PORTS = range(20000, 25000)
BUS_OFFSET = 5000
"""Distance of the cluster bus port from the client port. It is always set, because the engine's default of 10000 results in ports
in the ephemeral range."""


@dataclass(frozen=True)
class NodeCapacity:
    """Free capacity of one node."""

    node_uid: int
    free_memory: int
    """Bytes that are not assigned to databases; negative if overbooked."""
    shards: int
    max_shards: int
    free_flash: int | None = None
    """Bytes of flash that are not assigned to databases; None if the node has no flash."""

    @property
    def is_full(self) -> bool:
        """Whether the node has the maximum number of shards."""
        return self.shards >= self.max_shards

    def has_flash_for(self, flash: int | None, count: int = 1) -> bool:
        """Return whether `count` shards that need `flash` bytes each fit; None = none needed. Flash is never overbooked."""
        return flash is None or (self.free_flash is not None and count * flash <= self.free_flash)

    def fitting_shards(self, memory: int, flash: int | None) -> int:
        """Return how many shards fit that need `memory` bytes (0 = not counted) and `flash` bytes (None = none needed)."""
        limits = [self.max_shards - self.shards]
        limits += [self.free_memory // memory] if memory else []
        limits += [(self.free_flash or 0) // flash] if flash else []
        return max(0, min(limits))


@dataclass(frozen=True)
class PlacedShard:
    """The node of one planned shard."""

    pair: int
    role: str
    node_uid: int


class InsufficientCapacity(Exception):
    """There is not enough capacity; the text is a message for users."""


class InsufficientZones(InsufficientCapacity):
    """There is not enough capacity in different zones."""


def place(
    capacities: Sequence[NodeCapacity],
    *,
    pairs: int,
    replication: bool,
    policy: str,
    shard_memory: int,
    overbooking: bool,
    shard_flash: int | None = None,
    existing: Sequence[PlacedShard] = (),
    zones: Mapping[int, Zones] | None = None,
) -> list[PlacedShard]:
    """Return a node for each primary and, with `replication`, for one replica of each; pairs are counted from 0.

    `existing` are existing shards of the database; the new ones are spread as if all were placed together. `policy` is sparse or
    dense, `shard_memory` is bytes per shard (0 = no limit), `shard_flash` is bytes of flash (None = not on flash). With
    `overbooking`, memory is not checked; flash is always checked. `zones` are the zones of the nodes if the database is rack-aware.
    Raises InsufficientCapacity if there are too few nodes, too many shards, too little flash or, without overbooking, too little
    memory, and InsufficientZones if only the zones are the reason.
    """
    if not capacities:
        raise InsufficientCapacity("No node with a connected agent accepts shards. Add a node, or reconnect an agent.")
    if replication and len(capacities) < 2:
        raise InsufficientCapacity(
            "Replication needs at least two nodes, because a replica on the node of its primary would be lost together with it."
        )
    if shard_flash is not None:
        capacities = [capacity for capacity in capacities if capacity.free_flash is not None]
        if len(capacities) < (2 if replication else 1):
            raise InsufficientCapacity(
                f"A database on flash{' with replication' if replication else ''} needs at least "
                f"{'two nodes' if replication else 'one node'} with flash that accept shards, but there "
                f"{'is one' if capacities else 'are none'}. Start agents with --flash."
            )
    shard_memory = 0 if overbooking else shard_memory
    zone_capacity = None
    if zones is not None and replication:
        fitting = {each.node_uid: each.fitting_shards(shard_memory, shard_flash) for each in capacities}
        zone_capacity = _zone_capacity(fitting, zones, pairs)
        if zone_capacity is not None:
            capacities = [each for each in capacities if zones.get(each.node_uid)]
    plan = _Plan(capacities, shard_memory, existing, shard_flash, zones or {}, zone_capacity)
    choose = plan.densest if policy == "dense" else plan.emptiest
    primaries = [
        PlacedShard(pair, ShardRole.PRIMARY, plan.take(choose(avoid=None), ShardRole.PRIMARY)) for pair in range(pairs)
    ]
    if not replication:
        return primaries
    replicas = [
        PlacedShard(p.pair, ShardRole.REPLICA, plan.take(choose(avoid=p.node_uid), ShardRole.REPLICA, of=p.node_uid))
        for p in primaries
    ]
    return primaries + replicas


def _zone_capacity(fitting: Mapping[int, int], zones: Mapping[int, Zones], pairs: int) -> ZoneCapacity | None:
    """Return the capacity of the zones; None if there is too little even without regard to zones, which is another error."""
    if sum(fitting.values()) < 2 * pairs:
        return None
    capacity = ZoneCapacity({uid: count for uid, count in fitting.items() if zones.get(uid)}, zones, pairs)
    if not capacity.is_sufficient():
        without_zone = {uid: count for uid, count in fitting.items() if count and not zones.get(uid)}
        raise InsufficientZones(zone_rules.shortage_message(capacity, pairs, without_zone))
    return capacity


class _Plan:
    """Remaining capacity while shards are placed."""

    def __init__(
        self,
        capacities: Sequence[NodeCapacity],
        shard_memory: int,
        existing: Sequence[PlacedShard],
        shard_flash: int | None,
        zones: Mapping[int, Zones],
        zone_capacity: ZoneCapacity | None,
    ) -> None:
        """With `zone_capacity`, the copies of a pair are in different zones."""
        self._zones = zones
        self._zone_capacity = zone_capacity
        self._rooms = sorted(capacities, key=lambda capacity: capacity.node_uid)
        self._shard_memory = shard_memory
        self._shard_flash = shard_flash
        self._placed: Counter[int] = Counter()
        self._by_role: Counter[tuple[int, str]] = Counter()
        self._partners: Counter[tuple[int, int]] = Counter()
        primary_nodes = {shard.pair: shard.node_uid for shard in existing if shard.role == ShardRole.PRIMARY}
        for shard in existing:
            self._by_role[shard.node_uid, shard.role] += 1
            if shard.role == ShardRole.REPLICA and shard.pair in primary_nodes:
                self._partners[primary_nodes[shard.pair], shard.node_uid] += 1

    def take(self, node_uid: int, role: str, of: int | None = None) -> int:
        self._placed[node_uid] += 1
        self._by_role[node_uid, role] += 1
        if of is not None:
            self._partners[of, node_uid] += 1
        if self._zone_capacity is not None:
            self._zone_capacity.take(node_uid, of)
        return node_uid

    def emptiest(self, avoid: int | None) -> int:
        role = ShardRole.PRIMARY if avoid is None else ShardRole.REPLICA
        return min(
            self._open(avoid),
            key=lambda capacity: (
                # Checked before the number of replicas, otherwise one node could get all replicas of another one.
                self._partners[avoid, capacity.node_uid] if avoid is not None else 0,
                self._by_role[capacity.node_uid, role],
                capacity.shards + self._placed[capacity.node_uid],
                # Otherwise the first of several equal nodes would get most replicas.
                self._after(capacity, avoid),
            ),
        ).node_uid

    def _after(self, capacity: NodeCapacity, avoid: int | None) -> int:
        """Return the distance from the node to avoid, in the ring of nodes."""
        uids = [each.node_uid for each in self._rooms]
        start = uids.index(avoid) if avoid in uids else 0
        return (uids.index(capacity.node_uid) - start) % len(uids)

    def densest(self, avoid: int | None) -> int:
        # Fill the most used node first; among unused nodes prefer the one with the most free memory.
        role = ShardRole.PRIMARY if avoid is None else ShardRole.REPLICA
        return max(
            self._open(avoid),
            key=lambda capacity: (
                self._by_role[capacity.node_uid, role],
                self._placed[capacity.node_uid],
                capacity.free_memory,
                -capacity.node_uid,
            ),
        ).node_uid

    def _open(self, avoid: int | None) -> list[NodeCapacity]:
        fitting = [
            capacity
            for capacity in self._rooms
            if capacity.node_uid != avoid
            and self._fits(capacity)
            and (self._zone_capacity is None or self._is_separate(self._zone_capacity, capacity.node_uid, avoid))
        ]
        if not fitting:
            total_placed = sum(self._placed.values())
            raise InsufficientCapacity(
                f"The nodes have no capacity left after {total_placed} shards: "
                + ", ".join(self._describe(capacity) for capacity in self._rooms)
                + ". Reduce the size of the database, add a node, or allow overbooking (policy shards_overbooking)."
            )
        return fitting

    def _is_separate(self, zone_capacity: ZoneCapacity, node_uid: int, avoid: int | None) -> bool:
        """Return whether the node is in another zone than the node `avoid`, and the remaining shards find places as well."""
        if avoid is not None and not zone_rules.are_separate(self._zones[node_uid], self._zones.get(avoid, NO_ZONES)):
            return False
        return zone_capacity.can_take(node_uid, avoid)

    def _fits(self, capacity: NodeCapacity) -> bool:
        placed_count = self._placed[capacity.node_uid]
        if capacity.shards + placed_count >= capacity.max_shards or not capacity.has_flash_for(
            self._shard_flash, placed_count + 1
        ):
            return False
        return self._shard_memory == 0 or (placed_count + 1) * self._shard_memory <= capacity.free_memory

    def _describe(self, capacity: NodeCapacity) -> str:
        free = capacity.free_memory / 2**30
        flash = "" if self._shard_flash is None else f" and {max(capacity.free_flash or 0, 0) / 2**30:.1f} GiB of flash"
        return (
            f"node {capacity.node_uid} has {max(free, 0):.1f} GiB{flash} available and runs {capacity.shards} of at most "
            f"{capacity.max_shards} shards"
        )


def first_free_port(taken: Collection[int]) -> int | None:
    """Return the lowest port that is not used by a shard of the node; None if all are used."""
    return next((port for port in SHARD_PORTS if port not in taken), None)
