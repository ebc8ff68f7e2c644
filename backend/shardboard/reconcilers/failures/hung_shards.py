"""Removal of hung shard processes, which neither serve requests nor end.

An engine in an endless loop, which Valkey 9.1 can enter after a role change (its nodes replicate from each other in a circle),
never replies again, while its agent sees it running. Once killed it counts as a dead shard: a replica is promoted, and the shard
returns as a replica.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures.failover import ObservedShard, replaceable_hung_shards
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.bus import Bus
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting.events import record
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import ReadNode
from shardboard.state.databases import shards
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
HANG_SECONDS = 30.0
"""Seconds without any reply. A long command has ended by then, or its replica has been promoted."""


class HungShardLoop:
    """Checks shards that do not respond. It only kills those that their pair does not need, on healthy nodes."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, clock: Callable[[], float] = ACTIVE.now) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._clock = clock
        self._since: dict[int, float] = {}
        """By uid of each shard that does not respond: when this was first seen, or when its agent last refused to kill it."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await changes.wait_until(lambda change: change[0] == "shard", POLL_SECONDS, pause=4)

    async def sweep(self) -> None:
        """Check all shards once."""
        async with self._store.read() as session:
            silent_uids = [row.uid for row in await shards.list_conditions(session, status=ShardStatus.TIMEOUT)]
            now = self._clock()
            self._since = {uid: self._since.get(uid, now) for uid in silent_uids}
            hung = {uid for uid, since in self._since.items() if now - since >= HANG_SECONDS}
            if not hung:
                return
            rows = await shards.list_conditions(session)
            machines = await nodes.list_stored(session)
        hung_by_node = _by_node(machines, rows, hung)
        await asyncio.gather(*(self._kill(node, uids) for node, uids in hung_by_node.items()))

    async def _kill(self, node: NodeRef, hanging: Mapping[int, str]) -> None:
        for uid in hanging:
            self._since[uid] = self._clock()  # whatever the result, do not retry immediately
        try:
            outcomes = await self._agents.kill_hung(node, hanging)
        except AgentError as error:
            log.info("hung shards: killing shards of node %s failed: %s", node.uid, error.reason)
            return
        for outcome in outcomes:
            if not outcome.ok:
                log.info("hung shards: shard %s was not killed: %s", outcome.uid, outcome.reason)
        async with self._store.begin() as session:
            for outcome in outcomes:
                row = await shards.by_uid(session, outcome.uid)
                if row is None or not outcome.ok:
                    continue
                record(
                    session,
                    "shard_hung",
                    f"Shard redis:{row.uid} on node {row.node_uid} was running but had not responded for {HANG_SECONDS:g} s. "
                    "It was killed and will return as a replica.",
                    source="shard",
                    severity="WARNING",
                    bdb_uid=row.bdb_uid,
                    node_uid=row.node_uid,
                    shard_uid=row.uid,
                )


def _by_node(machines: Iterable[ReadNode], rows: Sequence[ReadShard], hung: Set[int]) -> dict[NodeRef, dict[int, str]]:
    """Return the shards that can be killed, by node."""
    available_refs = {node.uid: node_ref(node) for node in machines if node.is_available}
    members: dict[int, list[ObservedShard]] = defaultdict(list)
    for row in rows:
        members[row.bdb_uid].append(
            ObservedShard(row.uid, row.pair, row.current_role, row.observed_status, row.observed_link)
        )
    replaceable = hung & {uid for each in members.values() for uid in replaceable_hung_shards(each)}
    hung_by_node: dict[NodeRef, dict[int, str]] = defaultdict(dict)
    for row in rows:
        if row.uid in replaceable and row.node_uid in available_refs:
            hung_by_node[available_refs[row.node_uid]][row.uid] = row.engine_id
    return hung_by_node
