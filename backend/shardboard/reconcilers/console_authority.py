"""Tells agents which authorities of the console they are to trust, and ends the replacing of one when nobody needs it any more.

An agent is told when it connects, and whenever that changes. The former authority is forgotten when every node of the cluster has
shown a certificate of the present one: who is away is waited for, or is removed.
"""

import logging

from shardboard.agents_trust import AgentsTrust
from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.state import nodes
from shardboard.state.events import record

log = logging.getLogger(__name__)


class ConsoleAuthorityLoop:
    """`advance` is one turn."""

    def __init__(self, store: Store, bus: Bus, authority: Authority, trust: AgentsTrust) -> None:
        self._store = store
        self._bus = bus
        self._authority = authority
        self._trust = trust

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change", "authority") as changes:
            while True:
                await self.advance()
                await changes.until(
                    lambda change: change[0] in ("node", "looked", "ordered", "switch"), self._authority.patience
                )

    async def advance(self) -> None:
        """Tell all that are connected and were not told, and forget the former authority if it is time."""
        await self._trust.tell()
        if self._authority.former is not None and await self._is_over():
            await self._forget()
            await self._trust.tell()

    async def _is_over(self) -> bool:
        present, showing = self._authority.ca_fingerprint(), self._authority.heard.showing
        async with self._store.read() as session:
            every = await nodes.every(session)
        return self._authority.is_shown and all(showing.get(node.uid) == present for node in every)

    async def _forget(self) -> None:
        async with self._store.begin() as session:
            told = "The former authority of the console is forgotten: nobody shows a certificate of it, and the console takes none."
            record(session, "authority_forgotten", told, source="cluster")
            await session.flush()
            self._authority.forget()
        log.info("the former authority was forgotten")
