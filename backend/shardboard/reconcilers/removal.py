"""Removes shards that nobody wants any more: process and files by the agent, then the row. Until then the row stays."""

import asyncio
import logging
from collections import defaultdict

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.driver.ports import Agents, NodeRef
from shardboard.errors import AgentError
from shardboard.reconcilers.load import reference
from shardboard.state import nodes, shards

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0


class RemovalLoop:
    """Looks for shards with `desired = "absent"` whenever shards changed, and every RETRY_SECONDS."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self._sweep()
                await changes.until(lambda change: change[0] == "shard", RETRY_SECONDS)

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            doomed = await shards.absent(session)
            places = {node.uid: reference(node) for node in await nodes.every(session)} if doomed else {}
        by_node: dict[NodeRef, list[int]] = defaultdict(list)
        for shard in doomed:
            by_node[places[shard.node_uid]].append(shard.uid)
        removed = await asyncio.gather(*(self._remove(node, uids) for node, uids in by_node.items()))
        gone = {uid for uids in removed for uid in uids}
        if gone:
            async with self._store.begin() as session:
                for shard in await shards.absent(session):
                    if shard.uid in gone:
                        await session.delete(shard)

    async def _remove(self, node: NodeRef, uids: list[int]) -> list[int]:
        try:
            outcomes = await self._agents.remove(node, uids)
        except AgentError as error:
            log.info("shards %s stay to be removed: %s", uids, error.reason)
            return []
        for outcome in outcomes:
            if not outcome.ok:
                log.warning("shard %s was not removed: %s", outcome.uid, outcome.reason)
        return [outcome.uid for outcome in outcomes if outcome.ok]
