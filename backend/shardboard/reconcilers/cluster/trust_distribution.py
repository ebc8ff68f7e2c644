"""Distribution of the console's trusted CAs to agents, with a record of the agents that have them."""

import asyncio
import logging
from dataclasses import dataclass

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError, AgentOutdated, AgentUnreachable
from shardboard.kit.tasks import run_concurrently
from shardboard.pki.console_ca import AGENT_OUTDATED, ConsoleCa
from shardboard.state.alerting.events import record
from shardboard.state.cluster import nodes
from shardboard.store.db import Store

log = logging.getLogger(__name__)


class TrustDistribution:
    """Sends the trusted CAs to agents. Results are stored in `authority.heard`."""

    def __init__(self, store: Store, agents: Agents, ca: ConsoleCa) -> None:
        self._store = store
        self._agents = agents
        self._ca = ca
        self._one_at_a_time = asyncio.Lock()
        self._reported: dict[int, str] = {}
        """By node: the last failure that an event reports."""

    async def update(self, *, force: bool = False) -> None:
        """Update connected agents that have not confirmed the current CAs. With `force`, update all connected agents."""
        if force:
            self._ca.agent_progress.trusted_digests.clear()
        async with self._one_at_a_time:  # otherwise an agent could receive the CAs in the wrong order
            await self._update_all()

    async def _update_all(self) -> None:
        async with self._store.read() as session:
            all_nodes = await nodes.list_all(session)
        connected = [node for node in all_nodes if node.agent_status == AgentStatus.CONNECTED]
        self._remove_stale({node.uid for node in all_nodes}, {node.uid for node in connected})
        desired = TrustBundle(self._ca.trusted, self._ca.bundle, self._ca.trusted_digest)
        trusted_digests = self._ca.agent_progress.trusted_digests
        missing = [node for node in connected if trusted_digests.get(node.uid) != desired.digest]
        await run_concurrently(self._update(NodeRef(node.uid, node.addr, node.agent_port), desired) for node in missing)

    def _remove_stale(self, known: set[int], connected: set[int]) -> None:
        """Remove the state of other agents. A disconnected agent may return with another state directory."""
        progress = self._ca.agent_progress
        for uid in {*progress.trusted_digests, *progress.failures, *progress.unrenewed} - connected:
            for state in (progress.trusted_digests, progress.failures, progress.unrenewed):
                state.pop(uid, None)
        for uid in progress.presented_cas.keys() - known:
            del progress.presented_cas[uid]

    async def _update(self, node: NodeRef, desired: "TrustBundle") -> None:
        progress = self._ca.agent_progress
        try:
            await self._agents.set_trusted_cas(node, desired.cas, desired.bundle)
        except AgentUnreachable as error:
            progress.failures[node.uid] = error.reason
        except AgentOutdated:
            progress.failures[node.uid] = AGENT_OUTDATED
        except AgentError as error:
            await self._refused(node, error.reason)
        except Exception:  # a failing agent must not prevent updates of others
            log.exception("agent trust: updating the agent of node %s failed", node.uid)
            await self._refused(node, "see the console's log")
        else:
            progress.trusted_digests[node.uid] = desired.digest
            progress.failures.pop(node.uid, None)
            self._reported.pop(node.uid, None)

    async def _refused(self, node: NodeRef, failure: str) -> None:
        self._ca.agent_progress.failures[node.uid] = failure
        if self._reported.get(node.uid) == failure:
            return
        message = f"The trusted CAs could not be sent to the agent of node {node.uid}: {failure}. The console retries every minute."
        async with self._store.begin() as session:
            record(session, "node_authorities_failed", message, source="node", severity="ERROR", node_uid=node.uid)
        self._reported[node.uid] = failure


@dataclass(frozen=True)
class TrustBundle:
    """Trusted CAs (PEM) and their digest."""

    cas: str
    bundle: str
    digest: str
