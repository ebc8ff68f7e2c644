"""Distribution of the console CAs to agents, and the end of a CA replacement when the old CA is no longer used.

Agents are updated when they connect and after each change. The old CA is removed when every node of the cluster has presented a
certificate of the current one: unavailable nodes are awaited, or must be removed.
"""

import logging

from shardboard.kit.bus import Bus
from shardboard.pki.console_ca import ConsoleCa
from shardboard.reconcilers.cluster.trust_distribution import TrustDistribution
from shardboard.state.alerting.events import record
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_certificates, nodes
from shardboard.store.db import Store

log = logging.getLogger(__name__)


class ConsoleCaLoop:
    """`advance` runs one iteration."""

    def __init__(self, store: Store, bus: Bus, ca: ConsoleCa, trust: TrustDistribution) -> None:
        self._store = store
        self._bus = bus
        self._ca = ca
        self._trust = trust

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change", "authority") as changes:
            while True:
                await self.advance()
                await changes.wait_until(
                    lambda change: change[0] in ("node", "looked", "changed"), self._ca.retry_seconds, pause=4
                )

    async def advance(self) -> None:
        """Update all connected agents that need it, and remove the old CA when possible."""
        await self._trust.update()
        if self._ca.former is not None and await self._is_over():
            await self._remove_old()
            await self._trust.update()

    async def _is_over(self) -> bool:
        async with self._store.read() as session:
            all_nodes = await nodes.list_stored(session)
        return self._ca.is_switch_complete and all(node.presented_ca == self._ca.ca_fingerprint() for node in all_nodes)

    async def _remove_old(self) -> None:
        checked = self._ca.state
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            state = await console_certificates.refresh(session, self._ca)
            if state.stored != checked.stored:  # changed by another console since the check
                return
            message = "The console's old CA was removed: no node uses it, and the console rejects its certificates."
            record(session, "authority_forgotten", message, source="cluster")
            await console_certificates.replace(session, self._ca, state.without_former())
        log.info("console CA: old CA removed")
