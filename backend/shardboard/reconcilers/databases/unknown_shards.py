"""Comparison of the shards and endpoints that agents report with the rows of the store.

A shard is identified by its engine id, which is random, and not by its uid: uids repeat when the store was restored from a backup,
lost its last transactions in a failover, or was replaced by an empty one. A reported shard without a row is

* an orphan if this store contained it and removed it: it was still starting when its database was deleted. It is removed.
* unknown otherwise. It is not changed, an alarm reports it, and its uids, ports and memory are not used for other shards.

Rows without a reported shard are compared by `store_mismatches.py`.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.unknown_shards import Unknown, UnknownEndpoint, UnknownShard, next_uid
from shardboard.domain.text import plural
from shardboard.driver.interfaces import Agents, NodeRef, ServedDatabase, ShardReport
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.kit.shared_read import SharedRead
from shardboard.kit.tasks import NODES_AT_ONCE, PAUSE_PER_REQUEST, run_concurrently
from shardboard.reconcilers.databases.store_mismatches import StoreMismatches
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNKNOWN_SHARDS, record
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 10.0
RETRY_SECONDS = 0.5
"""Delay after a node joined or returned while its agent does not reply yet."""
STARTUP_SECONDS = 2.0
"""How long a starting console waits for agents before it accepts requests that choose uids and ports."""


@dataclass(frozen=True)
class AgentInventory:
    """Report of one agent."""

    shards: Sequence[ShardReport]
    served: Sequence[ServedDatabase]

    @property
    def engine_ids(self) -> set[str]:
        """Engine ids of its shards, and of those that its proxy uses."""
        return {each.engine_id for each in self.shards}.union(*(each.engine_ids for each in self.served))


class KnownState(NamedTuple):
    """Content of the store, read once for all agents that are polled at the same time."""

    engine_ids: set[str]
    """Of all shards with a row."""
    unknown_by_node: Mapping[int, dict[str, Any]]
    """Stored form of the unknown shards and endpoints, by uid of the node."""
    counters: tuple[int, int]
    """The next uid of a shard and of a database."""


class InventoryLoop:
    """Polls every reachable agent."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._mismatches = StoreMismatches(store, agents)
        # Agents of many nodes are polled at the same time, and each report is compared with all shards.
        self._known = SharedRead(self._read_known)
        self._polled = 0
        """Number of nodes in the last poll."""

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            await self._run()
        finally:
            await self._known.close()

    async def _run(self) -> None:
        with self._bus.listen("change") as changes:
            while True:
                is_complete = await self.sweep()
                # Changes of nodes come in bursts; each poll asks all agents.
                await asyncio.sleep(max(RETRY_SECONDS, 2 * PAUSE_PER_REQUEST * self._polled))
                if is_complete:
                    await changes.wait_until(lambda change: change[0] == "node", POLL_SECONDS - RETRY_SECONDS)

    async def read_at_startup(self) -> None:
        """Poll all agents once before the console accepts requests, because its store may have been restored."""
        try:
            async with asyncio.timeout(STARTUP_SECONDS):
                await self.sweep()
        except TimeoutError:
            log.warning("not all agents reported their shards within %s s", STARTUP_SECONDS)

    async def sweep(self) -> bool:
        """Poll every agent once. Return whether all answered."""
        since = datetime.now(UTC)
        async with self._store.read() as session:
            available_nodes = [node_ref(node) for node in await nodes.list_stored(session) if node.is_available]
        self._polled = len(available_nodes)
        reported = await run_concurrently(map(self._poll, available_nodes), NODES_AT_ONCE)
        answered = {
            node.uid: each.shards for node, each in zip(available_nodes, reported, strict=True) if each is not None
        }
        await self._mismatches.compare(answered, since)
        return len(answered) == len(available_nodes)

    async def _poll(self, node: NodeRef) -> AgentInventory | None:
        """Return what the agent reports; None if it does not respond."""
        try:
            reports = await self._reported(node)
            # A row is written before its shard is started, so a shard that was reported above has its row by now.
            known = await self._known.get()
            found, orphans = Unknown(), dict[int, str]()
            if not reports.engine_ids <= known.engine_ids:
                async with self._store.read() as session:
                    found = await _unknown(session, reports, known.engine_ids)
                    orphans = await _orphans(session, reports.shards, known.engine_ids)
            is_changed = known.unknown_by_node.get(node.uid, found.stored()) != found.stored()
            if is_changed or known.counters != _counters(known.counters, reports):
                async with self._store.begin() as session:
                    await self._record(session, node.uid, reports)
            if orphans:
                outcomes = await self._agents.remove(node, orphans)
                await self._record_removed(node, [outcome.uid for outcome in outcomes if outcome.ok])
        except AgentError as error:
            log.info("node %s did not report its shards: %s", node.uid, error.reason)
            return None
        return reports

    async def _reported(self, node: NodeRef) -> AgentInventory:
        reports, proxy = await asyncio.gather(self._agents.shards(node), self._agents.proxy(node))
        return AgentInventory(reports, proxy.serving or [])

    async def _read_known(self) -> KnownState:
        async with self._store.read() as session:
            cluster_row = await cluster.load(session)
            return KnownState(
                await shards.engine_ids(session),
                await nodes.unknown_by_uid(session),
                (cluster_row.next_shard_uid, cluster_row.next_bdb_uid),
            )

    async def _record(self, session: AsyncSession, node_uid: int, reported: AgentInventory) -> None:
        cluster_row = await cluster.load_for_update(session)
        node = await nodes.by_uid(session, node_uid)
        if node is None:
            return
        counters = (cluster_row.next_shard_uid, cluster_row.next_bdb_uid)
        cluster_row.next_shard_uid, cluster_row.next_bdb_uid = _counters(counters, reported)
        unknown_ids = await _unknown(session, reported)
        await save_unknown(session, node, unknown_ids)

    async def _record_removed(self, node: NodeRef, removed: Sequence[int]) -> None:
        async with self._store.begin() as session:
            for uid in removed:
                message = f"Shard redis:{uid} on node {node.uid} was removed: its database no longer exists."
                record(session, "orphan_removed", message, source="node", severity="WARNING", node_uid=node.uid)


