"""Follows the samples of each node's agent, and records changes: agents lost and reconnected, shards that died or changed role."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from shardboard.collectors import observations
from shardboard.collectors.cluster.own_data import OwnData, keep_own, own_data, without_shards
from shardboard.collectors.failures.outages import NodeClock, OutageCollector
from shardboard.collectors.metrics.live_metrics import LiveMetrics, shard_places
from shardboard.collectors.metrics.sample_seconds import ShardPlace
from shardboard.collectors.pulse import Pulses
from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.shard_status import Observed, ShardStatus, observe
from shardboard.driver.interfaces import RING_SECONDS, SHARD_FIELDS, Agents, NodeRef, Sample
from shardboard.errors import AgentError
from shardboard.kit.active_clock import ACTIVE
from shardboard.kit.batches import Batches
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.kit.tenure import LostLeadership, Tenure, current_tenure
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.store.db import Store

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
CONNECT_SPACING = 0.005
"""Seconds between two new connections, so that the TLS handshakes of many agents do not exceed their timeout."""
LOST_AFTER = 3.0
"""Seconds without a sample after which an agent counts as lost."""
CLOCK_SKEW = 2.0
"""Seconds by which an agent's clock may differ from the console's before its times are ignored."""
FACTS_INTERVAL_SAMPLES = 60
"""Number of samples between two requests for the machine's facts."""
CONDITION = ("pid", "started_at", "is_primary", "loading", "link_up")
"""Leading fields of a shard's sample, which determine its condition."""
ADDED_CONDITION = ("engine_version", "cluster_down")
"""Fields that determine the condition as well, and that were added later."""
CONDITION_INDEXES = [SHARD_FIELDS.index(name) for name in (*CONDITION, *ADDED_CONDITION)]
assert SHARD_FIELDS[: len(CONDITION)] == CONDITION  # noqa: S101

Acting = Callable[[], AbstractContextManager[None] | None]


@lru_cache(2**15)
def _observed(*values: float | None) -> Observed:
    """Cached, because nearly all values equal those of the previous second. The cache must have an entry for each shard."""
    return observe(dict(zip((*CONDITION, *ADDED_CONDITION), values, strict=True)))


