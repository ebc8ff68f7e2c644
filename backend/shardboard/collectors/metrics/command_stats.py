"""Polls proxies for counts of single commands on demand, because sending histograms of hundreds of databases each second would be
wasteful.

However many clients read, there is one poll at a time, and at most one per second. Proxies keep the last minute, so that the first
poll is complete as well.
"""

import asyncio
from collections.abc import Mapping, Sequence

from shardboard.collectors.ttl_cache import TtlCache
from shardboard.domain.metrics.command_stats import CommandCounters, ProxyCommandCounts
from shardboard.driver.interfaces import Agents, CommandCounts, NodeRef, ReadCommands
from shardboard.errors import AgentError
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

MIN_POLL_SECONDS = 1.0
"""Minimum age before a snapshot is refreshed."""
TIMEOUT_SECONDS = 2.0
"""Timeout of a node. Slower nodes are omitted, so that they do not delay the others."""
ALL_DATABASES_KEY = 0
"""Key for all databases, used in place of a uid."""


CommandSnapshot = Mapping[int, Sequence[ProxyCommandCounts]]
"""Counts from the proxies, by database uid; empty for a database without an endpoint."""


class CommandCountCache:
    """Snapshots of command counts for one or all databases."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self.cache = TtlCache(self._fetch, MIN_POLL_SECONDS)

    async def get(self, bdb_uid: int) -> Sequence[ProxyCommandCounts] | None:
        """Return the newest snapshot of a database, taken now unless a fresh one exists; None if the database does not exist."""
        return (await self.cache.get(bdb_uid)).get(bdb_uid)

    async def get_all(self) -> CommandSnapshot:
        """Return the newest snapshot of all databases."""
        return await self.cache.get(ALL_DATABASES_KEY)

    async def _fetch(self, key: int) -> CommandSnapshot:
        async with self._store.read() as session:
            bdb = None if key == ALL_DATABASES_KEY else await bdbs.by_uid(session, key)
            rows = await bdbs.list_all(session) if key == ALL_DATABASES_KEY else [bdb] if bdb is not None else []
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        return await self._poll(rows, node_refs)

    async def _poll(self, rows: Sequence[Bdb], places: Mapping[int, NodeRef]) -> dict[int, list[ProxyCommandCounts]]:
        uids_by_node: dict[int, list[int]] = {}
        for row in rows:
            for node_uid in row.endpoint_nodes:
                if node_uid in places:
                    uids_by_node.setdefault(node_uid, []).append(row.uid)
        replies = await asyncio.gather(
            *(self._poll_node(places[node], uids) for node, uids in sorted(uids_by_node.items()))
        )
        counts_by_bdb: dict[int, list[ProxyCommandCounts]] = {row.uid: [] for row in rows}
        for node_uid, reply in zip(sorted(uids_by_node), replies, strict=True):
            for uid in uids_by_node[node_uid]:
                counts_by_bdb[uid].append(_node_counts(node_uid, uid, reply))
        return counts_by_bdb

    async def _poll_node(self, node: NodeRef, uids: list[int]) -> CommandCounts:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._agents.read_commands(node, ReadCommands(uids=uids))
        except TimeoutError:
            return CommandCounts(reason=f"node {node.uid} did not respond within {TIMEOUT_SECONDS:g} s")
        except AgentError as error:
            return CommandCounts(reason=error.reason)


def _node_counts(node_uid: int, bdb_uid: int, reply: CommandCounts) -> ProxyCommandCounts:
    if reply.reason or (counts := reply.databases.get(bdb_uid)) is None:
        return ProxyCommandCounts(
            node_uid, reply.reason or f"the proxy of node {node_uid} did not report this database"
        )
    counters = [CommandCounters(each.name, each.calls, each.errors, each.micros, each.latency) for each in counts]
    return ProxyCommandCounts(node_uid, seconds=reply.seconds, counts=counters)
