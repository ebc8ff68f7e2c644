"""Samples the keys of a database on demand, for the check before a benchmark run."""

import asyncio
from collections.abc import Sequence

from shardboard.collectors.ttl_cache import TtlCache
from shardboard.domain.benchmarks import foreign_keys
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents, NodeRef, ShardCommand
from shardboard.errors import AgentError
from shardboard.state.cluster import nodes
from shardboard.state.databases import shards
from shardboard.store.db import Store

FRESH_SECONDS = 1.0
TIMEOUT_SECONDS = 2.0
"""Timeout of a node. Keys on slower nodes are not sampled, so that the request does not wait for them."""


class KeySampleCache:
    """Random keys of databases. However many requests need them, a database is sampled at most once in a second."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self.cache = TtlCache(self._fetch, FRESH_SECONDS)

    async def get(self, bdb_uid: int) -> Sequence[str] | None:
        """Return random keys of a database; None if no node responds."""
        return await self.cache.get(bdb_uid)

    async def _fetch(self, bdb_uid: int) -> Sequence[str] | None:
        async with self._store.read() as session:
            primaries = [
                row
                for row in await shards.list_for_bdb(session, bdb_uid)
                if row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
            ]
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        commands: dict[NodeRef, list[ShardCommand]] = {}
        for row in primaries[: foreign_keys.MAX_SHARDS]:
            command = ShardCommand(uid=row.uid, engine_id=row.engine_id, argv=list(foreign_keys.COMMAND))
            commands.setdefault(node_refs[row.node_uid], []).extend([command] * foreign_keys.SAMPLES_PER_SHARD)
        replies = await asyncio.gather(*(self._sample_node(node, each) for node, each in commands.items()))
        samples = [keys for keys in replies if keys is not None]
        return [key for keys in samples for key in keys] if samples else None

    async def _sample_node(self, node: NodeRef, commands: list[ShardCommand]) -> list[str] | None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return foreign_keys.sampled_keys(await self._agents.command(node, commands))
        except (AgentError, TimeoutError):
            return None
