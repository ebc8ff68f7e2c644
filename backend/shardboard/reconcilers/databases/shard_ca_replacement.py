"""Replacement of the CAs that the shards of encrypted databases trust, while they serve requests.

The steps are those of `pki/shard_certificates.py`. A step starts when all shards and proxies of the database that may be alive have
completed the previous one. Shards that are down are not awaited: they are updated when they return.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.shard_status import NOT_SEEN, ShardStatus
from shardboard.driver import stale_connections
from shardboard.driver.interfaces import Agents
from shardboard.errors import AgentError
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.load_database import node_ref
from shardboard.reconcilers.load_database import shard_ref as shard_of
from shardboard.state.alerting.events import record
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

REPORT_AFTER_SECONDS = 60.0
"""Seconds that a step may wait before an event reports it."""

IsUpdated = Callable[[Bdb, Shard], bool]
"""Whether the shard has the current certificates of the database."""


class CaReplacements:
    """CA replacements of all databases. `advance` performs the steps that are possible."""

    def __init__(self, store: Store, agents: Agents, serving: Endpoints) -> None:
        self._store = store
        self._agents = agents
        self._serving = serving
        self._waits: dict[int, tuple[str, float]] = {}
        """By database: what it waits for, and since when by the loop's clock; infinite after an event."""

    async def advance(self, is_updated: IsUpdated) -> None:
        async with self._store.read() as session:
            replaced = [
                (bdb, certificates)
                for bdb in await bdbs.list_all(session)
                if bdb.shard_certificates is not None
                if (certificates := ShardCertificates.read(bdb.shard_certificates)).replacement_step
            ]
            machines = {node.uid: node for node in await nodes.list_all(session)} if replaced else {}
            rows: dict[int, list[Shard]] = defaultdict(list)
            for shard in await shards.list_all(session) if replaced else ():
                rows[shard.bdb_uid].append(shard)
        pending_bdbs, ready = {}, []
        for bdb, certificates in replaced:
            missing_by_node = _missing(bdb, [row for row in rows[bdb.uid] if not is_updated(bdb, row)], machines)
            if not missing_by_node:
                missing_by_node = await self._finish_step(bdb, certificates, rows[bdb.uid], machines)
            if missing_by_node:
                pending_bdbs[bdb.uid] = await self._record_wait(bdb, missing_by_node)
            else:
                ready.append(bdb)
        self._waits = pending_bdbs
        if ready:
            async with self._store.begin() as session:
                await clusters.load_for_update(session)
                for bdb in ready:
                    await _advance_step(session, bdb)

    async def _finish_step(
        self, bdb: Bdb, certificates: ShardCertificates, rows: Sequence[Shard], machines: Mapping[int, Node]
    ) -> str:
        """Return what still prevents the next step; empty if nothing does."""
        try:
            await self._serving.update(bdb.uid)
            if certificates.replacement_step == "removed":
                await self._close(certificates.removed_addresses.split(), rows, machines)
        except AgentError as error:
            return error.reason
        return ""

    async def _close(self, left: Sequence[str], rows: Sequence[Shard], machines: Mapping[int, Node]) -> None:
        """Close connections from removed nodes. A node that has joined with the same address since has current certificates."""
        if not left:
            return
        addresses = await _addresses(left) - await _addresses(node.addr for node in machines.values())
        reachable = [
            shard_of(row, node_ref(machines[row.node_uid]))
            for row in rows
            if row.node_uid in machines and row.observed_status not in NOT_SEEN
        ]
        await stale_connections.close(self._agents, reachable, addresses)

    async def _record_wait(self, bdb: Bdb, waits: str) -> tuple[str, float]:
        """Record an event when a wait takes long, once per reason."""
        now = asyncio.get_running_loop().time()
        previous, waiting_since = self._waits.get(bdb.uid, ("", now))
        if previous != waits:
            waiting_since = now
        if now - waiting_since < REPORT_AFTER_SECONDS:
            return waits, waiting_since
        message = f"The replacement of the shards' CA of {bdb.name} is waiting: {waits}. It continues automatically."
        async with self._store.begin() as session:
            record(session, "bdb_authority_waits", message, source="bdb", severity="WARNING", bdb_uid=bdb.uid)
        return waits, float("inf")


def _missing(bdb: Bdb, outdated: Sequence[Shard], machines: Mapping[int, Node]) -> str:
    """Return which nodes have not completed the current step and may still communicate; empty if all have."""
    uids = {row.node_uid for row in outdated if row.observed_status != ShardStatus.DOWN}
    for uid in {*bdb.endpoint_nodes, *bdb.retiring} & machines.keys():
        if machines[uid].agent_status != AgentStatus.CONNECTED and machines[uid].health != NodeHealth.DOWN:
            uids.add(uid)
    if not uids:
        return ""
    names = ", ".join(str(uid) for uid in sorted(uids))
    return f"{'node' if len(uids) == 1 else 'nodes'} {names} {'has' if len(uids) == 1 else 'have'} not completed the last step"


async def _addresses(names: Iterable[str]) -> set[str]:
    """Return the IP addresses of nodes, which may have joined by host name. Names that cannot be resolved are skipped."""
    loop, addresses = asyncio.get_running_loop(), set()
    for name in names:
        with contextlib.suppress(OSError):
            addresses |= {str(info[4][0]) for info in await loop.getaddrinfo(name, None)}
    return addresses


async def _advance_step(session: AsyncSession, seen: Bdb) -> None:
    bdb = await bdbs.by_uid(session, seen.uid)
    if bdb is None or bdb.shard_certificates != seen.shard_certificates:
        return
    certificates = ShardCertificates.read(seen.shard_certificates or {})
    bdb.shard_certificates = certificates.with_next_step().stored()
    if certificates.replacement_step == "removed":
        message = f"The shards' CA of {bdb.name} was replaced. Running shards reject certificates of the old CA."
        record(session, "bdb_authority_replaced", message, source="bdb", bdb_uid=bdb.uid)