def _counters(counters: tuple[int, int], reported: AgentInventory) -> tuple[int, int]:
    """Return the next uid of a shard and of a database. `counters` are the stored ones."""
    databases = [*(each.bdb_uid for each in reported.shards), *(each.uid for each in reported.served)]
    return next_uid(counters[0], [each.uid for each in reported.shards]), next_uid(counters[1], databases)


async def _orphans(session: AsyncSession, reported: Collection[ShardReport], known: Collection[str]) -> dict[int, str]:
    """Engine ids by uid of the shards that this store removed. `known` are those with a row."""
    absent = {each.engine_id for each in reported}.difference(known)
    removed_ids = await shards.removed_engine_ids(session, absent) if absent else set()
    return {each.uid: each.engine_id for each in reported if each.engine_id in removed_ids}


async def _unknown(session: AsyncSession, reported: AgentInventory, known: Collection[str] = ()) -> Unknown:
    """Return the shards and endpoints that the store does not contain. It is not queried for `known` engine ids."""
    absent = reported.engine_ids.difference(known)
    unknown_ids = await shards.unknown_engine_ids(session, absent)
    return Unknown(
        tuple(
            UnknownShard(each.uid, each.bdb_uid, each.engine_id, each.port, each.bus_port, each.memory, each.flash)
            for each in sorted(reported.shards, key=lambda each: each.uid)
            if each.engine_id in unknown_ids
        ),
        tuple(
            UnknownEndpoint(each.uid, each.port)
            for each in sorted(reported.served, key=lambda each: each.port)
            if each.engine_ids and unknown_ids.issuperset(each.engine_ids)
        ),
    )


async def save_unknown(session: AsyncSession, node: Node, found: Unknown) -> None:
    """Store the unknown shards of a node. One alarm for each node is open while it has any."""
    if node.unknown == found.stored():
        return
    node.unknown = found.stored()
    span = await events.open_span(session, UNKNOWN_SHARDS, node_uid=node.uid)
    if not found.shards:
        if span is not None:
            span.end()
        return
    databases = sorted({each.bdb_uid for each in found.shards})
    listed = ", ".join(str(uid) for uid in databases)
    message = (
        f"Node {node.uid} had {plural(len(found.shards), 'shard')} of a database that this store does not contain "
        f"({'uid' if len(databases) == 1 else 'uids'} {listed}). The store may be older than the database. "
        "The shards were left running, and their uids, ports and memory are not used for other databases."
    )
    details = {"open": True, "shards": [each.uid for each in found.shards], "databases": databases}
    if span is not None:
        span.description, span.details = message, details
        return
    log.warning("%s", message)
    record(session, UNKNOWN_SHARDS, message, source="node", severity="WARNING", node_uid=node.uid, details=details)
