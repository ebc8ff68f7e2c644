"""Renews what agents prove themselves by to the console, and endpoints to their clients, long before it ends.

The certificate is looked at as a client would, by a connection of its own. The agent makes a new key, which stays there; what it
took is looked at again. Agents of earlier releases, which cannot do that, keep what they got when they joined. When the console's
authority was replaced, all are renewed at once.

What each had is noted, so that the certificates of a node that is removed are refused from then on.
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.driver.ports import Agents, NodeRef, ShownCertificate
from shardboard.errors import AgentBehind, AgentError, AgentUnreachable, ApiError
from shardboard.reconcilers.load import reference
from shardboard.state import cluster as clusters
from shardboard.state import issued_certificates, nodes
from shardboard.state.events import record
from shardboard.tasks import together
from shardboard.tls import PEER_DAYS, serial_of

log = logging.getLogger(__name__)

TRY_AGAIN = 60.0
"""Seconds until refusals are looked at again."""
LOOK_AGAIN = 3600.0
"""Seconds until the certificate of a connected agent is looked at again; that of one that connects is looked at then."""

MOST_SECONDS = 240.0
"""That the renewal of one may take."""


class AgentCertificatesLoop:
    """Two loops, so that a slow agent holds up no refusal; `look` and `refuse` are one turn of each."""

    def __init__(self, store: Store, bus: Bus, agents: Agents, authority: Authority) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._authority = authority
        self._looked: dict[int, float] = {}
        """When by the loop's clock, by node."""
        self._since = authority.ca_fingerprint()
        """The authority that was the present one then."""
        self._failures: dict[int, str] = {}
        """By node: what the last event said of it."""

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change", "authority") as changes:
            while True:
                await self.look(datetime.now(UTC))
                self._bus.publish("authority", ("looked", None))
                await changes.until(lambda change: change[0] in ("node", "switch"), self._authority.patience)

    async def run_refusals(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.refuse()
                await changes.until(lambda change: change[0] == "node", TRY_AGAIN)

    async def refuse(self) -> None:
        """The certificates of nodes that were removed."""
        async with self._store.read() as session:
            serials = await issued_certificates.refused(session)
        if self._authority.refuse(serials):
            log.info("certificates of removed nodes that are refused: %s", len(serials))

    async def look(self, now: datetime) -> None:
        """At the certificates of all connected agents that were not looked at lately, and renew those that are due."""
        async with self._store.read() as session:
            connected = {
                node.uid: reference(node) for node in await nodes.every(session) if node.agent_status == "connected"
            }
        if self._since != self._authority.ca_fingerprint():
            self._since = self._authority.ca_fingerprint()
            self._looked.clear()
        since = asyncio.get_running_loop().time() - LOOK_AGAIN
        self._looked = {uid: at for uid, at in self._looked.items() if uid in connected and at > since}
        await together(self._look(node, now) for uid, node in connected.items() if uid not in self._looked)

    async def _look(self, node: NodeRef, now: datetime) -> None:
        failure, authority = "", self._authority.ca_fingerprint()
        try:
            async with asyncio.timeout(MOST_SECONDS):
                ends = await self._renewed(node, now)
        except AgentUnreachable as error:
            log.info("the certificate of node %s is looked at later: %s", node.uid, error.reason)
            return
        except Exception as error:  # whatever one agent does, the others' are renewed
            ends, failure = None, _failure(error, node)
        if authority != self._authority.ca_fingerprint():
            return  # it was replaced meanwhile, and all are looked at once more
        if failure and self._authority.former is not None:
            self._authority.heard.unrenewed[node.uid] = failure  # others wait for this one, which is tried again soon
        else:
            self._authority.heard.unrenewed.pop(node.uid, None)
            self._looked[node.uid] = asyncio.get_running_loop().time()
        if ends is not None:
            told = f"The certificate of the agent of node {node.uid} was renewed; it is good until {ends:%Y-%m-%d}."
            await self._record(node, "node_certificate_renewed", told, "INFO")
        if failure and failure != self._failures.get(node.uid):
            told = f"The certificate of the agent of node {node.uid} was not renewed: {failure}. It is tried again every hour."
            await self._record(node, "node_certificate_failed", told, "ERROR")
        self._failures[node.uid] = failure

    async def _renewed(self, node: NodeRef, now: datetime) -> datetime | None:
        """Until when the new certificate holds; None where none was due, or where the agent cannot renew it."""
        shown = await self._agents.look_at_certificate(node)
        await self._note(node, shown.serial, shown.ends, now)
        if not self._is_due(node, shown, now):
            return None
        try:
            request = await self._agents.request_certificate(node)
        except AgentBehind:
            return None
        certificate = self._authority.sign_agent(request, node.addr)
        if not await self._note(node, serial_of(certificate), now + timedelta(days=PEER_DAYS), now):
            return None
        await self._agents.give_certificate(node, certificate)
        shown = await self._agents.look_at_certificate(node)
        if self._is_due(node, shown, now):
            raise AgentError("it took a new one and still shows another")
        return shown.ends

    def _is_due(self, node: NodeRef, shown: ShownCertificate, now: datetime) -> bool:
        if self._authority.is_presents(shown.signing_key):
            self._authority.heard.showing[node.uid] = self._authority.ca_fingerprint()
        return self._authority.is_due(shown.ends, shown.signing_key, PEER_DAYS, now)

    async def _note(self, node: NodeRef, serial: str, ends: datetime, now: datetime) -> bool:
        """That the node has it; False when it has been removed meanwhile."""
        async with self._store.read() as session:
            if await issued_certificates.is_known(session, serial):
                return True
        async with self._store.begin() as session:
            await clusters.load_for_update(session)  # else the node could be removed in between
            known = await nodes.by_uid(session, node.uid)
            if known is None or reference(known) != node:
                return False
            await issued_certificates.forget_ended(session, now)
            await issued_certificates.note(session, node.uid, serial, ends)
        return True

    async def _record(self, node: NodeRef, event: str, told: str, severity: str) -> None:
        async with self._store.begin() as session:
            record(session, event, told, source="node", severity=severity, node_uid=node.uid)


def _failure(error: Exception, node: NodeRef) -> str:
    match error:
        case AgentError():
            return error.reason
        case ApiError():  # what it asks with is not signed
            return error.description
        case TimeoutError():
            return f"it takes longer than {MOST_SECONDS:.0f} s"
    log.error("the certificate of node %s was not renewed", node.uid, exc_info=error)
    return "the log of the console says why"
