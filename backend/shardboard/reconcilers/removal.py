"""Removes shards that nobody wants any more: process and files by the agent, then its name from the memory of the others in
its cluster, then the row. Until then the row stays."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.driver import replication
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.reconcilers.load import reference, shard
from shardboard.state import bdbs, nodes, shards
from shardboard.state.shards import Shard
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0


class RemovalLoop:
    """Looks for shards with `desired = "absent"` whenever shards changed, and every RETRY_SECONDS."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._working: Tasks[int] = Tasks()
        """One per node, so that an agent that does not answer holds up nobody else's."""

    async def run(self) -> None:
        """Until cancelled."""
        async with self._working.ending():
            with self._bus.listen("change") as changes:
                while True:
                    await self._sweep()
                    await changes.until(lambda change: change[0] == "shard", RETRY_SECONDS)

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            doomed = await shards.absent(session)
            places = {node.uid: reference(node) for node in await nodes.every(session)} if doomed else {}
        by_node: dict[NodeRef, list[int]] = defaultdict(list)
        for row in doomed:
            if row.node_uid in places:
                by_node[places[row.node_uid]].append(row.uid)
        rows = {row.uid: row for row in doomed}
        for node, uids in by_node.items():
            if node.uid not in self._working:
                self._working.start(node.uid, self._clear(node, [rows[uid] for uid in uids]))

    async def _clear(self, node: NodeRef, doomed: Sequence[Shard]) -> None:
        try:
            gone = set(await self._remove(node, {row.uid: row.engine_id for row in doomed}))
            gone -= await remembered(self._store, self._agents, [row for row in doomed if row.uid in gone])
            if gone:
                async with self._store.begin() as session:
                    for row in await shards.absent(session):
                        if row.uid in gone:
                            await shards.delete(session, row)
        except Exception:  # it is tried again, and the other nodes go on meanwhile
            log.exception("removing shards of node %s", node.uid)

    async def _remove(self, node: NodeRef, doomed: Mapping[int, str]) -> list[int]:
        try:
            outcomes = await self._agents.remove(node, doomed)
        except AgentError as error:
            log.info("shards %s stay to be removed: %s", list(doomed), error.reason)
            return []
        for outcome in outcomes:
            if not outcome.ok:
                log.warning("shard %s was not removed: %s", outcome.uid, outcome.reason)
        return [outcome.uid for outcome in outcomes if outcome.ok]


async def withdraw(store: Store, agents: Agents, bdb_uid: int, started: Sequence[ShardRef]) -> None:
    """End those of the shards just started that nobody wants any more: their database was deleted meanwhile, and the loop may
    have come by before they were there."""
    async with store.read() as session:
        wanted = {row.engine_id for row in await shards.of_bdb(session, bdb_uid)}
    for each in started:
        if each.engine_id not in wanted:
            await agents.remove(each.node, {each.uid: each.engine_id})


async def remembered(store: Store, agents: Agents, removed: Sequence[Shard]) -> set[int]:
    """Have the living shards of their clusters forget removed ones. Uids of those that somebody still remembers.

    All are told within the minute in which an engine refuses to learn of the forgotten one again. Who is out of reach is not
    waited for: it only keeps the name of somebody who does not answer.
    """
    if not removed:
        return set()
    hosts: dict[int, list[ShardRef]] = defaultdict(list)
    async with store.read() as session:
        reachable = {
            node.uid: reference(node)
            for node in await nodes.every(session)
            if node.health == "up" and node.agent_status == "connected"
        }
        clusters = {bdb.uid for bdb in await bdbs.every(session) if bdb.sharding}
        for row in await shards.every(session):
            if row.bdb_uid in clusters and row.node_uid in reachable and row.observed_status in ("ok", "loading"):
                hosts[row.bdb_uid].append(shard(row, reachable[row.node_uid]))
    left = set()
    for row in removed:
        if await replication.forget(agents, hosts[row.bdb_uid], row.engine_id):
            left.add(row.uid)
    return left
