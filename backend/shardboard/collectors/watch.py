"""Watches over nodes: who falls silent is suspect, and down when the other agents agree that none of its shards answers."""

import asyncio
import logging
import math
import time
from collections.abc import Mapping, Sequence

from shardboard.collectors import observations
from shardboard.collectors.pulse import Pulses
from shardboard.db import Store
from shardboard.domain import health
from shardboard.driver.ports import Agents, NodeRef, ProbeTarget
from shardboard.errors import AgentError
from shardboard.state import bdbs, cluster, nodes, shards
from shardboard.state.shards import Shard
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

TICK = 0.1
MAX_WITNESSES = 5
"""Asked of one suspect, the next ones by uid: on a starved machine many nodes look silent, and asking costs, too."""
ROUND_SECONDS = 0.1
"""From the beginning of one round of witnesses to that of the next."""
CROWD = 3
"""More silent nodes than that at once are more likely to be alive on a machine that is starved, and all that asking makes it
worse: one witness first asks FEW shards of each, and only those that say nothing are asked about in earnest."""
FEW = 2
CROWD_PAUSE = 0.5
"""Seconds for which an inquiry waits in such a crowd before it reads the store: most nodes are heard again by then."""


class NodeWatch:
    """One inquiry per silent node; it ends when the node is heard again or was found to be down."""

    def __init__(self, store: Store, agents: Agents, pulses: Pulses) -> None:
        self._store = store
        self._agents = agents
        self._pulses = pulses
        self._inquiries: Tasks[int] = Tasks()

    async def run(self) -> None:
        """Until cancelled."""
        async with self._inquiries.ending():
            while True:
                async with self._store.read() as session:
                    known = [node for node in await nodes.every(session) if node.health == "up"]
                    sensitivity = (await cluster.load(session)).rules.failure_detection_sensitivity
                suspect_after, _ = health.SENSITIVITY[sensitivity]
                for _ in range(10):  # the store is asked once a second, the pulses ten times
                    for node in known:
                        if self._pulses.silence(node.uid) > suspect_after and node.uid not in self._inquiries:
                            self._inquire(NodeRef(node.uid, node.addr, node.agent_port), sensitivity)
                    before = time.monotonic()
                    await asyncio.sleep(TICK)
                    if (late := time.monotonic() - before - TICK) > TICK:
                        self._pulses.excuse(late)

    def _inquire(self, node: NodeRef, sensitivity: str) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()):
                # The store is away, most likely; while the node stays silent the next inquiry begins at once.
                log.warning("node %s is silent, and asking about it failed: %s", node.uid, error)

        self._inquiries.start(node.uid, self._inquiry(node, sensitivity)).add_done_callback(ended)

    async def _inquiry(self, suspect: NodeRef, sensitivity: str) -> None:
        async with self._store.read() as session:
            stalls = await observations.stalls(session)
        suspect_after, rounds = health.demands(sensitivity, stalls[suspect.uid])
        clock = asyncio.get_running_loop().time
        alive = -math.inf  # when a shard of it last answered somebody
        if len(self._inquiries) > CROWD:
            await asyncio.sleep(CROWD_PAUSE)
        while self._pulses.silence(suspect.uid) > suspect_after:
            async with self._store.read() as session:
                registered = await nodes.every(session)
                if not any(node.uid == suspect.uid and node.health == "up" for node in registered):
                    return
                # What was not running before cannot bear witness by its silence, nor what does not serve yet.
                sealed, forming = await bdbs.sealed(session), await bdbs.with_status(session, "pending")
                targets = [
                    _target(suspect, shard, sealed)
                    for shard in await shards.of_node(session, suspect.uid)
                    if shard.observed_status not in ("down", "unknown") and shard.bdb_uid not in forming
                ]
                everyone = [node for node in registered if node.uid != suspect.uid]
                others = [
                    NodeRef(node.uid, node.addr, node.agent_port)
                    for node in sorted(everyone, key=lambda node: (node.uid < suspect.uid, node.uid))
                    if self._pulses.silence(node.uid) < suspect_after
                ][:MAX_WITNESSES]
            if not targets:  # nothing that could be asked, as long as a database is being made on it, say
                await asyncio.sleep(10 * ROUND_SECONDS)
                continue
            if await self._few_suffice(others, targets):
                alive = clock()
                await asyncio.sleep(10 * ROUND_SECONDS)
                continue
            # The console's own word counts only where there is no other node: else it may be the one that is cut off.
            alone = not everyone
            verdicts = await self._verdicts(others, targets, rounds) if others or alone else []
            if "alive" in verdicts:
                alive = clock()
            if (
                verdicts.count("silent") == rounds and self._pulses.silence(suspect.uid) > suspect_after
            ):  # asking took time, too
                witnesses = sorted(node.uid for node in others)
                unheard = self._pulses.unheard(suspect.uid)
                detected = None if unheard is None else round(1000 * min(unheard, clock() - alive))
                log.warning("node %s is down: none of its %s shards answers", suspect.uid, len(targets))
                async with self._store.begin() as session:
                    await observations.node_down(session, suspect.uid, witnesses, detected)
                return
            await asyncio.sleep(10 * ROUND_SECONDS)

    async def _few_suffice(self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget]) -> bool:
        """Whether there is a crowd of silent nodes, and some shard of this one answers."""
        if len(self._inquiries) <= CROWD or not witnesses:
            return False
        return health.judge([await self._ask(witnesses[0], targets[:FEW])]) == "alive"

    async def _verdicts(
        self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget], rounds: int
    ) -> list[health.Verdict]:
        """One per round. A round begins while the one before may still be waiting for an answer: a node that is silent is
        known after the patience of the last, not of all."""
        asked: list[asyncio.Task[list[Sequence[bool] | None]]] = []
        async with asyncio.TaskGroup() as group:
            for number in range(rounds):
                if number:
                    await asyncio.sleep(ROUND_SECONDS)
                asked.append(group.create_task(self._testimonies(witnesses, targets)))
        return [health.judge(task.result()) for task in asked]

    async def _testimonies(
        self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget]
    ) -> list[Sequence[bool] | None]:
        if not witnesses:
            return [await self._agents.probe_here(targets)]
        return await asyncio.gather(*(self._ask(witness, targets) for witness in witnesses))

    async def _ask(self, witness: NodeRef, targets: Sequence[ProbeTarget]) -> Sequence[bool] | None:
        try:
            return await self._agents.probe(witness, targets)
        except AgentError:
            return None


def _target(suspect: NodeRef, shard: Shard, sealed: Mapping[int, bool]) -> ProbeTarget:
    """Where to ask whether the shard lives. One that speaks TLS hangs up without a word when it has as many clients as it may have;
    the bus of a cluster takes everybody."""
    if shard.bdb_uid not in sealed:
        return ProbeTarget(address=suspect.addr, port=shard.port)
    port = shard.bus_port if sealed[shard.bdb_uid] else shard.port
    return ProbeTarget(address=suspect.addr, port=port, tls=True)
