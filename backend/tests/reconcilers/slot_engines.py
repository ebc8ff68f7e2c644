"""Fake engines that know who owns which slot, so that a change of the number of pairs can be played through."""

import asyncio
from collections.abc import Sequence
from typing import Any

from backend.tests.reconcilers.engines import Engines

from shardboard.agent.contract import MoveSlots, ShardOutcome, SlotsMoved, StartShards
from shardboard.domain import slots
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef


class SlotEngines(Engines):
    """An order moves `at_once` slots and leaves the next one open."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[int, str] = {}
        """Engine id by slot."""
        self.between: dict[int, tuple[str, str]] = {}
        """Source and target of slots that are open."""
        self.at_once = 1500
        self.rest = 0.0
        """Seconds that each order wants to be followed by nothing."""
        self.in_the_way = ""
        """Reason why no slot moves."""
        self.stuck: set[int] = set()
        """Uids of sources that no slot leaves."""
        self.side_by_side = 0
        """Orders that have been under way together, at most."""
        self._under_way = 0
        self._moves = 0
        self._rendered: tuple[int, dict[str, str]] = (-1, {})
        self._followed: dict[int, str] = {}
        """Engine id of whom a replica shall copy, who may be started after it."""

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        outcomes = await FakeAgents.start(self, node, request)
        wanted = {peer.engine_id: peer.primary_engine_id for peer in request.bdb.peers if peer.primary_engine_id}
        for spec in request.shards:
            self.places[spec.uid] = (node.addr, spec.port)
            if spec.engine_id in wanted:
                self._followed[spec.uid] = wanted[spec.engine_id]
        uids = {spec.engine_id: uid for held in self.running.values() for uid, spec in held.items()}
        self.heads |= {uid: uids[head] for uid, head in self._followed.items() if head in uids and uid in uids.values()}
        return outcomes

    async def move_slots(self, node: NodeRef, order: MoveSlots) -> SlotsMoved:
        self._note("move_slots", node)
        self._under_way += 1
        await asyncio.sleep(0)  # for those that were sent together
        self.side_by_side = max(self.side_by_side, self._under_way)
        self._under_way -= 1
        if order.uid in self.stuck:
            return SlotsMoved(count=0, keys=0, reason="no answer to MIGRATE")
        source = self.running[node.uid].get(order.uid)
        if source is None or source.uid in self.died or self.in_the_way:
            return SlotsMoved(count=0, keys=0, reason=self.in_the_way or f"shard {order.uid} does not run here")
        every = list(slots.each(tuple(order.slots)))
        self._moves += 1
        for slot in every[: self.at_once]:
            assert self.owners[slot] in (source.engine_id, order.target_engine_id), f"slot {slot} is somebody else's"
            assert self.between.get(slot, ("", order.target_engine_id))[1] == order.target_engine_id
            self.between.pop(slot, None)
            self.owners[slot] = order.target_engine_id
        moved = len(every[: self.at_once])
        for slot in every[self.at_once : self.at_once + 1]:
            self.between[slot] = (source.engine_id, order.target_engine_id)
        return SlotsMoved(count=moved, keys=10 * moved, rest=self.rest)

    async def remove(self, node: NodeRef, uids: Sequence[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        """Whole pairs go here, in any order; but nobody goes who has slots, or is about to get one."""
        busy = {*self.owners.values(), *(end for ends in self.between.values() for end in ends)}
        for uid in uids:
            spec = self.running[node.uid].get(uid)
            assert spec is None or spec.engine_id not in busy, f"{uid} has slots and is removed"
            self.heads.pop(uid, None)
            self._followed.pop(uid, None)
            self.places.pop(uid, None)
        return await FakeAgents.remove(self, node, uids, dead_only=dead_only)

    def hand(self, old: str, new: str) -> None:
        """A replica has taken over with all its primary's slots."""
        self._followed.clear()
        self._moves += 1
        self.owners = {slot: new if owner == old else owner for slot, owner in self.owners.items()}
        self.between = {
            slot: (new if source == old else source, new if target == old else target)
            for slot, (source, target) in self.between.items()
        }

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv != ("CLUSTER", "NODES"):
            return super()._reply(spec, argv)
        lines = super()._reply(spec, argv).splitlines()
        return "".join(f"{line}{self._shown(line.split(' ')[0], spec.engine_id)}\n" for line in lines)

    def _shown(self, engine_id: str, asked: str) -> str:
        if self._rendered[0] != self._moves:
            held: dict[str, list[int]] = {}
            for slot, owner in self.owners.items():
                held.setdefault(owner, []).append(slot)
            self._rendered = (self._moves, {owner: slots.render(slots.gather(of)) for owner, of in held.items()})
        words = self._rendered[1].get(engine_id, "").replace(",", " ").split()
        if engine_id == asked:
            words += [f"[{slot}->-{target}]" for slot, (source, target) in self.between.items() if source == asked]
            words += [f"[{slot}-<-{source}]" for slot, (source, target) in self.between.items() if target == asked]
        return "".join(f" {word}" for word in words)
