"""Reads logs of nodes from their agents, for support bundles."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping

from shardboard.driver.interfaces import Agents, NodeLogs, NodeRef
from shardboard.errors import AgentError
from shardboard.state.cluster import nodes
from shardboard.state.databases import shards
from shardboard.store.db import Store

TIMEOUT_SECONDS = 20.0
"""Timeout of a node. Support bundles are created when something is wrong, so a hung node is omitted."""
MAX_CONCURRENT_NODES = 4
"""Number of nodes whose logs, up to 10 MB each, are read and held at a time."""


class NodeLogReader:
    """Reads logs of a few nodes concurrently."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def read(self, shards_by_node: Mapping[int, Collection[int]]) -> AsyncIterator[tuple[int, NodeLogs | str]]:
        """Yield node uid and logs, or a message if there are none, for the `wanted` nodes and their `wanted` shards."""
        async with self._store.read() as session:
            rows = [row for row in await nodes.list_all(session) if row.uid in shards_by_node]
            engine_ids = {row.uid: row.engine_id for row in await shards.list_occupying(session)}
        node_refs = [NodeRef(row.uid, row.addr, row.agent_port) for row in rows]
        for first in range(0, len(node_refs), MAX_CONCURRENT_NODES):
            batch = node_refs[first : first + MAX_CONCURRENT_NODES]
            replies = await asyncio.gather(
                *(
                    self._read_node(
                        node, {uid: engine_ids[uid] for uid in sorted(shards_by_node[node.uid]) if uid in engine_ids}
                    )
                    for node in batch
                )
            )
            for node, reply in zip(batch, replies, strict=True):
                yield node.uid, reply

    async def _read_node(self, node: NodeRef, chosen: Mapping[int, str]) -> NodeLogs | str:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._agents.logs(node, chosen)
        except TimeoutError:
            return f"The agent of node {node.uid} did not respond within {TIMEOUT_SECONDS:g} s."
        except AgentError as error:
            return f"{error.reason[:1].upper()}{error.reason[1:]}."
