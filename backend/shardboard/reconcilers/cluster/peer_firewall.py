"""Sends the addresses of all nodes to agents, which admit only these to the ports of shards (policy `shard_firewall`)."""

import asyncio
import logging
from collections.abc import Collection
from ipaddress import ip_address
from typing import Any

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, FirewallReport, NodeRef, PeerAccess
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import NODES_AT_ONCE, PAUSE_PER_REQUEST, run_concurrently
from shardboard.reconcilers.cluster.sent_settings import SentSettings
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Store

log = logging.getLogger(__name__)

REPEAT_SECONDS = 30.0
"""Seconds after which the addresses are sent again, because an agent that was restarted does not have them."""


class PeerFirewallLoop:
    """`update` runs one iteration."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._sent: SentSettings[PeerAccess] = SentSettings()

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                # While nodes join, each new address must be sent to all other nodes.
                await asyncio.sleep(PAUSE_PER_REQUEST * await self.update())
                await changes.wait_until(lambda change: change[0] in ("node", "cluster"), REPEAT_SECONDS)

    async def update(self) -> int:
        """Send the addresses to the connected agents that do not have them. Return the number of requests."""
        async with self._store.read() as session:
            enabled = (await cluster.load(session)).rules.shard_firewall
            every = await nodes.list_all(session)
        access = peer_access(every, enabled=enabled)
        connected = {node_ref(node): access for node in every if node.agent_status == AgentStatus.CONNECTED}
        recorded = {node_ref(node): node.facts.get("firewall") for node in every}
        due = self._sent.due(connected, REPEAT_SECONDS)
        await run_concurrently((self._send(node, access, recorded[node]) for node in due), NODES_AT_ONCE)
        return len(due)

    async def _send(self, node: NodeRef, access: PeerAccess, recorded: dict[str, Any] | None) -> None:
        try:
            report = await self._agents.set_peers(node, access)
        except AgentError as error:  # unreachable, or of the previous release
            log.debug("firewall: the addresses were not sent to node %s: %s", node.uid, error.reason)
            return
        self._sent.mark_sent(node, access)
        if report.model_dump() != recorded:
            await self._record(node.uid, report)

    async def _record(self, uid: int, report: FirewallReport) -> None:
        async with self._store.begin() as session:
            node = await nodes.by_uid(session, uid)
            if node is not None and node.facts.get("firewall") != report.model_dump():
                node.facts = {**node.facts, "firewall": report.model_dump()}


def peer_access(every: Collection[Node], *, enabled: bool) -> PeerAccess:
    """Return the addresses of all nodes. An agent of the previous release does not report from which addresses its node connects:
    then all addresses are admitted.
    """
    if not enabled or not all(node.facts.get("addresses") for node in every if not _is_loopback(node.addr)):
        return PeerAccess(enabled=False)
    found = {address for node in every for address in (node.addr, *node.facts.get("addresses", ())) if _is_ip(address)}
    return PeerAccess(enabled=True, addresses=sorted(found))


def _is_ip(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    return _is_ip(address) and ip_address(address).is_loopback
