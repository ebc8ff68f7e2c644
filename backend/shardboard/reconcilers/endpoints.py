"""Lets the proxy of every node serve the databases that have an endpoint there, and tells it where their shards are.

What a proxy is to do follows from the store alone, and all of it is sent whenever a part changes. A node that cannot be
reached is told when it is back; until then its proxy goes on with what it knows, and with what redirections teach it.
"""

import asyncio
import hashlib
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.away import is_away, reason
from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.domain import binding, slots
from shardboard.domain.binding import Held
from shardboard.driver.ports import (
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
from shardboard.reconcilers.load import reference, shard_tls
from shardboard.reconcilers.rebinding import Rebinding
from shardboard.state import bdbs, nodes, shards
from shardboard.state import cluster as clusters
from shardboard.state.bdbs import Bdb
from shardboard.state.events import record
from shardboard.state.nodes import Node
from shardboard.state.shards import Shard
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_AGAIN = 5.0
"""Seconds until what could not be done is tried again."""
CANNOT_KEEP = "a proxy of the release before cannot keep the endpoints of unknown databases"
SERVED = frozenset({"pending", "active", "active-change-pending", "import-pending", "recovery"})
"""States of a database in which its endpoint listens."""


class Endpoints:
    """The loop, and what others may ask of it."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._pushing: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._applied: dict[int, tuple[ProxyState, ProxyReport]] = {}
        """By node: what its proxy was told last, and what came of it."""
        self._pushers: Tasks[int] = Tasks()
        self._latest: dict[NodeRef, ProxyState] = {}
        """What a proxy is to be told next."""
        self._versions: dict[int, tuple[list[ProxyShard], int]] = {}

    async def run(self) -> None:
        """Until cancelled."""
        async with self._pushers.ending():
            with self._bus.listen("change") as changes:
                while True:
                    await self.look()
                    await changes.until(lambda change: change[0] in ("bdb", "shard", "node"), LOOK_AGAIN)

    async def look(self) -> None:
        """Begin to bring every reachable node's proxy to what the store wants. A node that hangs holds up no other."""
        await self._bind()
        for node, state in (await self._wanted()).items():
            self._latest[node] = state
            if node.uid not in self._pushers:
                self._pushers.start(node.uid, self._bring_up_to_date(node))

    async def _bring_up_to_date(self, node: NodeRef) -> None:
        while (state := self._latest.pop(node, None)) is not None:
            try:
                await self._push(node, state)
            except Exception as error:  # the next look begins once more
                told = log.warning if is_away(error) else log.exception
                told("what the proxy of node %s said could not be kept: %s", node.uid, reason(error))

    async def serve(self, bdb_uid: int) -> dict[int, str]:
        """Let one database be served now, or not, as the store wants it. Reasons by node where that failed; empty when clients can
        connect everywhere that they should.

        Raises AgentUnreachable when a node that should serve it could not be asked: that may be over in a moment.
        """
        await self._bind()
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            wanted = set(bdb.endpoint_nodes) if bdb is not None else set()
        failed = {}
        for node_uid in sorted(await self._push_all(wanted)):
            _, report = self._applied[node_uid]
            if report.state != "running":
                failed[node_uid] = report.detail
            elif bdb_uid in report.failures:
                failed[node_uid] = report.failures[bdb_uid]
        return failed

    async def tell(self, bdb_uid: int) -> None:
        """Let all proxies that have to do with the database know now what the store says of it, those of old addresses too; whether
        they can serve it is another matter. Raises AgentUnreachable as `serve` does."""
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            chosen = {*bdb.endpoint_nodes, *bdb.retiring} if bdb is not None else set()
        wanted = await self._push_all(chosen)
        # A state of before may have come after it.
        if behind := [uid for uid, state in wanted.items() if self._applied[uid][0] != state]:
            raise AgentUnreachable(f"the proxy of node {min(behind)} is being told something else")

    async def _push_all(self, chosen: set[int]) -> dict[int, ProxyState]:
        """What each of the chosen nodes is to do that should be reachable. Raises AgentUnreachable when one could not be told."""
        wanted = {node: state for node, state in (await self._wanted()).items() if node.uid in chosen}
        await asyncio.gather(*(self._push(node, state) for node, state in wanted.items()))
        told = {node.uid: state for node, state in wanted.items()}
        if untold := told.keys() - self._applied.keys():
            raise AgentUnreachable(f"the proxy of node {min(untold)} could not be told")
        return told

    async def _bind(self) -> None:
        """Choose the nodes of every endpoint anew, and end old addresses whose time is over; write and tell what differs."""
        async with self._store.read() as session:
            if not await self._rebound(session):
                return
        async with self._store.begin() as session:
            for each in await self._rebound(session):
                each.write(session)

    async def _rebound(self, session: AsyncSession) -> list[Rebinding]:
        machines = {node.uid: node for node in await nodes.every(session)}
        living = {node.uid for node in machines.values() if node.health != "down"}
        resting = {node.uid for node in machines.values() if node.duty}
        grace = timedelta(seconds=(await clusters.load(session)).rules.endpoint_rebind_propagation_grace_time)
        held: dict[int, list[Held]] = defaultdict(list)
        for shard in await shards.every(session):
            held[shard.bdb_uid].append(Held(shard.node_uid, shard.pair, _leads(shard)))
        found = []
        for bdb in await bdbs.every(session):
            if bdb.status in SERVED and held[bdb.uid]:
                bound = bdb.endpoint_nodes
                chosen = binding.bind(bdb.config["proxy_policy"], bound, held[bdb.uid], living, resting)
                before = bdb.retiring
                left = binding.retiring(bound, chosen, before, machines, datetime.now(UTC), grace)
                if chosen != bound or left != before:
                    found.append(Rebinding(bdb, machines, chosen, left, int(grace.total_seconds())))
        return found

    async def _wanted(self) -> dict[NodeRef, ProxyState]:
        """By reachable node, everything that its proxy is to do."""
        async with self._store.read() as session:
            machines = {node.uid: node for node in await nodes.every(session)}
            databases = [bdb for bdb in await bdbs.every(session) if bdb.status in SERVED and not bdb.traffic_stopped]
            canaries = (await clusters.load(session)).rules.canary_writes_per_second
            members: dict[int, list[Shard]] = defaultdict(list)
            for shard in await shards.every(session):
                members[shard.bdb_uid].append(shard)
        for gone in self._versions.keys() - {bdb.uid for bdb in databases}:
            del self._versions[gone]
        for left in self._applied.keys() - machines.keys():
            del self._applied[left]
        by_node: dict[int, list[ProxyDatabase]] = defaultdict(list)
        for bdb in databases:
            told = self._told(bdb, members[bdb.uid], machines, canaries)
            for uid in bdb.endpoint_nodes:
                by_node[uid].append(told)
            for uid in bdb.retiring.keys() & machines.keys():
                # Cluster-aware clients find the new addresses there, and that this one has no slots.
                own = ProxyEndpoint(id=_endpoint_id(bdb.uid, uid), address=machines[uid].addr, port=bdb.port)
                by_node[uid].append(told.model_copy(update={"endpoints": [*told.endpoints, own]}))
        return {
            reference(node): ProxyState(threads=node.proxy_threads, databases=by_node[uid])
            for uid, node in machines.items()
            if node.agent_status == "connected" and node.health != "down"
        }

    def _told(self, bdb: Bdb, rows: Sequence[Shard], machines: Mapping[int, Node], canaries: int) -> ProxyDatabase:
        served = [uid for uid in bdb.endpoint_nodes if uid in machines]
        living = [uid for uid in served if machines[uid].health != "down"] or served
        listed = [
            ProxyShard(
                uid=row.uid,
                engine_id=row.engine_id,
                role="master" if leads else "slave",
                address=machines[row.node_uid].addr,
                port=row.port,
                slots=list(slots.parse(row.slots)) if leads else [],
                # An endpoint on another node serves the slots of a node that has none: it reaches all shards.
                endpoint_id=_endpoint_id(bdb.uid, row.node_uid if row.node_uid in living else living[0])
                if leads and living
                else None,
            )
            for row in rows
            # A port that an unknown shard has taken since would lead to the data of its database.
            if row.port not in machines[row.node_uid].unknown_shards.shard_ports
            for leads in [_leads(row)]
        ]
        listed, version = self._version(bdb.uid, listed)
        return ProxyDatabase(
            uid=bdb.uid,
            port=bdb.port,
            hides_cluster=not bdb.config["oss_cluster"],
            cluster=bdb.sharding,
            version=version,
            access=bdb.access_version,
            tls=bdb.config["tls_mode"] == "enabled",
            max_connections=bdb.config["max_connections"],
            shards=listed,
            endpoints=[
                ProxyEndpoint(id=_endpoint_id(bdb.uid, uid), address=machines[uid].addr, port=bdb.port)
                for uid in living
            ],
            shard_tls=shard_tls(bdb),
            canary=canary.order(bdb.admin_password, canaries),
        )

    def _version(self, bdb_uid: int, listed: list[ProxyShard]) -> tuple[list[ProxyShard], int]:
        """A greater number whenever the shards differ from what was told last: by the clock, so that it grows over restarts.

        Shards that are as before are the very same list: to compare hundreds for every node would take long.
        """
        before, version = self._versions.get(bdb_uid, ([], 0))
        if before == listed:
            return before, version
        self._versions[bdb_uid] = (listed, max(version + 1, time.time_ns() // 1_000_000))
        return self._versions[bdb_uid]

    async def _push(self, node: NodeRef, state: ProxyState) -> None:
        async with self._pushing[node.uid]:
            known = self._applied.get(node.uid)
            if known is not None and known[0] == state and known[1].state != "died" and not known[1].failures:
                return
            try:
                serving = known[1].serving if known is not None else (await self._agents.proxy(node)).serving
                if serving is None and await self._has_unknown_shards(node.uid):
                    raise AgentRefused(f"{CANNOT_KEEP} on node {node.uid}; upgrade its agent")
                keep = await self._unknown(serving or [])
                report = await self._agents.apply_proxy(node, state.model_copy(update={"keep": keep}))
            except AgentError as error:
                log.info("the proxy of node %s could not be told: %s", node.uid, error.reason)
                self._applied.pop(node.uid, None)
                return
            await self._note(node, report, {database.uid: database.port for database in state.databases})
            self._applied[node.uid] = (state, report)

    async def _unknown(self, serving: Sequence[ServedDatabase]) -> list[ServedDatabase]:
        """Those of which this store never contained a shard: they belong to a newer state of it, or to another store."""
        ids = {engine_id for database in serving for engine_id in database.engine_ids}
        async with self._store.read() as session:
            unknown = await shards.unknown(session, ids)
        return [each for each in serving if each.engine_ids and unknown.issuperset(each.engine_ids)]

    async def _has_unknown_shards(self, node_uid: int) -> bool:
        async with self._store.read() as session:
            node = await nodes.by_uid(session, node_uid)
        return node is not None and bool(node.unknown_shards.shards)

    async def _note(self, node: NodeRef, report: ProxyReport, ports: Mapping[int, int]) -> None:
        """Keep the report with the node, and tell what began to fail and what works again."""
        now: dict[str, Any] = report.model_dump(mode="json", exclude={"serving"})
        async with self._store.read() as session:
            row = await nodes.by_uid(session, node.uid)
            if row is None or row.proxy == now:
                return
        async with self._store.begin() as session:
            row = await nodes.by_uid(session, node.uid)
            if row is None or row.proxy == now:
                return
            before = _failures(row.proxy, ports)
            row.proxy = now
            failing = _failures(now, ports)
            for uid in failing.keys() - before.keys():
                told = f"The endpoint of database {uid} on node {node.uid} does not serve: {failing[uid]}."
                record(session, "endpoint_down", told, source="bdb", severity="ERROR", bdb_uid=uid, node_uid=node.uid)
            for uid in before.keys() - failing.keys():
                told = f"The endpoint of database {uid} on node {node.uid} serves again."
                record(session, "endpoint_up", told, source="bdb", bdb_uid=uid, node_uid=node.uid)


def sentence(port: int, failed: Mapping[int, str]) -> str:
    """Why a database cannot be reached, of the first node that failed."""
    node_uid, reason = min(failed.items())
    others = f" (and on {len(failed) - 1} more nodes)" if len(failed) > 1 else ""
    return f"The endpoint on port {port} of node {node_uid}{others} does not serve: {reason}."


def _failures(report: Mapping[str, Any], ports: Mapping[int, int]) -> dict[int, str]:
    if report.get("state") == "died":
        return dict.fromkeys(ports, report["detail"])
    return {int(uid): reason for uid, reason in report.get("failures", {}).items() if int(uid) in ports}


def _leads(shard: Shard) -> bool:
    return shard.current_role == "master" and (shard.observed_status != "down" or shard.role == "master")


def _endpoint_id(bdb_uid: int, node_uid: int) -> str:
    """What cluster-aware clients take for a node's id: 40 hex digits, the same for ever."""
    return hashlib.sha1(f"endpoint {bdb_uid}:{node_uid}".encode(), usedforsecurity=False).hexdigest()
