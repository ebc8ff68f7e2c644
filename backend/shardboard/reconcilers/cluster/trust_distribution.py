"""Distribution of the console's trusted CAs to agents, with a record of the agents that have them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError, AgentOutdated, AgentUnreachable
from shardboard.kit.tasks import NODES_AT_ONCE, run_concurrently
from shardboard.pki.console_ca import AGENT_OUTDATED, ConsoleCa
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting.events import record
from shardboard.state.cluster import console_certificates, nodes
from shardboard.store.db import Store

log = logging.getLogger(__name__)

LOCK = 0x7472757374
"""Key of the lock that only one console at a time holds while it sends CAs."""


class TrustDistribution:
    """Sends the trusted CAs to agents. Results are stored in the rows of the nodes."""

    def __init__(self, store: Store, agents: Agents, ca: ConsoleCa) -> None:
        self._store = store
        self._agents = agents
        self._ca = ca
        self._one_at_a_time = asyncio.Lock()
        self._confirmed: dict[int, str] = {}
        """By connected node: the digest of the CAs that its agent has confirmed to this process."""
        self._reported: dict[int, str] = {}
        """By node: the last failure that an event reports."""

    async def update(self, *, force: bool = False) -> None:
        """Update connected agents that have not confirmed the current CAs. With `force`, update all connected agents."""
        if force:
            self._confirmed.clear()
        async with self._one_at_a_time:
            if await self._missing():
                # Otherwise an agent could receive the CAs of two consoles in the wrong order, and would reject both after a switch.
                async with self._store.lock(LOCK):
                    missing, desired = await self._missing(), TrustBundle.of(self._ca)
                    await run_concurrently((self._update(node, desired) for node in missing), NODES_AT_ONCE)

    async def _missing(self) -> Sequence[NodeRef]:
        """Follow the CAs in the store. Return the nodes that must be updated."""
        async with self._store.read() as session:
            await console_certificates.follow(session, self._ca)
            all_nodes = await nodes.list_stored(session)
        connected = {node.uid for node in all_nodes if node.agent_status == AgentStatus.CONNECTED}
        self._confirmed = {uid: digest for uid, digest in self._confirmed.items() if uid in connected}
        outdated = [node.uid for node in all_nodes if node.uid not in connected and node.has_ca_state]
        if outdated:
            await self._clear(outdated)
        digest = self._ca.trusted_digest
        return [
            node_ref(node)
            for node in all_nodes
            if node.uid in connected and not self._confirmed.get(node.uid) == node.trusted_cas == digest
        ]

    async def _clear(self, uids: Sequence[int]) -> None:
        """Remove the state of disconnected agents, which may return with another state directory."""
        async with self._store.begin() as session:
            for uid in uids:
                if (node := await nodes.by_uid(session, uid)) and node.agent_status != AgentStatus.CONNECTED:
                    node.clear_ca_state()

    async def _update(self, node: NodeRef, desired: "TrustBundle") -> None:
        try:
            await self._agents.set_trusted_cas(node, desired.cas, desired.bundle)
        except AgentUnreachable as error:
            await self._save(node, "", error.reason)
        except AgentOutdated:
            await self._save(node, "", AGENT_OUTDATED)
        except AgentError as error:
            await self._save(node, "", error.reason, is_refusal=True)
        except Exception:  # a failing agent must not prevent updates of others
            log.exception("agent trust: updating the agent of node %s failed", node.uid)
            await self._save(node, "", "see the console's log", is_refusal=True)
        else:
            await self._save(node, desired.digest, "")

    async def _save(self, node: NodeRef, digest: str, failure: str, *, is_refusal: bool = False) -> None:
        is_reported = is_refusal and self._reported.get(node.uid) != failure
        async with self._store.begin() as session:
            row = await nodes.by_uid(session, node.uid)
            if row is None or node_ref(row) != node:
                return
            row.trusted_cas, row.ca_failure = digest, failure
            if is_reported:
                message = (
                    f"The trusted CAs could not be sent to the agent of node {node.uid}: {failure}. "
                    "The console retries every minute."
                )
                record(session, "node_authorities_failed", message, source="node", severity="ERROR", node_uid=node.uid)
        self._confirmed[node.uid] = digest
        if is_refusal:
            self._reported[node.uid] = failure
        elif not failure:
            self._reported.pop(node.uid, None)


@dataclass(frozen=True)
class TrustBundle:
    """Trusted CAs (PEM) and their digest."""

    cas: str
    bundle: str
    digest: str

    @classmethod
    def of(cls, ca: ConsoleCa) -> "TrustBundle":
        return cls(ca.trusted, ca.bundle, ca.trusted_digest)