class NodeCollector:
    """Runs one task per node, as nodes are added and removed.

    While another console leads, the tasks only keep the samples. When the leader changes, they connect again: agents then repeat
    what the former leader may not have recorded, and each difference from the store is recorded.
    """

    def __init__(
        self, store: Store, bus: Bus, agents: Agents, live: LiveMetrics, pulses: Pulses, acting: Acting = nullcontext
    ) -> None:
        """Create a collector. `acting` returns the context for tasks that write; None while another console leads."""
        self._acting = acting
        self._pulses = pulses
        self._outages = OutageCollector(store)
        self._store = store
        self._bus = bus
        self._agents = agents
        self._live = live
        self._followers: Tasks[int] = Tasks()
        self._known: dict[int, Observed] = {}
        self._recording = asyncio.Lock()
        """Held while `_known` and the store are synchronized, so that an older reading never replaces a newer write."""
        # If many nodes change at the same time, a transaction for each of them would take too long.
        self._changes = Batches(self._write_changes, self._recording)
        self._seen = Batches(self._write_seen)
        self._members: Mapping[int, ShardPlace] = {}
        self._down: set[int] = set()
        """Nodes that are down according to the store."""
        self._connected: set[int] = set()
        """Nodes whose agents are connected according to the store."""
        self._node_refs: dict[int, NodeRef] = {}
        self._own: dict[int, OwnData] = {}
        """Shards and databases about which the agent of a node may report, by node."""
        self._leader: tuple[bool, Tenure | None] = (False, None)
        """Whether the running tasks write, and for which tenure."""
        self._missing: frozenset[int] = frozenset()
        """Uids of shards that their agents no longer have. Samples from before their loss still contain them."""

    async def run(self) -> None:
        """Follow all nodes until cancelled."""
        async with self._followers.cancelled_at_exit():
            with self._bus.listen("change", "leader") as changes:
                while True:
                    await self._restart_if_leader_changed()
                    await self._refresh()
                    # Shards and nodes change rarely; a refresh every few seconds also covers another console on the same store.
                    await changes.wait_until(
                        lambda change: change is None or change[0] in ("node", "shard"), 5, pause=4
                    )

    async def _restart_if_leader_changed(self) -> None:
        context = self._acting()
        with context or nullcontext():
            leader = (context is not None, current_tenure())
        if leader != self._leader:
            self._leader = leader
            async with self._followers.cancelled_at_exit():
                pass  # `_refresh` starts them again

    async def _refresh(self) -> None:
        async with self._recording:
            async with self._store.read() as session:
                known_nodes = await nodes.list_all(session)
                known_shards = await shards.list_conditions(session)
                known_bdbs = await bdbs.list_all(session)
            self._missing = frozenset(uid for bdb in known_bdbs for uid in bdb.mismatch.missing)
            self._known = {shard.uid: observations.stored_observation(shard) for shard in known_shards}
        self._members = shard_places(known_shards)
        self._live.set_members(self._members)
        node_uids = {node.uid for node in known_nodes}
        self._live.set_endpoints({bdb.uid: node_uids & {*bdb.endpoint_nodes, *bdb.retiring} for bdb in known_bdbs})
        self._down = {node.uid for node in known_nodes if node.health == NodeHealth.DOWN}
        self._connected = {node.uid for node in known_nodes if node.agent_status == AgentStatus.CONNECTED}
        self._live.set_down_nodes(self._down)
        unknown = {node.uid: {each.uid for each in node.unknown_shards.shards} for node in known_nodes if node.unknown}
        self._own = own_data(self._members, unknown)
        started = 0
        for node in known_nodes:
            reference = NodeRef(node.uid, node.addr, node.agent_port)
            if self._node_refs.get(node.uid) != reference:  # the node has joined again with another address
                self._followers.cancel(node.uid)
            if node.uid not in self._followers:
                self._node_refs[node.uid] = reference
                with (self._acting() if self._leader[0] else None) or nullcontext():
                    self._followers.start(
                        node.uid, self._follow(reference, leads=self._leader[0], delay=CONNECT_SPACING * started)
                    )
                started += 1
        for uid in self._followers.keys() - node_uids:
            self._followers.cancel(uid)
            self._live.disconnect(uid)

    async def _follow(self, node: NodeRef, *, leads: bool, delay: float) -> None:
        await asyncio.sleep(delay)
        is_connected: bool | None = None
        last_sample = ACTIVE.now()
        while True:
            try:
                await self._record_reached(node, leads=leads)
                boot, seq = self._live.resume_point(node.uid)
                count, has_backlog = 0, True
                clock = NodeClock()
                async for sample in self._agents.samples(
                    node, seq, boot, lambda: self._own_data(node.uid).max_line_bytes, rare_pulses=not leads
                ):
                    last_sample = ACTIVE.now()
                    self._pulses.record_pulse(node.uid, is_rare=not leads)
                    if sample is None:
                        clock.mark_caught_up()
                        has_backlog = False
                        continue
                    sample = self._ingest(node.uid, sample, clock, has_backlog=has_backlog)
                    if not is_connected:
                        is_connected = True
                        self._live.connect(node.uid)
                    if leads:
                        await self._record(node, sample, clock, count, boot, has_backlog=has_backlog)
                    count += 1
                reason = "its agent ended the stream of samples"
            except AgentError as error:
                reason = error.reason
            except LostLeadership:
                return
            except Exception:
                log.exception("nodes: receiving the samples of node %s failed", node.uid)
                reason = "the console failed to read its samples"
            self._pulses.record_stream_end(node.uid)
            unrecorded = is_connected is not False or node.uid in self._connected
            if unrecorded and (silence := ACTIVE.now() - last_sample) > LOST_AFTER:
                is_connected = False
                self._live.disconnect(node.uid)
                await self._record_lost(node, reason, silence, leads=leads)
            await asyncio.sleep(RETRY_SECONDS)

    def _ingest(self, node_uid: int, sample: Sample, clock: NodeClock, *, has_backlog: bool) -> Sample:
        """Add a sample to the rings. Return it without data about which the agent must not report."""
        own = keep_own(sample, self._own_data(node_uid))
        sample = without_shards(own, self._missing if has_backlog else frozenset())
        clock_offset = sample.at - time.time()
        clock.add(clock_offset)
        self._pulses.clocks[node_uid] = clock_offset
        # Samples from the future would evict correct ones from the rings.
        if clock_offset < CLOCK_SKEW and sample.t < sample.at + CLOCK_SKEW:
            self._live.ingest(node_uid, sample)
        else:
            self._live.skip(node_uid, sample)
        return sample

    async def _record(
        self, node: NodeRef, sample: Sample, clock: NodeClock, count: int, boot: str, *, has_backlog: bool
    ) -> None:
        """Store what has changed.

        `count` is the number of earlier samples of this connection, `boot` the boot ID in earlier ones.
        """
        # Silence can be too short to break the stream, yet long enough for the node to be declared down.
        if count % FACTS_INTERVAL_SAMPLES == 0 or node.uid in self._down:
            await self._record_seen(node, restarted=sample.boot != boot if boot else None)
        await self._record_shards(node.uid, sample, max_age=RING_SECONDS if has_backlog else 0)
        await self._outages.store(node.uid, sample, clock.ahead_ms)

    async def _record_reached(self, node: NodeRef, *, leads: bool) -> None:
        """Record that the agent is connected if the former leader did not reach it. The next sample may take a second."""
        if leads and node.uid not in self._connected and self._pulses.is_reached(node.uid):
            await self._record_seen(node, restarted=None)

    async def _record_lost(self, node: NodeRef, reason: str, silence: float, *, leads: bool) -> None:
        if not leads:
            return
        try:
            async with self._store.begin() as session:
                await observations.record_agent_lost(session, node.uid, reason, silence)
        except Exception:  # a temporary failure of the store must not stop following the node
            log.exception("nodes: recording the loss of the agent of node %s failed", node.uid)

    async def _record_seen(self, node: NodeRef, *, restarted: bool | None) -> None:
        # Cleared before the write: if the node is declared down during the write, the next sample repeats this.
        self._down.discard(node.uid)
        facts = await self._agents.facts(node)
        await self._seen.add((node.uid, facts.model_dump(), restarted))

    async def _write_seen(self, seen: Sequence[tuple[int, dict[str, Any], bool | None]]) -> None:
        async with self._store.begin() as session:
            for node_uid, facts, restarted in seen:
                await observations.record_agent_seen(session, node_uid, facts, restarted=restarted)

    def _own_data(self, node_uid: int) -> OwnData:
        return self._own.get(node_uid, OwnData())

    def _without_sample(self, uid: int, status: str, reason: str) -> Observed:
        """Return the last known state of a shard without a sample, with a new status."""
        previous = self._known.get(uid, Observed("unknown", None, ""))
        return replace(
            previous, status=status, detail=reason, pid=previous.pid if status == ShardStatus.TIMEOUT else None
        )

    async def _record_shards(self, node_uid: int, sample: Sample, max_age: int) -> None:
        """Write the differences from the known state. In most seconds there are none, and the store is not accessed.

        Only shards of the agent's own node are considered. A sample is at most `max_age` seconds old: after a connection is
        established, agents repeat samples, which must not replace newer observations.
        """
        now = datetime.now(UTC)
        is_plausible = -CLOCK_SKEW < now.timestamp() - sample.at < max_age + CLOCK_SKEW
        # The clock of another machine may be wrong; the console's clock orders observations of loops and collectors.
        observed_at = datetime.fromtimestamp(sample.t, UTC) if is_plausible else now
        conditions = {
            uid: _observed(*(row[index] for index in CONDITION_INDEXES)) for uid, row in sample.shards.items()
        }
        conditions |= {uid: self._without_sample(uid, "timeout", reason) for uid, reason in sample.missing.items()}
        conditions |= {uid: self._without_sample(uid, "down", reason) for uid, reason in sample.died.items()}
        changed = {
            uid: observed
            for uid, observed in conditions.items()
            if (member := self._members.get(uid)) is not None
            and member.node_uid == node_uid
            and self._known.get(uid) != observed
        }
        if not changed:
            return
        await self._changes.add((changed, observed_at))

    async def _write_changes(self, changes: Sequence[tuple[Mapping[int, Observed], datetime]]) -> None:
        async with self._store.begin() as session:
            written = [
                (changed, await observations.record_shard_changes(session, changed, observed_at))
                for changed, observed_at in changes
            ]
        for changed, uids in written:
            # Observations that were too late to be written still differ from the store; the next sample repeats them.
            self._known.update((uid, changed[uid]) for uid in uids)
