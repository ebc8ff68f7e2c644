"""Renewal and distribution of the shard certificates of encrypted databases, long before they expire.

Old and new certificates are from the same CA, so shards with either can connect to each other. Starting shards get the current
certificate with their start request; proxies get it with their next state. `shard_ca_replacement.py` replaces the CA.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.domain.databases.shard_status import NOT_SEEN
from shardboard.driver.interfaces import Agents, NodeRef, RenewCertificates
from shardboard.errors import AgentError, AgentOutdated, AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import NODES_AT_ONCE, run_concurrently
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.databases.shard_ca_replacement import CaReplacements
from shardboard.reconcilers.load_database import node_ref, shard_tls
from shardboard.state.alerting.events import record
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

log = logging.getLogger(__name__)

CHECK_SECONDS = 60.0
"""Seconds until certificates are checked again and shards that were not updated are retried."""

REDISTRIBUTE_SECONDS = 86_400.0
"""Seconds after which all shards are updated again: a shard may have been started with a certificate read just before a renewal."""


@dataclass(frozen=True)
class _Distribution:
    number: int = 0
    """Number of the distributed certificate."""
    shards: frozenset[int] = frozenset()
    """Uids of the living shards that accepted it."""
    at: float = 0.0
    """Time by the loop's clock."""


