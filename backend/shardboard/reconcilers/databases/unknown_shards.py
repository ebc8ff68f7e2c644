"""Comparison of the shards and endpoints that agents report with the rows of the store.

A shard is identified by its engine id, which is random, and not by its uid: uids repeat when the store was restored from a backup,
lost its last transactions in a failover, or was replaced by an empty one. A reported shard without a row is

* an orphan if this store contained it and removed it: it was still starting when its database was deleted. It is removed.
* unknown otherwise. It is not changed, an alarm reports it, and its uids, ports and memory are not used for other shards.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.unknown_shards import Unknown, UnknownEndpoint, UnknownShard, next_uid
from shardboard.domain.text import plural
from shardboard.driver.interfaces import Agents, NodeRef, ServedDatabase, ShardReport
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting import events
from shardboard.state.alerting.events import UNKNOWN_SHARDS, record
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.cluster import Cluster
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


class InventoryLoop:
    """Polls every reachable agent."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                complete = await self.sweep()
                # Changes of nodes come in bursts; each poll asks all agents.
                await asyncio.sleep(RETRY_SECONDS)
                if complete:
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
        async with self._store.read() as session:
            reachable = [
                node_ref(node)
                for node in await nodes.list_all(session)
                if node.health == "up" and node.agent_status == "connected"
            ]
        return all(await asyncio.gather(*map(self._poll, reachable)))

    async def _poll(self, node: NodeRef) -> bool:
        try:
            reported = await self._reported(node)
            # A row is written before its shard is started, so a shard that was reported above has its row by now.
            async with self._store.read() as session:
                is_due = await self._is_due(session, node.uid, reported)
                orphans = await _orphans(session, reported.shards)
            if is_due:
                async with self._store.begin() as session:
                    await self._record(session, node.uid, reported)
            if orphans:
                outcomes = await self._agents.remove(node, orphans)
                await self._record_removed(node, [outcome.uid for outcome in outcomes if outcome.ok])
        except AgentError as error:
            log.info("node %s did not report its shards: %s", node.uid, error.reason)
            return False
        return True

    async def _reported(self, node: NodeRef) -> AgentInventory:
        held, proxy = await asyncio.gather(self._agents.shards(node), self._agents.proxy(node))
        return AgentInventory(held, proxy.serving or [])

    async def _is_due(self, session: AsyncSession, node_uid: int, reported: AgentInventory) -> bool:
        node = await nodes.by_uid(session, node_uid)
        if node is None:
            return False
        here = await cluster.load(session)
        unknown = await _unknown(session, reported)
        return node.unknown != unknown.stored() or _counters(here, reported) != (here.next_shard_uid, here.next_bdb_uid)

    async def _record(self, session: AsyncSession, node_uid: int, reported: AgentInventory) -> None:
        here = await cluster.load_for_update(session)
        node = await nodes.by_uid(session, node_uid)
        if node is None:
            return
        here.next_shard_uid, here.next_bdb_uid = _counters(here, reported)
        found = await _unknown(session, reported)
        if node.unknown != found.stored():
            node.unknown = found.stored()
            await _update_alarm(session, node, found)

    async def _record_removed(self, node: NodeRef, removed: Sequence[int]) -> None:
        async with self._store.begin() as session:
            for uid in removed:
                message = f"Shard redis:{uid} on node {node.uid} was removed: its database no longer exists."
                record(session, "orphan_removed", message, source="node", severity="WARNING", node_uid=node.uid)


def _counters(here: Cluster, reported: AgentInventory) -> tuple[int, int]:
    """The next uid of a shard and of a database."""
    databases = [*(each.bdb_uid for each in reported.shards), *(each.uid for each in reported.served)]
    return (
        next_uid(here.next_shard_uid, [each.uid for each in reported.shards]),
        next_uid(here.next_bdb_uid, databases),
    )


async def _orphans(session: AsyncSession, reported: Collection[ShardReport]) -> dict[int, str]:
    """Engine ids by uid of the shards that this store removed."""
    absent = {each.engine_id for each in reported} - await shards.engine_ids(session)
    removed = await shards.removed_engine_ids(session, absent) if absent else set()
    return {each.uid: each.engine_id for each in reported if each.engine_id in removed}


async def _unknown(session: AsyncSession, reported: AgentInventory) -> Unknown:
    ids = {each.engine_id for each in reported.shards}
    unknown = await shards.unknown_engine_ids(session, ids.union(*(each.engine_ids for each in reported.served)))
    return Unknown(
        tuple(
            UnknownShard(each.uid, each.bdb_uid, each.engine_id, each.port, each.bus_port, each.memory, each.flash)
            for each in sorted(reported.shards, key=lambda each: each.uid)
            if each.engine_id in unknown
        ),
        tuple(
            UnknownEndpoint(each.uid, each.port)
            for each in sorted(reported.served, key=lambda each: each.port)
            if each.engine_ids and unknown.issuperset(each.engine_ids)
        ),
    )


async def _update_alarm(session: AsyncSession, node: Node, found: Unknown) -> None:
    """One alarm for each node, open while it has unknown shards."""
    span = await events.open_span(session, UNKNOWN_SHARDS, node_uid=node.uid)
    if not found.shards:
        if span is not None:
            span.ended_at = datetime.now(UTC)
            span.details = {**span.details, "open": False}
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
