"""Removal of shards that are no longer desired: the agent removes process and files, the other shards of the cluster forget the
node, and then the row is deleted. The row exists until then.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from shardboard.domain.databases.shard_status import RESPONDING
from shardboard.driver import replication
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.errors import AgentError, AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.reconcilers.load_database import node_ref, shard_ref
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

log = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
PROXY_SECONDS = 10.0
"""How long a removal waits for proxies that cannot be updated, for example because their agent is restarting."""


class RemovalLoop:
    """Polls for shards with `desired = "absent"` after each change of shards, and every RETRY_SECONDS."""

    def __init__(
        self, store: Store, bus: Bus, agents: Agents, update_proxies: Callable[[int], Awaitable[None]]
    ) -> None:
        """`update_proxies` sends the shards of a database to its proxies (`Endpoints.update`)."""
        self._store = store
        self._bus = bus
        self._agents = agents
        self._update_proxies = update_proxies
        self._first_attempts: dict[int, float] = {}
        """When the removal of a shard was first attempted, by uid, in seconds of the event loop."""
        self._working: Tasks[int] = Tasks()
        """One task per node, so that an unresponsive agent does not delay other nodes."""

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._working.cancelled_at_exit():
            with self._bus.listen("change") as changes:
                while True:
                    await self._sweep()
                    await changes.wait_until(lambda change: change[0] == "shard", RETRY_SECONDS)

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            absent = await shards.list_absent(session)
            node_refs = {node.uid: node_ref(node) for node in await nodes.list_stored(session)} if absent else {}
        by_node: dict[NodeRef, list[int]] = defaultdict(list)
        for row in absent:
            if row.node_uid in node_refs:
                by_node[node_refs[row.node_uid]].append(row.uid)
        rows = {row.uid: row for row in absent}
        now = asyncio.get_running_loop().time()
        self._first_attempts = {uid: self._first_attempts.get(uid, now) for uid in rows}
        for node, uids in by_node.items():
            if node.uid not in self._working:
                self._working.start(node.uid, self._remove_from_node(node, [rows[uid] for uid in uids]))

    async def _remove_from_node(self, node: NodeRef, doomed: Sequence[Shard]) -> None:
        try:
            unused = await self._unused(doomed)
            removed_uids = set(await self._remove(node, {row.uid: row.engine_id for row in unused}))
            removed_uids -= await forget_removed(
                self._store, self._agents, [row for row in doomed if row.uid in removed_uids]
            )
            if removed_uids:
                async with self._store.begin() as session:
                    for row in await shards.list_absent(session):
                        if row.uid in removed_uids:
                            await shards.delete(session, row)
        except Exception:  # retried later; other nodes must not be affected
            log.exception("removal: removing shards of node %s failed", node.uid)

    async def _unused(self, doomed: Sequence[Shard]) -> list[Shard]:
        """Return the shards that no proxy sends requests to: a request that is in flight when its shard ends is lost."""
        deadline = asyncio.get_running_loop().time() - PROXY_SECONDS
        unused = []
        for bdb_uid in sorted({row.bdb_uid for row in doomed}):
            rows = [row for row in doomed if row.bdb_uid == bdb_uid]
            try:
                await self._update_proxies(bdb_uid)
            except AgentUnreachable as error:
                log.info("removal: shards %s: %s", [row.uid for row in rows], error.reason)
                rows = [row for row in rows if self._first_attempts.get(row.uid, deadline) <= deadline]
            unused += rows
        return unused

    async def _remove(self, node: NodeRef, doomed: Mapping[int, str]) -> list[int]:
        if not doomed:
            return []
        try:
            outcomes = await self._agents.remove(node, doomed)
        except AgentError as error:
            log.info("removal: removing shards %s failed, will retry: %s", list(doomed), error.reason)
            return []
        for outcome in outcomes:
            if not outcome.ok:
                log.warning("removal: shard %s was not removed: %s", outcome.uid, outcome.reason)
        return [outcome.uid for outcome in outcomes if outcome.ok]


async def remove_undesired(store: Store, agents: Agents, bdb_uid: int, started: Sequence[ShardRef]) -> None:
    """Remove the shards just started that are no longer desired: their database was deleted in the meantime, possibly after the
    loop's last poll.
    """
    async with store.read() as session:
        desired = {row.engine_id for row in await shards.list_for_bdb(session, bdb_uid)}
    for each in started:
        if each.engine_id not in desired:
            await agents.remove(each.node, {each.uid: each.engine_id})


async def forget_removed(store: Store, agents: Agents, removed: Sequence[Shard]) -> set[int]:
    """Make the living shards of their clusters forget removed shards. Return the uids of those that some shard still knows.

    All commands are sent within the minute in which an engine does not learn of a forgotten node again. Unreachable shards are not
    awaited: they only keep the name of a node that does not respond.
    """
    if not removed:
        return set()
    hosts: dict[int, list[ShardRef]] = defaultdict(list)
    async with store.read() as session:
        available_refs = {node.uid: node_ref(node) for node in await nodes.list_stored(session) if node.is_available}
        clusters = {bdb.uid for bdb in await bdbs.list_all(session) if bdb.sharding}
        for host in await shards.list_conditions(session):
            if host.bdb_uid in clusters and host.node_uid in available_refs and host.observed_status in RESPONDING:
                hosts[host.bdb_uid].append(shard_ref(host, available_refs[host.node_uid]))
    unforgotten = set()
    for row in removed:
        if await replication.forget_node(agents, hosts[row.bdb_uid], row.engine_id):
            unforgotten.add(row.uid)
    return unforgotten
