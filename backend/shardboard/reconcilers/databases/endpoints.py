"""Control of the proxies: which databases the proxy of each node serves, and where their shards are.

The state of a proxy is derived from the store alone and is sent completely after each change. An unreachable node is updated when
it returns; until then its proxy continues with its last state and with what it learns from redirections.
"""

import asyncio
import hashlib
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases import proxy_policy
from shardboard.domain.databases.bdb_status import IN_SERVICE, BdbStatus
from shardboard.domain.databases.proxy_policy import ShardLocation
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import (
    Agents,
    NodeRef,
    ProxyDatabase,
    ProxyEndpoint,
    ProxyReport,
    ProxyShard,
    ProxyState,
    ServedDatabase,
    canary,
)
from shardboard.errors import AgentError, AgentRefused, AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.reconcilers.databases.endpoint_moves import EndpointMove
from shardboard.reconcilers.load_database import node_ref, shard_tls
from shardboard.state.alerting.events import record
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Seconds until failed updates are retried."""
CANNOT_KEEP = "a proxy of the previous release cannot keep the endpoints of unknown databases"
SERVED_STATUSES = frozenset({BdbStatus.PENDING, *IN_SERVICE, BdbStatus.IMPORT_PENDING, BdbStatus.RECOVERY})
"""States of a database in which its endpoint listens."""


class ProxyUpdate(NamedTuple):
    """State of a proxy, and the number of the read of the store that it is derived from."""

    read: int
    state: ProxyState


class Endpoints:
    """The loop, and operations for other components."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._pushing: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._applied: dict[int, tuple[ProxyState, ProxyReport]] = {}
        """By node: the last state of its proxy, and the resulting report."""
        self._pushers: Tasks[int] = Tasks()
        self._latest: dict[NodeRef, ProxyUpdate] = {}
        """Next state of each proxy."""
        self._reading = asyncio.Lock()
        self._reads = 0
        self._sent: dict[int, int] = {}
        """By node: the newest read of the store whose state was sent."""
        self._versions: dict[int, tuple[list[ProxyShard], int]] = {}

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._pushers.cancelled_at_exit():
            with self._bus.listen("change") as changes:
                while True:
                    await self.update_all()
                    await changes.wait_until(
                        lambda change: change[0] in ("bdb", "shard", "node"), RETRY_SECONDS, pause=2
                    )

    async def update_all(self) -> None:
        """Start updating the proxies of all reachable nodes to the state in the store. A hung node does not delay the others."""
        await self._bind()
        for node, desired in (await self._desired_states()).items():
            self._latest[node] = desired
            if node.uid not in self._pushers:
                self._pushers.start(node.uid, self._update_proxy(node))

    async def _update_proxy(self, node: NodeRef) -> None:
        while (desired := self._latest.pop(node, None)) is not None:
            try:
                await self._push(node, desired)
            except Exception as error:  # the next poll retries
                write_log = log.warning if is_transient(error) else log.exception
                write_log(
                    "endpoints: storing the report of the proxy of node %s failed: %s", node.uid, describe_error(error)
                )

    async def serve(self, bdb_uid: int) -> dict[int, str]:
        """Apply the state of one database now, whether it is served or not. Return failures by node; empty if clients can connect
        to all its endpoints. Raises AgentUnreachable if a node that should serve it could not be reached; this can be transient.
        """
        await self._bind()
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            node_uids = set(bdb.endpoint_nodes) if bdb is not None else set()
        failed = {}
        for node_uid in sorted(await self._push_all(node_uids)):
            _, report = self._applied[node_uid]
            if report.state != "running":
                failed[node_uid] = report.detail
            elif bdb_uid in report.failures:
                failed[node_uid] = report.failures[bdb_uid]
        return failed

    async def update(self, bdb_uid: int) -> None:
        """Send the database's state to all its proxies now, including those of old addresses, whether or not they can serve it.
        Raises AgentUnreachable as `serve` does.
        """
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            node_uids = {*bdb.endpoint_nodes, *bdb.retiring} if bdb is not None else set()
        await self._push_all(node_uids)

    async def _push_all(self, chosen: set[int]) -> set[int]:
        """Send the current state to the chosen reachable nodes, and return them. Raises AgentUnreachable if one could not be
        updated.
        """
        states = {node: desired for node, desired in (await self._desired_states()).items() if node.uid in chosen}
        await asyncio.gather(*(self._push(node, desired) for node, desired in states.items()))
        uids = {node.uid for node in states}
        if new_nodes := uids - self._applied.keys():
            raise AgentUnreachable(f"the proxy of node {min(new_nodes)} could not be updated")
        return uids

    async def _bind(self) -> None:
        """Choose the nodes of all endpoints, and end old addresses whose grace period is over. Write and report changes only."""
        async with self._store.read() as session:
            if not await self._endpoint_moves(session):
                return
        async with self._store.begin() as session:
            for each in await self._endpoint_moves(session):
                each.write(session)

    async def _endpoint_moves(self, session: AsyncSession) -> list[EndpointMove]:
        machines = {node.uid: node for node in await nodes.list_stored(session)}
        up_node_uids = {node.uid for node in machines.values() if node.health != NodeHealth.DOWN}
        nodes_with_duty = {node.uid for node in machines.values() if node.duty}
        grace = timedelta(seconds=(await clusters.load(session)).rules.endpoint_rebind_propagation_grace_time)
        locations: dict[int, list[ShardLocation]] = defaultdict(list)
        for shard in await shards.list_conditions(session):
            locations[shard.bdb_uid].append(ShardLocation(shard.node_uid, shard.pair, _is_primary(shard)))
        moves = []
        for bdb in await bdbs.list_all(session):
            if bdb.status in SERVED_STATUSES and locations[bdb.uid]:
                node_uids = bdb.endpoint_nodes
                chosen_uids = proxy_policy.bind(
                    bdb.config["proxy_policy"], node_uids, locations[bdb.uid], up_node_uids, nodes_with_duty
                )
                previous = bdb.retiring
                retiring = proxy_policy.retiring_addresses(
                    node_uids, chosen_uids, previous, machines, datetime.now(UTC), grace
                )
                if chosen_uids != node_uids or retiring != previous:
                    moves.append(EndpointMove(bdb, machines, chosen_uids, retiring, int(grace.total_seconds())))
        return moves

    async def _desired_states(self) -> dict[NodeRef, ProxyUpdate]:
        """Return the complete proxy state of each reachable node.

        One read starts after the other has ended, so that their numbers are in the order of the changes that they contain.
        """
        async with self._reading:
            self._reads += 1
            return await self._read_desired_states(self._reads)

    async def _read_desired_states(self, number: int) -> dict[NodeRef, ProxyUpdate]:
        async with self._store.read() as session:
            machines = {node.uid: node for node in await nodes.list_all(session)}
            databases = [
                bdb for bdb in await bdbs.list_all(session) if bdb.status in SERVED_STATUSES and not bdb.traffic_stopped
            ]
            canaries = (await clusters.load(session)).rules.canary_writes_per_second
            members: dict[int, list[ReadShard]] = defaultdict(list)
            for shard in await shards.list_conditions(session):
                members[shard.bdb_uid].append(shard)
        for bdb_uid in self._versions.keys() - {bdb.uid for bdb in databases}:
            del self._versions[bdb_uid]
        for node_uid in self._applied.keys() - machines.keys():
            del self._applied[node_uid]
        by_node: dict[int, list[ProxyDatabase]] = defaultdict(list)
        for bdb in databases:
            proxy_database = self._proxy_database(bdb, members[bdb.uid], machines, canaries)
            for uid in bdb.endpoint_nodes:
                by_node[uid].append(proxy_database)
            for uid in bdb.retiring.keys() & machines.keys():
                # Cluster-aware clients find the new addresses there, and see that this one has no slots.
                endpoint = ProxyEndpoint(id=_endpoint_id(bdb.uid, uid), address=machines[uid].addr, port=bdb.port)
                by_node[uid].append(
                    proxy_database.model_copy(update={"endpoints": [*proxy_database.endpoints, endpoint]})
                )
        return {
            node_ref(node): ProxyUpdate(number, ProxyState(threads=node.proxy_threads, databases=by_node[uid]))
            for uid, node in machines.items()
            if node.agent_status == AgentStatus.CONNECTED and node.health != NodeHealth.DOWN
        }

    def _proxy_database(
        self, bdb: Bdb, rows: Sequence[ReadShard], machines: Mapping[int, Node], canaries: int
    ) -> ProxyDatabase:
        served_nodes = [uid for uid in bdb.endpoint_nodes if uid in machines]
        up_node_uids = [uid for uid in served_nodes if machines[uid].health != NodeHealth.DOWN] or served_nodes
        proxy_shards = [
            ProxyShard(
                uid=row.uid,
                engine_id=row.engine_id,
                role=ShardRole.PRIMARY if is_primary else ShardRole.REPLICA,
                address=machines[row.node_uid].addr,
                port=row.port,
                slots=list(slots.parse(row.slots)) if is_primary else [],
                # An endpoint on another node serves the slots of a node without an endpoint: it reaches all shards.
                endpoint_id=_endpoint_id(bdb.uid, row.node_uid if row.node_uid in up_node_uids else up_node_uids[0])
                if is_primary and up_node_uids
                else None,
            )
            for row in rows
            # A port that an unknown shard has taken since would lead to the data of a different database.
            if row.port not in machines[row.node_uid].unknown_shards.shard_ports
            for is_primary in [_is_primary(row)]
        ]
        proxy_shards, version = self._version(bdb.uid, proxy_shards)
        return ProxyDatabase(
            uid=bdb.uid,
            port=bdb.port,
            hides_cluster=not bdb.config["oss_cluster"],
            cluster=bdb.sharding,
            version=version,
            access=bdb.access_version,
            tls=bdb.config["tls_mode"] == "enabled",
            max_connections=bdb.config["max_connections"],
            shards=proxy_shards,
            endpoints=[
                ProxyEndpoint(id=_endpoint_id(bdb.uid, uid), address=machines[uid].addr, port=bdb.port)
                for uid in up_node_uids
            ],
            shard_tls=shard_tls(bdb),
            canary=canary.settings_for(bdb.admin_password, canaries),
        )

    def _version(self, bdb_uid: int, listed: list[ProxyShard]) -> tuple[list[ProxyShard], int]:
        """Return the list and its version, which increases when the shards differ from the last list. The version is based on the
        clock, so it grows across restarts. An unchanged list is returned as the same object, because comparing hundreds of shards
        for each node would take long.
        """
        previous, version = self._versions.get(bdb_uid, ([], 0))
        if previous == listed:
            return previous, version
        self._versions[bdb_uid] = (listed, max(version + 1, time.time_ns() // 1_000_000))
        return self._versions[bdb_uid]

    async def _push(self, node: NodeRef, desired: ProxyUpdate) -> None:
        """Send a state, unless a newer one was sent while this one waited: that would close endpoints that serve clients."""
        state = desired.state
        async with self._pushing[node.uid]:
            if desired.read < self._sent.get(node.uid, 0):
                return
            self._sent[node.uid] = desired.read
            applied = self._applied.get(node.uid)
            if applied is not None and applied[0] == state and applied[1].state != "died" and not applied[1].failures:
                return
            try:
                served = applied[1].serving if applied is not None else (await self._agents.proxy(node)).serving
                if served is None and await self._has_unknown_shards(node.uid):
                    raise AgentRefused(f"{CANNOT_KEEP} on node {node.uid}; upgrade its agent")
                kept_ids = await self._unknown(served or [])
                report = await self._agents.apply_proxy(node, state.model_copy(update={"keep": kept_ids}))
            except AgentError as error:
                log.info("endpoints: updating the proxy of node %s failed: %s", node.uid, error.reason)
                self._applied.pop(node.uid, None)
                return
            await self._save_report(node, report, {database.uid: database.port for database in state.databases})
            self._applied[node.uid] = (state, report)

    async def _unknown(self, serving: Sequence[ServedDatabase]) -> list[ServedDatabase]:
        """Return the databases of which this store never contained a shard: they belong to a newer state of it, or to another
        store.
        """
        ids = {engine_id for database in serving for engine_id in database.engine_ids}
        async with self._store.read() as session:
            unknown_ids = await shards.unknown_engine_ids(session, ids)
        return [each for each in serving if each.engine_ids and unknown_ids.issuperset(each.engine_ids)]

    async def _has_unknown_shards(self, node_uid: int) -> bool:
        async with self._store.read() as session:
            node = await nodes.by_uid(session, node_uid)
        return node is not None and bool(node.unknown_shards.shards)

    async def _save_report(self, node: NodeRef, report: ProxyReport, ports: Mapping[int, int]) -> None:
        """Store the report with the node, and record new and resolved failures."""
        now: dict[str, Any] = report.model_dump(mode="json", exclude={"serving"})
        async with self._store.read() as session:
            row = await nodes.by_uid(session, node.uid)
            if row is None or row.proxy == now:
                return
        async with self._store.begin() as session:
            row = await nodes.by_uid(session, node.uid)
            if row is None or row.proxy == now:
                return
            previous = _failures(row.proxy, ports)
            row.proxy = now
            failing = _failures(now, ports)
            for uid in failing.keys() - previous.keys():
                message = f"The endpoint of database {uid} on node {node.uid} is unavailable: {failing[uid]}."
                record(
                    session, "endpoint_down", message, source="bdb", severity="ERROR", bdb_uid=uid, node_uid=node.uid
                )
            for uid in previous.keys() - failing.keys():
                message = f"The endpoint of database {uid} on node {node.uid} is available again."
                record(session, "endpoint_up", message, source="bdb", bdb_uid=uid, node_uid=node.uid)


def unavailable_message(port: int, failed: Mapping[int, str]) -> str:
    """Return why a database is unreachable, for the first node that failed."""
    node_uid, reason = min(failed.items())
    suffix = f" (and on {len(failed) - 1} more nodes)" if len(failed) > 1 else ""
    return f"The endpoint on port {port} of node {node_uid}{suffix} is unavailable: {reason}."


def _failures(report: Mapping[str, Any], ports: Mapping[int, int]) -> dict[int, str]:
    if report.get("state") == "died":
        return dict.fromkeys(ports, report["detail"])
    return {int(uid): reason for uid, reason in report.get("failures", {}).items() if int(uid) in ports}


def _is_primary(shard: ReadShard) -> bool:
    return shard.current_role == ShardRole.PRIMARY and (
        shard.observed_status != ShardStatus.DOWN or shard.role == ShardRole.PRIMARY
    )


def _endpoint_id(bdb_uid: int, node_uid: int) -> str:
    """Return the node id that cluster-aware clients see: 40 hex digits, constant."""
    return hashlib.sha1(f"endpoint {bdb_uid}:{node_uid}".encode(), usedforsecurity=False).hexdigest()
