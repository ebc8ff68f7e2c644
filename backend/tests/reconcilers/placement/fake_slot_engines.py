"""Fake engines that track slot owners, so that tests can change the number of shards without processes."""

import asyncio
from collections.abc import Sequence
from typing import Any

from backend.tests.reconcilers.placement.fake_engines import ReplicatingAgents

from shardboard.contract import MoveSlots, ShardOutcome, SlotsMoved, StartShards
from shardboard.domain.placement import slots
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef


class SlotMovingAgents(ReplicatingAgents):
    """Engines in which a request moves `batch_size` slots and leaves the next slot migrating."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[int, str] = {}
        """Engine id by slot."""
        self.migrating: dict[int, tuple[str, str]] = {}
        """Source and target by migrating slot."""
        self.batch_size = 1500
        self.pause = 0.0
        """Seconds for which the source pauses after each request."""
        self.failure = ""
        """Reason why no slot moves, or empty."""
        self.stuck_sources: set[int] = set()
        """Uids of sources that no slot leaves."""
        self.removal_delay = 0.0
        """Seconds between the removals of shards on one node and on the next one."""
        self.max_concurrent = 0
        """Highest number of concurrent requests so far."""
        self._concurrent = 0
        self._moves = 0
        self._rendered: tuple[int, dict[str, str]] = (-1, {})
        self._requested_primaries: dict[int, str] = {}
        """Engine id of the primary by replica. The primary may start later than the replica."""

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        outcomes = await FakeAgents.start(self, node, request)
        primaries = {peer.engine_id: peer.primary_engine_id for peer in request.bdb.peers if peer.primary_engine_id}
        for spec in request.shards:
            self.addresses[spec.uid] = (node.addr, spec.port)
            if spec.engine_id in primaries:
                self._requested_primaries[spec.uid] = primaries[spec.engine_id]
        uids = {spec.engine_id: uid for specs in self.running.values() for uid, spec in specs.items()}
        self.primary_of |= {
            uid: uids[primary]
            for uid, primary in self._requested_primaries.items()
            if primary in uids and uid in uids.values()
        }
        return outcomes

    async def move_slots(self, node: NodeRef, request: MoveSlots) -> SlotsMoved:
        self._record_call("move_slots", node)
        self._concurrent += 1
        await asyncio.sleep(0)  # so that concurrent requests overlap
        self.max_concurrent = max(self.max_concurrent, self._concurrent)
        self._concurrent -= 1
        if request.uid in self.stuck_sources:
            return SlotsMoved(count=0, keys=0, reason="no reply to MIGRATE")
        source = self.running[node.uid].get(request.uid)
        if source is None or source.uid in self.died or self.failure:
            return SlotsMoved(count=0, keys=0, reason=self.failure or f"shard {request.uid} does not run on this node")
        requested = list(slots.each(tuple(request.slots)))
        self._moves += 1
        for slot in requested[: self.batch_size]:
            assert self.owners[slot] in (source.engine_id, request.target_engine_id), (
                f"slot {slot} belongs to another engine"
            )
            assert self.migrating.get(slot, ("", request.target_engine_id))[1] == request.target_engine_id
            self.migrating.pop(slot, None)
            self.owners[slot] = request.target_engine_id
        moved_count = len(requested[: self.batch_size])
        for slot in requested[self.batch_size : self.batch_size + 1]:
            self.migrating[slot] = (source.engine_id, request.target_engine_id)
        return SlotsMoved(count=moved_count, keys=10 * moved_count, pause=self.pause)

    async def remove(self, node: NodeRef, uids: Sequence[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        """Remove shards in any order. None of them may have slots or be the end of a migration."""
        await asyncio.sleep(self.removal_delay * node.uid)
        with_slots = {*self.owners.values(), *(end for ends in self.migrating.values() for end in ends)}
        for uid in uids:
            spec = self.running[node.uid].get(uid)
            assert spec is None or spec.engine_id not in with_slots, f"{uid} has slots and is removed"
            self.primary_of.pop(uid, None)
            self._requested_primaries.pop(uid, None)
            self.addresses.pop(uid, None)
        return await FakeAgents.remove(self, node, uids, dead_only=dead_only)

    def move_all_slots(self, old: str, new: str) -> None:
        """Give all slots of the engine `old` to `new`, as a promotion of its replica does."""
        self._requested_primaries.clear()
        self._moves += 1
        self.owners = {slot: new if owner == old else owner for slot, owner in self.owners.items()}
        self.migrating = {
            slot: (new if source == old else source, new if target == old else target)
            for slot, (source, target) in self.migrating.items()
        }

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv != ("CLUSTER", "NODES"):
            return super()._reply(spec, argv)
        lines = super()._reply(spec, argv).splitlines()
        return "".join(f"{line}{self._slot_words(line.split(' ')[0], spec.engine_id)}\n" for line in lines)

    def _slot_words(self, engine_id: str, queried: str) -> str:
        if self._rendered[0] != self._moves:
            ranges: dict[str, list[int]] = {}
            for slot, owner in self.owners.items():
                ranges.setdefault(owner, []).append(slot)
            self._rendered = (
                self._moves,
                {owner: slots.render(slots.gather(owned)) for owner, owned in ranges.items()},
            )
        words = self._rendered[1].get(engine_id, "").replace(",", " ").split()
        if engine_id == queried:
            words += [f"[{slot}->-{target}]" for slot, (source, target) in self.migrating.items() if source == queried]
            words += [f"[{slot}-<-{source}]" for slot, (source, target) in self.migrating.items() if target == queried]
        return "".join(f" {word}" for word in words)
