"""Distribution of the console's trusted CAs to agents, with a record of the agents that have them."""

import asyncio
import logging
from dataclasses import dataclass

from shardboard.authority import BEHIND, Authority
from shardboard.db import Store
from shardboard.driver.ports import Agents, NodeRef
from shardboard.errors import AgentBehind, AgentError, AgentUnreachable
from shardboard.state import nodes
from shardboard.state.events import record
from shardboard.tasks import together

log = logging.getLogger(__name__)


class AgentsTrust:
    """Sends the trusted CAs to agents. Results are stored in `authority.heard`."""

    def __init__(self, store: Store, agents: Agents, authority: Authority) -> None:
        self._store = store
        self._agents = agents
        self._authority = authority
        self._one_at_a_time = asyncio.Lock()
        self._reported: dict[int, str] = {}
        """By node: the last failure that an event reports."""

    async def tell(self, *, anew: bool = False) -> None:
        """Update connected agents that have not confirmed the current CAs. With `anew`, update all connected agents."""
        if anew:
            self._authority.heard.trusting.clear()
        async with self._one_at_a_time:  # otherwise an agent could receive the CAs in the wrong order
            await self._update_all()

    async def _update_all(self) -> None:
        async with self._store.read() as session:
            every = await nodes.every(session)
        connected = [node for node in every if node.agent_status == "connected"]
        self._remove_stale({node.uid for node in every}, {node.uid for node in connected})
        desired = Trust(self._authority.trusted, self._authority.bundle, self._authority.trusted_digest)
        heard = self._authority.heard.trusting
        missing = [node for node in connected if heard.get(node.uid) != desired.digest]
        await together(self._update(NodeRef(node.uid, node.addr, node.agent_port), desired) for node in missing)

    def _remove_stale(self, known: set[int], connected: set[int]) -> None:
        """Remove the state of other agents. A disconnected agent may return with another state directory."""
        heard = self._authority.heard
        for uid in {*heard.trusting, *heard.failures, *heard.unrenewed} - connected:
            for state in (heard.trusting, heard.failures, heard.unrenewed):
                state.pop(uid, None)
        for uid in heard.showing.keys() - known:
            del heard.showing[uid]

    async def _update(self, node: NodeRef, desired: "Trust") -> None:
        heard = self._authority.heard
        try:
            await self._agents.tell_authorities(node, desired.authorities, desired.bundle)
        except AgentUnreachable as error:
            heard.failures[node.uid] = error.reason
        except AgentBehind:
            heard.failures[node.uid] = BEHIND
        except AgentError as error:
            await self._refused(node, error.reason)
        except Exception:  # a failing agent must not prevent updates of others
            log.exception("agent trust: updating the agent of node %s failed", node.uid)
            await self._refused(node, "see the console's log")
        else:
            heard.trusting[node.uid] = desired.digest
            heard.failures.pop(node.uid, None)
            self._reported.pop(node.uid, None)

    async def _refused(self, node: NodeRef, failure: str) -> None:
        self._authority.heard.failures[node.uid] = failure
        if self._reported.get(node.uid) == failure:
            return
        message = f"The trusted CAs could not be sent to the agent of node {node.uid}: {failure}. The console retries every minute."
        async with self._store.begin() as session:
            record(session, "node_authorities_failed", message, source="node", severity="ERROR", node_uid=node.uid)
        self._reported[node.uid] = failure


@dataclass(frozen=True)
class Trust:
    """Trusted CAs (PEM) and their digest."""

    authorities: str
    bundle: str
    digest: str
