"""Follows each replica that is not in sync, and keeps one open span event per resync up to date."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.failures.resync_span import ResyncSpan
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.databases.shard_status import BEHIND, RESPONDING, ShardStatus
from shardboard.domain.failures import resync
from shardboard.domain.failures.resync import ResyncPoll
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.interfaces import Agents, NodeRef, ShardCommand
from shardboard.errors import AgentError
from shardboard.kit.bus import Bus
from shardboard.kit.tasks import Tasks
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient
from shardboard.valkey.replies import info_fields

log = logging.getLogger(__name__)

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 1.0
POLLS_PER_SECOND, INITIAL_POLLS_PER_SECOND = 8, 16
"""Polls per second of all replicas together, because polling uses CPU time that small machines need for copying. Many copies take
only seconds, so polling is more frequent at first."""
INITIAL_SECONDS = 4.0
REPLICA_INFO, PRIMARY_INFO = ("INFO", "replication", "persistence"), ("INFO", "replication", "persistence", "memory")
SWEEP_SECONDS = 1.0
SHORT_INTERRUPTION_SECONDS = 1.0
"""A replica that is out of sync for less than this without copying data had only a short interruption of its link."""
RECENT_START = timedelta(seconds=10)
ORPHANED_AFTER_SECONDS = 3.0
"""Time within which another console that followed a resync writes its end."""
SAMPLE_DELAY = timedelta(seconds=3)
"""Time after which samples show the observations of this collector."""


class ResyncCollector:
    """A `resync` span starts when a replica of an active database is observed out of sync, and ends when its link is up."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._tasks: Tasks[int] = Tasks()
        self._synced: dict[int, datetime] = {}
        """When a replica was last seen in sync here, which samples may not show yet."""
        self._orphaned_since: dict[int, float] = {}
        """Since when an open span has had no follower, by event uid."""

    async def run(self) -> None:
        """Run until cancelled."""
        async with self._tasks.cancelled_at_exit():
            with self._bus.listen("change") as changes:
                while True:
                    await self._end_orphaned()
                    await self._sweep()
                    await changes.wait_until(lambda change: change[0] == "shard", SWEEP_SECONDS, pause=4)

    async def _end_orphaned(self) -> None:
        """End spans of replicas that came in sync or disappeared while no console could observe or record it."""
        async with self._store.read() as session:
            orphaned = {event.uid for event in await self._orphaned(session)}
        now = asyncio.get_running_loop().time()
        self._orphaned_since = {uid: self._orphaned_since.get(uid, now) for uid in orphaned}
        # Another console on this store may be about to end the span, and knows the outcome.
        overdue = {uid for uid, since in self._orphaned_since.items() if now - since >= ORPHANED_AFTER_SECONDS}
        if not overdue:
            return
        async with self._store.begin() as session:
            for event in await self._orphaned(session):
                if event.uid in overdue:
                    event.end(outcome="unknown")

    async def _orphaned(self, session: AsyncSession) -> list[Event]:
        """Return open spans that this console does not follow, of replicas that are not behind."""
        spans = [
            event for event in await events.list_open_spans(session, "resync") if event.shard_uid not in self._tasks
        ]
        if not spans:
            return []
        rows = await shards.list_by_uids(session, {event.shard_uid for event in spans if event.shard_uid is not None})
        lagging = {row.uid for row in rows if row.observed_link in BEHIND}
        return [event for event in spans if event.shard_uid not in lagging]

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            if not await shards.any_behind(session):
                return
            active = {bdb.uid for bdb in await bdbs.list_all(session) if bdb.status in IN_SERVICE}
            rows = [row for row in await shards.list_conditions(session) if row.bdb_uid in active]
            node_refs = {
                node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.list_stored(session)
            }
        primaries = {
            (row.bdb_uid, row.pair): row
            for row in rows
            if row.current_role == ShardRole.PRIMARY and row.observed_status == ShardStatus.OK
        }
        for row in rows:
            is_behind = row.current_role == ShardRole.REPLICA and row.observed_link in BEHIND
            primary = primaries.get((row.bdb_uid, row.pair))
            if (
                is_behind
                and row.observed_status in RESPONDING
                and primary is not None
                and row.uid not in self._tasks
                and not self._already_synced(row)
            ):
                self._tasks.start(
                    row.uid, self._follow(row, primary, node_refs[row.node_uid], node_refs[primary.node_uid])
                )

    def _already_synced(self, row: ReadShard) -> bool:
        synced_at = self._synced.get(row.uid)
        return (
            synced_at is not None
            and (row.observed_at or synced_at) <= synced_at
            and datetime.now(UTC) - synced_at < SAMPLE_DELAY
        )

    async def _follow(
        self, replica: ReadShard, primary: ReadShard, replica_node: NodeRef, primary_node: NodeRef
    ) -> None:
        span = ResyncSpan(self._store, replica, primary)
        outcome = "in_sync"
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            await span.resume()
            while (poll := await self._poll(span, replica_node, primary_node)) is not None:
                phase = span.advance(poll).phase
                copies = phase in ("transfer", "load")
                # A short interruption of the link needs no resync: the missed data comes from the backlog immediately.
                is_worth_recording = span.event_uid or copies or clock() - start > SHORT_INTERRUPTION_SECONDS
                if phase == "in_sync":
                    self._synced[replica.uid] = datetime.now(UTC)
                    break
                if is_worth_recording and span.is_update_due():
                    await span.write()
                polls_per_second = INITIAL_POLLS_PER_SECOND if clock() - start < INITIAL_SECONDS else POLLS_PER_SECOND
                await asyncio.sleep(min(max(MIN_POLL_SECONDS, len(self._tasks) / polls_per_second), MAX_POLL_SECONDS))
            else:
                outcome = "lost"
        except AgentError:
            outcome = "lost"
        except Exception:
            log.exception("resyncs: tracking the resync of shard %s failed", replica.uid)
            outcome = "lost"
        if not span.event_uid and outcome == "in_sync" and (recent_start := _recent_start(replica)) is not None:
            span.started = recent_start  # a complete copy that finished before the first poll
        elif not span.event_uid:
            return
        try:
            await span.write(ended=outcome)
        except Exception as error:
            write_log = log.warning if is_transient(error) else log.exception
            write_log(
                "resyncs: recording the end of the resync of shard %s failed: %s", replica.uid, describe_error(error)
            )

    async def _poll(self, span: ResyncSpan, replica_node: NodeRef, primary_node: NodeRef) -> ResyncPoll | None:
        """Return the progress; None if one of the two shards is no longer running."""
        replica, primary = span.replica, span.primary
        replies = await asyncio.gather(
            *(
                self._agents.command(node, [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=list(argv))])
                for shard, node, argv in ((replica, replica_node, REPLICA_INFO), (primary, primary_node, PRIMARY_INFO))
            )
        )
        if not all(result.ok for results in replies for result in results):
            return None
        replica_info, primary_info = (info_fields(results[0].reply) for results in replies)
        return resync.parse_poll(replica_info, primary_info)


def _recent_start(replica: ReadShard) -> datetime | None:
    """Return when the replica's process started if that was recently, in which case its data is a new copy."""
    started_at, now = replica.observed_started_at, datetime.now(UTC)
    return started_at if started_at is not None and timedelta(0) <= now - started_at < RECENT_START else None
