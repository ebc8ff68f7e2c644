"""Asks a shard what its engine tells of itself, when somebody wants to know."""

from shardboard.collectors.fresh import Fresh
from shardboard.db import Store
from shardboard.driver.ports import Agents, NodeRef, ShardCommand
from shardboard.errors import AgentError, Conflict, NotFound
from shardboard.state import nodes, shards

FRESH_SECONDS = 1.0
Asked = tuple[int, tuple[str, ...]]
"""Uid of the shard, and the command."""


class ShardLooks:
    """Replies as the agent hands them on, text or in Python's notation."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self.looks = Fresh(self._take, FRESH_SECONDS)

    async def ask(self, uid: int, *argv: str) -> str:
        """Raises NotFound, or Conflict with the reason when the shard does not answer."""
        return await self.looks.get((uid, argv))

    async def _take(self, asked: Asked) -> str:
        uid, argv = asked
        async with self._store.read() as session:
            row = await shards.by_uid(session, uid)
            node = await nodes.by_uid(session, row.node_uid) if row is not None else None
        if row is None or node is None:
            raise NotFound("shard_not_exist", f"There is no shard {uid}.")
        place = NodeRef(node.uid, node.addr, node.agent_port)
        try:
            (reply,) = await self._agents.command(
                place, [ShardCommand(uid=uid, engine_id=row.engine_id, argv=list(argv))]
            )
        except AgentError as error:
            raise Conflict("shard_unreachable", f"Shard redis:{uid} cannot be asked: {error.reason}.") from error
        if not reply.ok:
            raise Conflict("shard_unreachable", f"Shard redis:{uid} does not answer: {reply.reply}.")
        return reply.reply
