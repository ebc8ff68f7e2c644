"""Renewal of the certificates that agents present to the console and endpoints to clients, long before they expire.

The loop checks the certificate as a client would, with a separate connection. The agent creates a new key, which never leaves the
node, and its new certificate is checked again. Agents of earlier releases, which do not support this, keep their first certificate.
After a replacement of the console CA all certificates are renewed immediately. The serial number of each certificate is stored,
so that the certificates of a removed node can be rejected.
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, NodeRef, ServedCertificate
from shardboard.errors import AgentError, AgentOutdated, AgentUnreachable, ApiError
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import NODES_AT_ONCE, run_concurrently
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.tls import PEER_DAYS, serial_of
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting.events import record
from shardboard.state.cluster import agent_certificates, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.store.db import Store

log = logging.getLogger(__name__)

REJECT_SECONDS = 60.0
"""Seconds between two updates of the rejected certificates."""
CHECK_SECONDS = 3600.0
"""Seconds between two checks of a connected agent's certificate. It is also checked when the agent connects."""

RENEWAL_TIMEOUT_SECONDS = 240.0
"""Timeout of one renewal."""


class AgentCertificatesLoop:
    """Two loops, so that a slow agent does not delay revocations. `look` and `refuse` run one iteration of each."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, ca: ConsoleCa) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._ca = ca
        self._checked: dict[int, float] = {}
        """Time of the last check by node, by the loop's clock."""
        self._since = ca.ca_fingerprint()
        """CA that was current at these checks."""
        self._failures: dict[int, str] = {}
        """Failure in the last event, by node."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change", "authority") as changes:
            while True:
                await self.check(datetime.now(UTC))
                self._bus.publish("authority", ("looked", None))
                await changes.wait_until(
                    lambda change: change[0] in ("node", "changed"), self._ca.retry_seconds, pause=4
                )

    async def run_rejections(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.reject_removed()
                await changes.wait_until(lambda change: change[0] == "node", REJECT_SECONDS)

    async def reject_removed(self) -> None:
        """Reject the certificates of removed nodes."""
        async with self._store.read() as session:
            serials = await agent_certificates.revoked_serials(session)
        if self._ca.reject_certificates(serials):
            log.info("agent certificates: rejecting %s certificates of removed nodes", len(serials))

    async def check(self, now: datetime) -> None:
        """Check the certificates of all connected agents whose last check is too old, and renew those that are due."""
        async with self._store.read() as session:
            connected = {
                node.uid: node_ref(node)
                for node in await nodes.list_stored(session)
                if node.agent_status == AgentStatus.CONNECTED
            }
        if self._since != self._ca.ca_fingerprint():
            self._since = self._ca.ca_fingerprint()
            self._checked.clear()
        checked_since = asyncio.get_running_loop().time() - CHECK_SECONDS
        self._checked = {
            uid: checked_at
            for uid, checked_at in self._checked.items()
            if uid in connected and checked_at > checked_since
        }
        unchecked = [node for uid, node in connected.items() if uid not in self._checked]
        await run_concurrently((self._check(node, now) for node in unchecked), NODES_AT_ONCE)

    async def _check(self, node: NodeRef, now: datetime) -> None:
        failure, ca_fingerprint = "", self._ca.ca_fingerprint()
        try:
            async with asyncio.timeout(RENEWAL_TIMEOUT_SECONDS):
                expiry = await self._renewed(node, now)
        except AgentUnreachable as error:
            log.info("agent certificates: check of node %s postponed: %s", node.uid, error.reason)
            return
        except Exception as error:  # a failing agent must not prevent other renewals
            expiry, failure = None, _failure(error, node)
        if ca_fingerprint != self._ca.ca_fingerprint():
            return  # the CA was replaced during the check: all are checked again
        blocks_replacement = bool(failure) and self._ca.former is not None
        await self._save_state(node, certificate_failure=failure if blocks_replacement else "")
        if not blocks_replacement:  # otherwise it is retried soon
            self._checked[node.uid] = asyncio.get_running_loop().time()
        if expiry is not None:
            message = (
                f"The certificate of the agent of node {node.uid} was renewed and is valid until {expiry:%Y-%m-%d}."
            )
            await self._record(node, "node_certificate_renewed", message, "INFO")
        if failure and failure != self._failures.get(node.uid):
            message = f"The certificate of the agent of node {node.uid} was not renewed: {failure}. The console retries every hour."
            await self._record(node, "node_certificate_failed", message, "ERROR")
        self._failures[node.uid] = failure

    async def _renewed(self, node: NodeRef, now: datetime) -> datetime | None:
        """Return the expiry of the new certificate; None if no renewal was due or the agent does not support it."""
        served = await self._agents.read_certificate(node)
        await self._save_certificate(node, served.serial, served.valid_until, now)
        if not await self._is_due(node, served, now):
            return None
        try:
            request = await self._agents.request_certificate(node)
        except AgentOutdated:
            return None
        certificate = self._ca.sign_agent(request, node.addr)
        if not await self._save_certificate(node, serial_of(certificate), now + timedelta(days=PEER_DAYS), now):
            return None
        await self._agents.install_certificate(node, certificate)
        served = await self._agents.read_certificate(node)
        if await self._is_due(node, served, now):
            raise AgentError("it accepted a new certificate but still serves another one")
        return served.valid_until

    async def _is_due(self, node: NodeRef, served: ServedCertificate, now: datetime) -> bool:
        if self._ca.state.is_issued_by_current(served.signing_key):
            await self._save_state(node, presented_ca=self._ca.ca_fingerprint())
        return self._ca.state.is_due(served.valid_until, served.signing_key, PEER_DAYS, now)

    async def _save_state(self, node: NodeRef, **columns: str) -> None:
        """Store the progress of the agent, if it has changed and the node has not been removed."""
        async with self._store.read() as session:
            row = await nodes.by_uid(session, node.uid)
        if row is None or all(getattr(row, name) == value for name, value in columns.items()):
            return
        async with self._store.begin() as session:
            if (row := await nodes.by_uid(session, node.uid)) is not None:
                for name, value in columns.items():
                    setattr(row, name, value)

    async def _save_certificate(self, node: NodeRef, serial: str, valid_until: datetime, now: datetime) -> bool:
        """Store that the node has this certificate. Return False if the node has been removed."""
        async with self._store.read() as session:
            if await agent_certificates.is_known(session, serial):
                return True
        async with self._store.begin() as session:
            await clusters.load_for_update(session)  # prevents a concurrent removal of the node
            row = await nodes.by_uid(session, node.uid)
            if row is None or node_ref(row) != node:
                return False
            await agent_certificates.delete_expired(session, now)
            await agent_certificates.record(session, node.uid, serial, valid_until)
        return True

    async def _record(self, node: NodeRef, event: str, message: str, severity: str) -> None:
        async with self._store.begin() as session:
            record(session, event, message, source="node", severity=severity, node_uid=node.uid)


def _failure(error: Exception, node: NodeRef) -> str:
    match error:
        case AgentError():
            return error.reason
        case ApiError():  # its certificate request was rejected
            return error.description
        case TimeoutError():
            return f"it takes longer than {RENEWAL_TIMEOUT_SECONDS:.0f} s"
    log.error("agent certificates: renewal on node %s failed", node.uid, exc_info=error)
    return "see the console's log"
