"""Certificates of the running console: it follows those in the store, which another console may change, and renews them in time."""

import logging

from shardboard.kit.bus import Bus
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.server_certificate import ServerCertificate
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_certificates as certificates
from shardboard.store.db import Store

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0
"""Seconds between two polls of the store. A change is usually announced earlier, on the bus."""


class ConsoleCertificatesLoop:
    """`advance` runs one iteration. Each console runs this loop."""

    def __init__(self, store: Store, bus: Bus, ca: ConsoleCa, certificate: ServerCertificate) -> None:
        self._store = store
        self._bus = bus
        self._ca = ca
        self._certificate = certificate
        ca.listeners.append(lambda: bus.publish("authority", ("changed", None)))

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.advance()
                await changes.wait_until(lambda change: change[0] == certificates.KIND, POLL_SECONDS)

    async def advance(self) -> None:
        async with self._store.read() as session:
            await certificates.follow(session, self._ca)
        if self._ca.state.renewed() is not self._ca.state:
            await self._renew()
        self._certificate.refresh()

    async def _renew(self) -> None:
        """Renew the certificate for agents, unless another console has just done it."""
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            state = await certificates.refresh(session, self._ca)
            await certificates.replace(session, self._ca, state.renewed())
        log.info("certificate: renewed the certificate for agents")
