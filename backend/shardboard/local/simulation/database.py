"""One simulated database in cluster mode: its shards and their roles. A change is known to all shards at once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from shardboard.contract import Peer, ShardSpec

SLOTS = 16_384


@dataclass
class Member:
    """A shard that was started and not removed."""

    spec: ShardSpec
    address: str
    pair: str
    is_dead: bool = False
    awaits_promotion: bool = False
    """A primary that was started as a replica, until it is promoted for the first time."""


class SimulatedDatabase:
    """Members by engine id."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._peers: dict[str, Peer] = {}
        """By engine id, as in the newest request to start shards."""
        self._pair_of: dict[str, str] = {}
        """Pair of each described shard. After a failover, the console describes it with another ID."""
        self._pairs: dict[str, set[str]] = defaultdict(set)
        """Engine ids of the members of each pair."""
        self._primaries: dict[str, str] = {}
        """Engine id of the primary of each pair."""
        self._epochs: dict[str, int] = {}
        """Configuration epoch of each pair."""
        self._lines: dict[str, str] = {}
        """Lines of CLUSTER NODES by engine id; empty after a change."""

    def learn(self, peers: Iterable[Peer]) -> None:
        """Add the shards that a request describes. Known pairs keep their primary."""
        for peer in sorted(peers, key=lambda each: each.primary_engine_id is not None):
            self._peers[peer.engine_id] = peer
            pair = self._pair_of.get(peer.primary_engine_id or "", peer.pair_id)
            pair = self._pair_of.setdefault(peer.engine_id, pair)
            if peer.primary_engine_id is None and pair not in self._primaries:
                self._primaries[pair], self._epochs[pair] = peer.engine_id, peer.epoch

    def add(self, spec: ShardSpec, address: str) -> None:
        """Start a shard that `learn` has described."""
        pair = self._pair_of[spec.engine_id]
        self.members[spec.engine_id] = Member(spec, address, pair, awaits_promotion=spec.swap_with is not None)
        self._pairs[pair].add(spec.engine_id)
        self._lines.clear()

    def remove(self, engine_id: str) -> None:
        member = self.members.pop(engine_id)
        self._pairs[member.pair].discard(engine_id)
        self._lines.clear()

    def kill(self, engine_id: str) -> None:
        self.members[engine_id].is_dead = True
        self._lines.clear()

    def promote(self, engine_id: str) -> None:
        member = self.members[engine_id]
        member.awaits_promotion = False
        if self._primaries.get(member.pair) != engine_id:
            self._primaries[member.pair] = engine_id
            self._epochs[member.pair] = 1 + max(self._epochs.values(), default=0)
        self._lines.clear()

    def is_primary(self, engine_id: str) -> bool:
        member = self.members[engine_id]
        return self._primaries.get(member.pair) == engine_id and not member.awaits_promotion

    def primary_of(self, engine_id: str) -> Member | None:
        """Return the primary that a replica follows; None for a primary, and if the primary was removed."""
        primary = self._primaries.get(self.members[engine_id].pair)
        return self.members.get(primary) if primary is not None and primary != engine_id else None

    def replicas_of(self, engine_id: str) -> list[Member]:
        """Return the running replicas of a primary; empty for a replica."""
        others = self._pairs[self.members[engine_id].pair] - {engine_id}
        return [self.members[each] for each in others if self.is_primary(engine_id) and not self.members[each].is_dead]

    def replication(self, engine_id: str) -> str:
        """Return the reply to INFO replication."""
        if self.is_primary(engine_id):
            return f"role:master\r\nconnected_slaves:{len(self.replicas_of(engine_id))}\r\nmaster_repl_offset:0\r\n"
        primary = self.primary_of(engine_id)
        link = "up" if primary is None or not primary.is_dead else "down"
        source = f"master_host:{primary.address}\r\nmaster_port:{primary.spec.port}\r\n" if primary is not None else ""
        return (
            f"role:slave\r\n{source}master_link_status:{link}\r\nmaster_sync_in_progress:0\r\nslave_repl_offset:0\r\n"
        )

    def cluster_info(self, engine_id: str) -> str:
        """Return the reply to CLUSTER INFO."""
        fields = {
            "cluster_state": "ok",
            "cluster_slots_assigned": SLOTS,
            "cluster_slots_ok": SLOTS,
            "cluster_known_nodes": len(self.members),
            "cluster_current_epoch": max(self._epochs.values(), default=0),
            "cluster_my_epoch": self._epochs.get(self.members[engine_id].pair, 0),
        }
        return "".join(f"{name}:{value}\r\n" for name, value in fields.items())

    def cluster_nodes(self, engine_id: str) -> str:
        """Return the reply to CLUSTER NODES."""
        if not self._lines:
            slots = self._slots_by_pair()
            self._lines = {each: self._line(each, slots) for each in self.members}
        own = self._lines[engine_id].replace(" master", " myself,master", 1).replace(" slave", " myself,slave", 1)
        return "".join(own if each == engine_id else line for each, line in self._lines.items())

    def _slots_by_pair(self) -> dict[str, str]:
        """Return the slots of each pair in the format of CLUSTER NODES."""
        return {
            self._pair_of[peer.engine_id]: "".join(
                f" {first}-{last}" if last > first else f" {first}" for first, last in peer.slots
            )
            for peer in self._peers.values()
            if peer.slots
        }

    def _line(self, engine_id: str, slots: dict[str, str]) -> str:
        member, is_primary = self.members[engine_id], self.is_primary(engine_id)
        flags = f"{'master' if is_primary else 'slave'}{',fail' if member.is_dead else ''}"
        address = f"{member.address}:{member.spec.port}@{member.spec.bus_port}"
        primary = "-" if is_primary else self._primaries.get(member.pair, "-")
        epoch, link = self._epochs.get(member.pair, 0), "disconnected" if member.is_dead else "connected"
        owned = slots.get(member.pair, "") if is_primary else ""
        return f"{engine_id} {address} {flags} {primary} 0 0 {epoch} {link}{owned}\n"
