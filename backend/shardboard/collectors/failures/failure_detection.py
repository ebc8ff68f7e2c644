"""Failure detection of nodes: a silent node is suspect, and down when the other agents agree that none of its shards responds."""

import asyncio
import itertools
import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from shardboard.collectors import observations
from shardboard.collectors.pulse import Pulses
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import NOT_SEEN
from shardboard.domain.failures import failure_detection
from shardboard.driver.interfaces import Agents, NodeRef, ProbeTarget
from shardboard.errors import AgentError
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.shared_read import SharedRead
from shardboard.kit.tasks import Tasks
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import StoredNode
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import Shard
from shardboard.store.db import Store

log = logging.getLogger(__name__)

TICK_SECONDS = 0.1
MAX_WITNESSES = 5
"""Maximum number of witnesses for one suspect, the next ones by uid: on an overloaded machine many nodes look silent, and probing
adds load."""
ROUND_SECONDS = 0.1
"""Seconds between the starts of two rounds of witnesses."""
MAX_SUSPECTS = 3
"""If more nodes than this are silent at once, they are more likely alive on an overloaded machine, which probing would load more.
Then a few witnesses first probe a few shards of each node, and only nodes that do not respond to all of them are probed
completely."""
CROWD_WITNESSES, CROWD_PROBE_SHARDS = 2, 2
CROWD_PAUSE_SECONDS = 0.5
"""Seconds that an inquiry waits in this case before it reads the store: most nodes are heard from again by then."""


class ClusterState(NamedTuple):
    """State of nodes and databases that inquiries need."""

    nodes: Sequence[StoredNode]
    """By uid."""
    encrypted: Mapping[int, bool]
    """As returned by `bdbs.encrypted_bdbs`."""
    forming: Collection[int]
    """Databases that are being created."""