class CertificatesLoop:
    """The certificate loop; `renew`, `distribute` and `advance` are its parts."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, serving: Endpoints) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._replacements = CaReplacements(store, agents, serving)
        self._distributed: dict[tuple[int, int], _Distribution] = {}
        """By node and database, where no shard rejected the certificate."""
        self._outdated: dict[int, str] = {}
        """Last recorded reason why the agent of a node does not support renewals, by node uid."""
        self._refusals: dict[tuple[int, int], str] = {}
        """By node and database: reason of the last reported failure."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.renew(datetime.now(UTC))
                await self.distribute()
                await self.advance()
                await changes.wait_until(lambda change: change[0] in ("bdb", "node", "shard"), CHECK_SECONDS, pause=4)

    async def renew(self, now: datetime) -> None:
        """Store a new certificate for each database whose current one expires soon."""
        async with self._store.read() as session:
            due = [bdb.uid for bdb in await bdbs.list_all(session) if _is_due(bdb, now)]
        for uid in due:
            async with self._store.begin() as session:
                await clusters.load_for_update(session)  # prevents two certificates with the same number
                bdb = await bdbs.by_uid(session, uid)
                if bdb is None or not _is_due(bdb, now) or bdb.shard_certificates is None:
                    continue
                certificates = ShardCertificates.read(bdb.shard_certificates)
                if certificates.is_ca_due(now):
                    bdb.shard_certificates = certificates.with_replacement().stored()
                    message = f"The CA of the shards of {bdb.name} expires soon and is being replaced."
                    record(session, "bdb_authority_ends", message, source="bdb", bdb_uid=uid)
                    continue
                renewed = certificates.with_new_certificate()
                bdb.shard_certificates = renewed.stored()
                end = f"{renewed.valid_until:%Y-%m-%d}"
                message = f"The certificate of the shards of {bdb.name} was renewed and is valid until {end}."
                record(session, "bdb_certificate_renewed", message, source="bdb", bdb_uid=uid)

    async def distribute(self) -> None:
        """Send the current certificate to all reachable nodes whose shards may have an older one."""
        async with self._store.read() as session:
            renewed_bdbs = {bdb.uid: bdb for bdb in await bdbs.list_all(session) if _number(bdb) > 1}
            machines = {
                node.uid: node for node in await nodes.list_all(session) if node.agent_status == AgentStatus.CONNECTED
            }
            uids_by_node: dict[int, dict[int, set[int]]] = defaultdict(
                lambda: defaultdict(set)
            )  # shards seen alive there
            ids: dict[tuple[int, int], list[str]] = defaultdict(list)  # engine ids by node and database
            for shard in await shards.list_all(session) if renewed_bdbs else ():
                if shard.bdb_uid in renewed_bdbs and shard.node_uid in machines:
                    seen_uids = uids_by_node[shard.node_uid][shard.bdb_uid]
                    ids[shard.node_uid, shard.bdb_uid].append(shard.engine_id)
                    if shard.observed_status not in NOT_SEEN:
                        seen_uids.add(shard.uid)
        distributed_since = asyncio.get_running_loop().time() - REDISTRIBUTE_SECONDS
        self._distributed = {
            (node_uid, bdb_uid): distribution
            for (node_uid, bdb_uid), distribution in self._distributed.items()
            if bdb_uid in uids_by_node.get(node_uid, ()) and distribution.at > distributed_since
        }
        distributions = (
            self._distribute(node_ref(machines[uid]), renewed_bdbs, uids_of_node, ids)
            for uid, uids_of_node in uids_by_node.items()
        )
        await run_concurrently(distributions, NODES_AT_ONCE)

    async def advance(self) -> None:
        """Perform the next step of CA replacements whose previous step is complete."""
        await self._replacements.advance(self._is_updated)

    def _is_updated(self, bdb: Bdb, shard: Shard) -> bool:
        distribution = self._distributed.get((shard.node_uid, bdb.uid), _Distribution())
        return distribution.number == _number(bdb) and shard.uid in distribution.shards

    async def _distribute(
        self,
        node: NodeRef,
        renewed: Mapping[int, Bdb],
        shards_by_database: Mapping[int, set[int]],
        ids: Mapping[tuple[int, int], list[str]],
    ) -> None:
        for uid, seen_uids in sorted(shards_by_database.items()):
            bdb, credentials = renewed[uid], shard_tls(renewed[uid])
            distribution = self._distributed.get((node.uid, uid), _Distribution())
            if credentials is None or (distribution.number == _number(bdb) and seen_uids <= distribution.shards):
                continue
            try:
                request = RenewCertificates(bdb_uid=uid, engine_ids=ids[node.uid, uid], tls=credentials)
                results = await self._agents.renew_certificates(node, request)
            except AgentUnreachable as error:
                log.info("certificates: database %s on node %s not updated: %s", uid, node.uid, error.reason)
                return
            except AgentOutdated as error:
                await self._record_outdated(node, error.reason)
                return
            except AgentError as error:
                results, failures = [], {0: error.reason}
            else:
                failures = {result.uid: result.reply for result in results if not result.ok}
            if not failures:
                # A shard that was not seen alive may be starting now with an older certificate: it is updated once it is seen.
                accepted_uids = frozenset(result.uid for result in results) & seen_uids
                self._distributed[node.uid, uid] = _Distribution(
                    _number(bdb), accepted_uids, asyncio.get_running_loop().time()
                )
            await self._record_failure(node, bdb, min(failures.items(), default=(0, "")))

    async def _record_outdated(self, node: NodeRef, reason: str) -> None:
        """Record an event when the agent of a node does not support renewals, once for all databases."""
        if self._outdated.get(node.uid) == reason:
            return
        self._outdated[node.uid] = reason
        message = f"New certificates of shards could not be sent to node {node.uid}: {reason}. The console retries."
        async with self._store.begin() as session:
            record(
                session,
                "bdb_certificate_failed",
                message,
                source="node",
                severity="WARNING",
                node_uid=node.uid,
            )

    async def _record_failure(self, node: NodeRef, bdb: Bdb, refused: tuple[int, str]) -> None:
        """Record an event when shards reject the certificate, once per reason."""
        shard_uid, reason = refused
        if self._refusals.get((node.uid, bdb.uid), "") == reason:
            return
        self._refusals[node.uid, bdb.uid] = reason
        if not reason:
            return
        subject = f"Shard redis:{shard_uid} of {bdb.name}" if shard_uid else f"Shards of {bdb.name}"
        message = f"{subject} on node {node.uid} did not accept the new certificate: {reason}. The console retries."
        async with self._store.begin() as session:
            record(
                session,
                "bdb_certificate_failed",
                message,
                source="bdb",
                severity="ERROR",
                bdb_uid=bdb.uid,
                node_uid=node.uid,
            )


def _is_due(bdb: Bdb, now: datetime) -> bool:
    return bdb.shard_certificates is not None and ShardCertificates.read(bdb.shard_certificates).is_due(now)


def _number(bdb: Bdb) -> int:
    return 0 if bdb.shard_certificates is None else int(bdb.shard_certificates["number"])
