"""Removes shards that agents keep and nobody knows any more: a start that was on its way when its database was deleted."""

import asyncio
import logging

from shardboard.db import Store
from shardboard.driver.ports import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.reconcilers.load import reference
from shardboard.state import cluster, nodes, shards
from shardboard.state.events import record

log = logging.getLogger(__name__)

LOOK_SECONDS = 30.0


class OrphanLoop:
    """A shard without a row is an orphan when this store has given its number out before. Numbers that are still to come were
    given by a store that this one is an older copy of: their shards hold somebody's data and are left alone."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(LOOK_SECONDS)

    async def sweep(self) -> None:
        """One look at every agent that can be asked."""
        async with self._store.read() as session:
            there = [
                reference(node)
                for node in await nodes.every(session)
                if node.health == "up" and node.agent_status == "connected"
            ]
        await asyncio.gather(*(self._clear(node) for node in there))

    async def _clear(self, node: NodeRef) -> None:
        try:
            kept = {report.uid for report in await self._agents.shards(node)}
            # Rows are written before shards are started, so that what was seen first has its row by now.
            async with self._store.read() as session:
                known = await shards.uids(session)
                issued = (await cluster.load(session)).next_shard_uid
            orphans = sorted(uid for uid in kept - known if uid < issued)
            if orphans:
                outcomes = await self._agents.remove(node, orphans)
                await self._tell(node, [outcome.uid for outcome in outcomes if outcome.ok])
        except AgentError as error:
            log.info("node %s could not be searched for orphans: %s", node.uid, error.reason)
        except Exception:  # it is looked at again
            log.exception("searching node %s for orphans", node.uid)

    async def _tell(self, node: NodeRef, removed: list[int]) -> None:
        async with self._store.begin() as session:
            for uid in removed:
                told = f"Shard redis:{uid} on node {node.uid} was removed: its database does not exist any more."
                record(session, "orphan_removed", told, source="node", severity="WARNING", node_uid=node.uid)