class NodeWatch:
    """Runs one inquiry per silent node, which ends when the node is heard from again or found to be down."""

    def __init__(self, store: Store, agents: Agents, pulses: Pulses) -> None:
        self._store = store
        self._agents = agents
        self._pulses = pulses
        self._inquiries: Tasks[int] = Tasks()
        # If all nodes are silent at once, each inquiry would otherwise read all nodes.
        self._cluster_state = SharedRead(self._read_cluster_state)
        self._stalls = SharedRead(self._read_stalls)

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            await self._watch()
        finally:
            for shared in (self._cluster_state, self._stalls):
                await shared.close()

    async def _watch(self) -> None:
        async with self._inquiries.cancelled_at_exit():
            while True:
                async with self._store.read() as session:
                    up_nodes = [node for node in await nodes.list_stored(session) if node.health == NodeHealth.UP]
                    sensitivity = (await cluster.load(session)).rules.failure_detection_sensitivity
                suspect_after, _ = failure_detection.SENSITIVITY[sensitivity]
                for _ in range(10):  # the store is read once a second, the pulses are checked ten times
                    for node in up_nodes:
                        if self._pulses.silence(node.uid) > suspect_after and node.uid not in self._inquiries:
                            self._inquire(NodeRef(node.uid, node.addr, node.agent_port), sensitivity)
                    await asyncio.sleep(TICK_SECONDS)

    def _inquire(self, node: NodeRef, sensitivity: str) -> None:
        def on_end(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()):
                # Most likely the store is unavailable; if the node stays silent, the next inquiry starts immediately.
                log.warning("failure detection: querying the witnesses of node %s failed: %s", node.uid, error)

        self._inquiries.start(node.uid, self._inquiry(node, sensitivity)).add_done_callback(on_end)

    async def _inquiry(self, suspect: NodeRef, sensitivity: str) -> None:
        if len(self._inquiries) > MAX_SUSPECTS:
            await asyncio.sleep(CROWD_PAUSE_SECONDS)
            if self._pulses.silence(suspect.uid) <= failure_detection.SENSITIVITY[sensitivity][0]:
                return
        stalls = await self._stalls.get()
        suspect_after, round_limit = failure_detection.detection_limits(sensitivity, stalls[suspect.uid])
        clock = asyncio.get_running_loop().time
        last_alive = -math.inf  # when one of its shards last responded to a probe
        while self._pulses.silence(suspect.uid) > suspect_after:
            cluster_state = await self._cluster_state.get()
            all_nodes = cluster_state.nodes
            position = next((index for index, node in enumerate(all_nodes) if node.uid == suspect.uid), None)
            if position is None or all_nodes[position].health != NodeHealth.UP:
                return
            async with self._store.read() as session:
                # Shards that were not running before, or do not serve yet, prove nothing by not responding.
                targets = [
                    _target(suspect, shard, cluster_state.encrypted)
                    for shard in await shards.list_for_node(session, suspect.uid)
                    if shard.observed_status not in NOT_SEEN and shard.bdb_uid not in cluster_state.forming
                ]
            other_nodes = [*all_nodes[position + 1 :], *all_nodes[:position]]
            responding = (node for node in other_nodes if self._pulses.silence(node.uid) < suspect_after)
            other_refs = [
                NodeRef(node.uid, node.addr, node.agent_port) for node in itertools.islice(responding, MAX_WITNESSES)
            ]
            if not targets:  # nothing to probe, for example while a database is being created on the node
                await asyncio.sleep(10 * ROUND_SECONDS)
                continue
            if await self._is_alive_in_crowd(other_refs, targets):
                last_alive = clock()
                await asyncio.sleep(10 * ROUND_SECONDS)
                continue
            # Without any other agent, the console itself may be isolated. Its own probes alone count only in a cluster of one node.
            is_only_node, pauses = not other_nodes, ACTIVE.pauses
            verdicts = (
                await self._verdicts(other_refs, targets, round_limit, len(other_nodes))
                if other_refs or is_only_node
                else []
            )
            if "alive" in verdicts:
                last_alive = clock()
            if ACTIVE.pauses != pauses:  # the node may be back since the witnesses reported
                continue
            if (
                verdicts.count("silent") == round_limit and self._pulses.silence(suspect.uid) > suspect_after
            ):  # checked again, because the probes took time
                witnesses = sorted(node.uid for node in other_refs)
                silence = self._pulses.seconds_since_pulse(suspect.uid)
                detected = None if silence is None else round(1000 * min(silence, clock() - last_alive))
                log.warning(
                    "failure detection: node %s is down: none of its %s shards responds", suspect.uid, len(targets)
                )
                async with self._store.begin() as session:
                    await observations.record_node_down(session, suspect.uid, witnesses, detected)
                return
            await asyncio.sleep(10 * ROUND_SECONDS)

    async def _read_cluster_state(self) -> "ClusterState":
        async with self._store.read() as session:
            return ClusterState(
                await nodes.list_stored(session),
                await bdbs.encrypted_bdbs(session),
                await bdbs.with_status(session, BdbStatus.PENDING),
            )

    async def _read_stalls(self) -> Counter[int]:
        async with self._store.read() as session:
            return await observations.recent_stalls(session)

    async def _is_alive_in_crowd(self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget]) -> bool:
        """Return whether many nodes are silent and a shard of this one responds to each of a few witnesses."""
        if len(self._inquiries) <= MAX_SUSPECTS or not witnesses:
            return False
        few = targets[:CROWD_PROBE_SHARDS]
        testimonies = await asyncio.gather(*(self._probe(each, few) for each in witnesses[:CROWD_WITNESSES]))
        return all(testimony is not None and any(testimony) for testimony in testimonies)

    async def _verdicts(
        self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget], rounds: int, other_nodes: int
    ) -> list[failure_detection.HealthVerdict]:
        """Return one verdict per round. `other_nodes` is the number of nodes besides the suspect.

        A round starts while the previous one may still wait for responses, so the total time is that of the last timeout, not of
        the sum.
        """
        round_tasks: list[asyncio.Task[list[Sequence[bool] | None]]] = []
        async with asyncio.TaskGroup() as group:
            for number in range(rounds):
                if number:
                    await asyncio.sleep(ROUND_SECONDS)
                round_tasks.append(group.create_task(self._testimonies(witnesses, targets)))
        required = failure_detection.WITNESSES if other_nodes > 1 else 1
        return [failure_detection.judge(task.result(), required) for task in round_tasks]

    async def _testimonies(
        self, witnesses: Sequence[NodeRef], targets: Sequence[ProbeTarget]
    ) -> list[Sequence[bool] | None]:
        """Return the results of each witness. If fewer than the required number respond, the console itself is another one."""
        testimonies = await asyncio.gather(*(self._probe(witness, targets) for witness in witnesses))
        heard = sum(testimony is not None for testimony in testimonies)
        if heard >= failure_detection.WITNESSES or (witnesses and not heard):
            return testimonies
        return [*testimonies, await self._agents.probe_from_console(targets)]

    async def _probe(self, witness: NodeRef, targets: Sequence[ProbeTarget]) -> Sequence[bool] | None:
        try:
            return await self._agents.probe(witness, targets)
        except AgentError:
            return None


def _target(suspect: NodeRef, shard: Shard, tls_by_bdb: Mapping[int, bool]) -> ProbeTarget:
    """Return the address to probe. A client port with TLS closes connections without a response when the client limit is reached;
    the cluster bus port always accepts connections."""
    if shard.bdb_uid not in tls_by_bdb:
        return ProbeTarget(address=suspect.addr, port=shard.port)
    port = shard.bus_port if tls_by_bdb[shard.bdb_uid] else shard.port
    return ProbeTarget(address=suspect.addr, port=port, tls=True)
