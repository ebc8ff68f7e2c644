"""Asks proxies what they counted of single commands, when somebody wants to know: nobody sends the histograms of hundreds of
databases every second for what few look at.

However many readers there are, there is one look at a time, and at most one a second. Proxies remember the last minute, so that
also the first look has it.
"""

import asyncio
from collections.abc import Mapping, Sequence

from shardboard.collectors.fresh import Fresh
from shardboard.db import Store
from shardboard.domain.commands import Count, Told
from shardboard.driver.ports import Agents, CommandCounts, NodeRef, ReadCommands
from shardboard.errors import AgentError
from shardboard.state import bdbs, nodes
from shardboard.state.bdbs import Bdb

LEAST_SECONDS = 1.0
"""What is younger than this is not asked for again."""
PATIENCE_SECONDS = 2.0
"""Who does not tell by then is left out: the others' figures are not kept waiting."""
EVERY = 0
"""In place of a database's uid."""


Look = Mapping[int, Sequence[Told]]
"""What the proxies said, by database; one without an endpoint has nobody who could."""


class CommandLooks:
    """Looks at one database, or at all of them."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self.looks = Fresh(self._take, LEAST_SECONDS)

    async def look(self, bdb_uid: int) -> Sequence[Told] | None:
        """The newest look at one database, taken now unless there is a fresh one; None when there is no such database."""
        return (await self.looks.get(bdb_uid)).get(bdb_uid)

    async def look_at_all(self) -> Look:
        """The same of all databases."""
        return await self.looks.get(EVERY)

    async def _take(self, key: int) -> Look:
        async with self._store.read() as session:
            one = None if key == EVERY else await bdbs.by_uid(session, key)
            rows = await bdbs.every(session) if key == EVERY else [one] if one is not None else []
            places = {node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.every(session)}
        return await self._ask(rows, places)

    async def _ask(self, rows: Sequence[Bdb], places: Mapping[int, NodeRef]) -> dict[int, list[Told]]:
        wanted: dict[int, list[int]] = {}
        for row in rows:
            for node_uid in row.endpoint_nodes:
                if node_uid in places:
                    wanted.setdefault(node_uid, []).append(row.uid)
        replies = await asyncio.gather(*(self._of_node(places[node], uids) for node, uids in sorted(wanted.items())))
        told: dict[int, list[Told]] = {row.uid: [] for row in rows}
        for node_uid, reply in zip(sorted(wanted), replies, strict=True):
            for uid in wanted[node_uid]:
                told[uid].append(_told(node_uid, uid, reply))
        return told

    async def _of_node(self, node: NodeRef, uids: list[int]) -> CommandCounts:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._agents.read_commands(node, ReadCommands(uids=uids))
        except TimeoutError:
            return CommandCounts(reason=f"node {node.uid} did not tell within {PATIENCE_SECONDS:g} s")
        except AgentError as error:
            return CommandCounts(reason=error.reason)


def _told(node_uid: int, bdb_uid: int, reply: CommandCounts) -> Told:
    if reply.reason or (counts := reply.databases.get(bdb_uid)) is None:
        return Told(node_uid, reply.reason or f"the proxy of node {node_uid} did not tell of it")
    found = [Count(each.name, each.calls, each.errors, each.micros, each.latency) for each in counts]
    return Told(node_uid, seconds=reply.seconds, counts=found)
