"""Sends the pinning of processes to agents, and stores what they report about it."""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from shardboard.domain.cluster.node_status import AgentStatus
from shardboard.driver.interfaces import Agents, CpuPinning, NodeRef, PinningReport
from shardboard.errors import AgentError, AgentOutdated
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import NODES_AT_ONCE, run_concurrently
from shardboard.reconcilers.cluster.sent_settings import SentSettings
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.alerting import events
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import shards
from shardboard.store.db import Store

log = logging.getLogger(__name__)

REPEAT_SECONDS = 30.0
"""Seconds after which the setting of a node with pinning is sent again, to get a new report."""
OUTDATED = PinningReport(
    state="failed", detail="The release of the agent does not support CPU pinning. Upgrade the agent."
)


class DesiredPinning(NamedTuple):
    """A setting, and the processes of shards for which the report is valid."""

    pinning: CpuPinning
    pids: frozenset[int]


class CpuPinningLoop:
    """`update` runs one iteration."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._off: SentSettings[DesiredPinning] = SentSettings()
        self._on: SentSettings[DesiredPinning] = SentSettings()
        self._watched: Collection[str] = ("node",)
        """Kinds of changes after which a setting or a report can be outdated."""

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.update()
                await changes.wait_until(lambda change: change[0] in self._watched, REPEAT_SECONDS, pause=4)

    async def update(self) -> None:
        """Send the settings to the connected agents that do not have them."""
        desired = await self._desired()
        on = {node: each for node, each in desired.items() if each.pinning.mode != "off"}
        self._watched = ("node", "shard") if on else ("node",)
        off = {node: each for node, each in desired.items() if node not in on}
        # Agents store the setting, so only reports need repetition, and without pinning there is nothing to report.
        due = [*self._on.due(on, REPEAT_SECONDS), *self._off.due(off, float("inf"))]
        await run_concurrently((self._send(node, desired[node]) for node in due), NODES_AT_ONCE)

    async def _desired(self) -> dict[NodeRef, DesiredPinning]:
        async with self._store.read() as session:
            machines = [each for each in await nodes.list_all(session) if each.agent_status == AgentStatus.CONNECTED]
            pinned = {node.uid for node in machines if node.cpu_pinning.mode != "off"}
            rows = await shards.list_conditions(session) if pinned else ()
        pids: dict[int, set[int]] = defaultdict(set)
        for row in rows:
            if row.node_uid in pinned and row.observed_pid is not None:
                pids[row.node_uid].add(row.observed_pid)
        return {node_ref(node): DesiredPinning(node.cpu_pinning, frozenset(pids[node.uid])) for node in machines}

    async def _send(self, node: NodeRef, desired: DesiredPinning) -> None:
        try:
            report = await self._agents.pin_processes(node, desired.pinning)
        except AgentOutdated:
            report = PinningReport() if desired.pinning.mode == "off" else OUTDATED
        except AgentError as error:
            log.debug("CPU pinning: the setting was not sent to node %s: %s", node.uid, error.reason)
            return
        if desired.pinning.mode != "off":
            self._on.mark_sent(node, desired)
        elif report.state == "off":
            self._off.mark_sent(node, desired)
        await self._record(node.uid, report)

    async def _record(self, uid: int, report: PinningReport) -> None:
        stored = report.model_dump(mode="json")
        async with self._store.read() as session:
            node = await nodes.by_uid(session, uid)
            if node is None or _is_stored(node, stored):
                return
        async with self._store.begin() as session:
            node = await nodes.by_uid(session, uid)
            if node is None or _is_stored(node, stored):
                return
            if report.state == "failed" and node.pinning.get("detail") != report.detail:
                events.record(
                    session,
                    "cpu_pinning_failed",
                    f"The CPU pinning of node {uid} was not applied completely: {report.detail}",
                    source="node",
                    severity="WARNING",
                    node_uid=uid,
                )
            node.pinning = stored


def _is_stored(node: Node, report: Mapping[str, Any]) -> bool:
    return (node.pinning or PinningReport().model_dump(mode="json")) == report
