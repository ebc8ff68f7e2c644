"""Queries a shard's engine on demand."""

from shardboard.collectors.ttl_cache import TtlCache
from shardboard.driver.interfaces import Agents, NodeRef, ShardCommand
from shardboard.errors import AgentError, Conflict, NotFound
from shardboard.state.cluster import nodes
from shardboard.state.databases import shards
from shardboard.store.db import Store

FRESH_SECONDS = 1.0
ShardQuery = tuple[int, tuple[str, ...]]
"""Uid of the shard, and the command."""


class ShardQueryCache:
    """Replies from the agent, as text or in Python notation."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self.cache = TtlCache(self._fetch, FRESH_SECONDS)

    async def query(self, uid: int, *argv: str) -> str:
        """Return the reply to a command. Raises NotFound, or Conflict with the reason if the shard does not respond."""
        return await self.cache.get((uid, argv))

    async def _fetch(self, query: ShardQuery) -> str:
        uid, argv = query
        async with self._store.read() as session:
            row = await shards.by_uid(session, uid)
            node = await nodes.by_uid(session, row.node_uid) if row is not None else None
        if row is None or node is None:
            raise NotFound("shard_not_exist", f"Shard {uid} does not exist.")
        node_ref = NodeRef(node.uid, node.addr, node.agent_port)
        try:
            (reply,) = await self._agents.command(
                node_ref, [ShardCommand(uid=uid, engine_id=row.engine_id, argv=list(argv))]
            )
        except AgentError as error:
            raise Conflict("shard_unreachable", f"Shard redis:{uid} cannot be reached: {error.reason}.") from error
        if not reply.ok:
            raise Conflict("shard_unreachable", f"Shard redis:{uid} does not respond: {reply.reply}.")
        return reply.reply
