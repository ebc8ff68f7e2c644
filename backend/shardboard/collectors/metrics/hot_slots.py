"""Polls primaries for their hottest slots on demand, because few clients need them.

The last two snapshots of a database are kept, so that rates can be computed from counts. However many clients read, there is one
poll at a time, and at most one per second.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shardboard.domain.metrics import hot_slots
from shardboard.domain.metrics.hot_slots import Metric, SlotCounters, SlotReading
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents, NodeRef, ReadHotSlots, SlotCounts
from shardboard.errors import AgentError
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

MIN_POLL_SECONDS = 1.0
"""Minimum age before a snapshot is refreshed."""
MAX_AGE_SECONDS = 600.0
"""Maximum age of the previous snapshot. Rates over a longer period would hide what is hot now."""
SlotQueryKey = tuple[int, Metric]


@dataclass(frozen=True)
class HotSlotSnapshot:
    """Responses of a database's primaries, and their previous responses."""

    polled_at: float
    """Time of the poll, monotonic clock."""
    now: Sequence[SlotReading] = ()
    before: Mapping[int, SlotReading] = field(default_factory=dict)
    """Previous responses by shard uid."""
    detail: str = ""
    """Reason why no primary was polled; otherwise empty."""


class HotSlotCache:
    """Snapshots of databases, by uid and metric."""

    def __init__(self, store: Store, agents: Agents, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._agents = agents
        self._clock = clock
        self._kept: dict[SlotQueryKey, HotSlotSnapshot] = {}
        self._asking: dict[SlotQueryKey, asyncio.Task[HotSlotSnapshot | None]] = {}

    async def get(self, bdb_uid: int, by: Metric) -> HotSlotSnapshot | None:
        """Return the newest snapshot, taken now unless a fresh one exists; None if the database does not exist."""
        key, now = (bdb_uid, by), self._clock()
        self._kept = {each: cached for each, cached in self._kept.items() if now - cached.polled_at < MAX_AGE_SECONDS}
        cached = self._kept.get(key)
        if cached is not None and now - cached.polled_at < MIN_POLL_SECONDS:
            return cached
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._fetch(key, cached))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # A caller that is cancelled must not cancel the poll for others.
        return await asyncio.shield(task)

    async def _fetch(self, key: SlotQueryKey, last: HotSlotSnapshot | None) -> HotSlotSnapshot | None:
        start = self._clock()
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, key[0])
            rows = [row for row in await shards.list_for_bdb(session, key[0]) if row.current_role == ShardRole.PRIMARY]
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        if bdb is None:
            return None
        if not bdb.sharding:
            snapshot = HotSlotSnapshot(start, detail=f"{bdb.name} is not sharded, so its keys have no hash slots.")
        else:
            previous = {reading.shard_uid: reading for reading in last.now} if last is not None else {}
            snapshot = HotSlotSnapshot(start, await self._poll(rows, node_refs, key[1]), previous)
        self._kept[key] = snapshot
        return snapshot

    async def _poll(self, rows: Sequence[Shard], places: Mapping[int, NodeRef], by: Metric) -> list[SlotReading]:
        limit = hot_slots.rows_per_primary(len(rows))
        by_node: dict[int, dict[int, str]] = defaultdict(dict)
        for row in rows:
            by_node[row.node_uid][row.uid] = row.engine_id
        replies = await asyncio.gather(
            *(
                self._poll_node(places[node], ReadHotSlots(uids=list(ids), engine_ids=ids, by=by, limit=limit))
                for node, ids in by_node.items()
            )
        )
        return sorted((reading for reply in replies for reading in reply), key=lambda reading: reading.shard_uid)

    async def _poll_node(self, node: NodeRef, request: ReadHotSlots) -> list[SlotReading]:
        try:
            answers = {reading.uid: reading for reading in await self._agents.hot_slots(node, request)}
            reason = f"the agent of node {node.uid} did not report this shard"
        except AgentError as error:
            answers, reason = {}, error.reason
        return [_slot_reading(node, answers.get(uid, SlotCounts(uid=uid, reason=reason))) for uid in request.uids]


def _slot_reading(node: NodeRef, counts: SlotCounts) -> SlotReading:
    return SlotReading(
        shard_uid=counts.uid,
        node_uid=node.uid,
        reason=counts.reason,
        at=counts.at,
        run_id=counts.run_id,
        started_at=counts.started_at,
        counts={
            slot: SlotCounters(keys, cpu, bytes_in, bytes_out) for slot, keys, cpu, bytes_in, bytes_out in counts.slots
        },
    )
