"""Tells agents which authorities of the console they are to trust, and remembers whom it told."""

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
    """What it hears goes to `authority.heard`."""

    def __init__(self, store: Store, agents: Agents, authority: Authority) -> None:
        self._store = store
        self._agents = agents
        self._authority = authority
        self._one_at_a_time = asyncio.Lock()
        self._told: dict[int, str] = {}
        """By node: the last failure that there is an event of."""

    async def tell(self, *, anew: bool = False) -> None:
        """Those that are connected and have not said that they trust what counts now; `anew`: whatever they said."""
        if anew:
            self._authority.heard.trusting.clear()
        async with self._one_at_a_time:  # else an agent could hear what counts before what counted
            await self._tell()

    async def _tell(self) -> None:
        async with self._store.read() as session:
            every = await nodes.every(session)
        connected = [node for node in every if node.agent_status == "connected"]
        self._forget_others({node.uid for node in every}, {node.uid for node in connected})
        wanted = Trust(self._authority.trusted, self._authority.bundle, self._authority.trusted_digest)
        heard = self._authority.heard.trusting
        missing = [node for node in connected if heard.get(node.uid) != wanted.digest]
        await together(self._tell_one(NodeRef(node.uid, node.addr, node.agent_port), wanted) for node in missing)

    def _forget_others(self, known: set[int], connected: set[int]) -> None:
        """Who was away may have another state directory."""
        heard = self._authority.heard
        for uid in {*heard.trusting, *heard.failures, *heard.unrenewed} - connected:
            for said in (heard.trusting, heard.failures, heard.unrenewed):
                said.pop(uid, None)
        for uid in heard.showing.keys() - known:
            del heard.showing[uid]

    async def _tell_one(self, node: NodeRef, wanted: "Trust") -> None:
        heard = self._authority.heard
        try:
            await self._agents.tell_authorities(node, wanted.authorities, wanted.bundle)
        except AgentUnreachable as error:
            heard.failures[node.uid] = error.reason
        except AgentBehind:
            heard.failures[node.uid] = BEHIND
        except AgentError as error:
            await self._refused(node, error.reason)
        except Exception:  # whatever one agent does, the others are told
            log.exception("the agent of node %s was not told whom to trust", node.uid)
            await self._refused(node, "the log of the console says why")
        else:
            heard.trusting[node.uid] = wanted.digest
            heard.failures.pop(node.uid, None)
            self._told.pop(node.uid, None)

    async def _refused(self, node: NodeRef, failure: str) -> None:
        self._authority.heard.failures[node.uid] = failure
        if self._told.get(node.uid) == failure:
            return
        told = f"The agent of node {node.uid} was not told which authorities to trust: {failure}. It is tried again every minute."
        async with self._store.begin() as session:
            record(session, "node_authorities_failed", told, source="node", severity="ERROR", node_uid=node.uid)
        self._told[node.uid] = failure


@dataclass(frozen=True)
class Trust:
    """What all are to be told; PEM."""

    authorities: str
    bundle: str
    digest: str
