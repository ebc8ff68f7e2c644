"""Polls primaries of a database on flash for the reuse distances of keys, on demand."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from shardboard.collectors.ttl_cache import TtlCache
from shardboard.domain.metrics import ram_curve
from shardboard.domain.metrics.ram_curve import ShardCurve
from shardboard.domain.metrics.rates import Value
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents, CommandResult, NodeRef, ShardCommand
from shardboard.errors import AgentError
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

FRESH_SECONDS = 5.0
"""The curve of a database changes within minutes."""
UNSUPPORTED_RELEASE = (
    "The shard runs a release of the flash module that does not report reuse distances; move or upgrade the shard."
)
LatestFlashMetrics = Callable[[int, int], Mapping[str, Value]]
"""Returns the newest flash metrics by database uid and shard uid."""


class RamCurveCache:
    """Curves of databases, by uid."""

    def __init__(self, store: Store, agents: Agents, latest: LatestFlashMetrics) -> None:
        self._store = store
        self._agents = agents
        self._latest = latest
        self._cache = TtlCache(self._fetch, FRESH_SECONDS)

    async def get(self, bdb_uid: int) -> Sequence[ShardCurve] | None:
        """Return the curves of the database's primaries; None if there is no such database on flash."""
        return await self._cache.get(bdb_uid)

    async def _fetch(self, bdb_uid: int) -> list[ShardCurve] | None:
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            rows = [row for row in await shards.list_for_bdb(session, bdb_uid) if row.current_role == ShardRole.PRIMARY]
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        if bdb is None or not bdb.on_flash:
            return None
        by_node: dict[int, list[Shard]] = defaultdict(list)
        for row in rows:
            by_node[row.node_uid].append(row)
        replies = await asyncio.gather(
            *(self._poll_node(node_refs[node], node_shards) for node, node_shards in by_node.items())
        )
        return sorted((each for reply in replies for each in reply), key=lambda each: each.shard_uid)

    async def _poll_node(self, node: NodeRef, rows: Sequence[Shard]) -> list[ShardCurve]:
        commands = [ShardCommand(uid=row.uid, engine_id=row.engine_id, argv=["TIER.CURVE"]) for row in rows]
        try:
            replies = {reply.uid: reply for reply in await self._agents.command(node, commands)}
        except AgentError as error:
            return [ShardCurve(row.uid, reason=error.reason) for row in rows]
        return [self._curve(row, replies.get(row.uid)) for row in rows]

    def _curve(self, row: Shard, reply: CommandResult | None) -> ShardCurve:
        if reply is None or not reply.ok:
            is_unknown_command = reply is not None and "unknown command" in reply.reply
            return ShardCurve(
                row.uid,
                reason=UNSUPPORTED_RELEASE
                if is_unknown_command
                else reply.reply
                if reply
                else "The shard was not polled.",
            )
        try:
            use_count, points = ram_curve.parse(reply.reply)
        except ValueError:
            return ShardCurve(
                row.uid, reason="The shard reports reuse distances in a format that this release does not support."
            )
        values = self._latest(row.bdb_uid, row.uid)
        names = ("bigstore_objs_ram", "bigstore_objs_flash", "used_bigstore", "used_ram")
        ram, flash, flash_bytes, used_ram = (values.get(name) or 0.0 for name in names)
        return ShardCurve(row.uid, "", use_count, points, ram, flash, flash_bytes, used_ram)
