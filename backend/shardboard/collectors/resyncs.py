"""Follows every replica that is not in sync, and keeps one open span event per resync up to date."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.away import is_away, reason
from shardboard.bus import Bus
from shardboard.collectors.resync_span import Span
from shardboard.db import Store
from shardboard.domain import resync
from shardboard.domain.resync import Progress
from shardboard.driver.ports import Agents, NodeRef, ShardCommand
from shardboard.engine_text import info_fields
from shardboard.errors import AgentError
from shardboard.state import bdbs, events, nodes, shards
from shardboard.state.events import Event
from shardboard.state.shards import Shard
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_SECONDS, LOOK_SECONDS_AT_MOST = 0.25, 1.0
LOOKS_A_SECOND, LOOKS_AT_FIRST = 8, 16
"""At all replicas together: what looks at them takes processors from what they do, on a small machine. Many copies take only
seconds, so the first of them are looked at closely."""
AT_FIRST_SECONDS = 4.0
REPLICAS, PRIMARYS = ("INFO", "replication", "persistence"), ("INFO", "replication", "persistence", "memory")
SWEEP_SECONDS = 1.0
BLINK_SECONDS = 1.0
"""A replica that is out of sync for less than this, and copies nothing, had a link that blinked."""
JUST_BORN = timedelta(seconds=10)
FORGOTTEN_SECONDS = 3.0
"""In which whoever followed a resync has written its end."""
SAMPLED = timedelta(seconds=3)
"""After this the samples have told what was seen here."""


class ResyncCollector:
    """A span `resync` begins when a replica of an active database is seen out of sync, and ends when its link is up."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._tasks: Tasks[int] = Tasks()
        self._synced: dict[int, datetime] = {}
        """When a replica was last seen in sync here, which the samples may not have told yet."""
        self._left: dict[int, float] = {}
        """Since when an open span was seen with nobody to end it."""

    async def run(self) -> None:
        """Until cancelled."""
        async with self._tasks.ending():
            with self._bus.listen("change") as changes:
                while True:
                    await self._end_forgotten()
                    await self._sweep()
                    await changes.until(lambda change: change[0] == "shard", SWEEP_SECONDS)

    async def _end_forgotten(self) -> None:
        """End the spans of replicas that came in sync, or went away, while no console was looking, or none could write it."""
        async with self._store.read() as session:
            left = {event.uid for event in await self._left_open(session)}
        now = asyncio.get_running_loop().time()
        self._left = {uid: self._left.get(uid, now) for uid in left}
        # Another console on this store may be about to end it, and knows how it ended.
        ripe = {uid for uid, since in self._left.items() if now - since >= FORGOTTEN_SECONDS}
        if not ripe:
            return
        async with self._store.begin() as session:
            for event in await self._left_open(session):
                if event.uid in ripe:
                    event.ended_at = datetime.now(UTC)
                    event.details = {**event.details, "open": False, "outcome": "unknown"}

    async def _left_open(self, session: AsyncSession) -> list[Event]:
        """Open spans that nobody here follows, of replicas that are not behind."""
        spans = [event for event in await events.open_spans(session, "resync") if event.shard_uid not in self._tasks]
        if not spans:
            return []
        rows = await shards.some(session, {event.shard_uid for event in spans if event.shard_uid is not None})
        behind = {row.uid for row in rows if row.observed_link in ("link_down", "in_progress")}
        return [event for event in spans if event.shard_uid not in behind]

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            if not await shards.any_behind(session):
                return
            active = {bdb.uid for bdb in await bdbs.every(session) if bdb.status.startswith("active")}
            rows = [row for row in await shards.every(session) if row.bdb_uid in active]
            places = {node.uid: NodeRef(node.uid, node.addr, node.agent_port) for node in await nodes.every(session)}
        heads = {
            (row.bdb_uid, row.pair): row for row in rows if row.current_role == "master" and row.observed_status == "ok"
        }
        for row in rows:
            behind = row.current_role == "slave" and row.observed_link in ("link_down", "in_progress")
            primary = heads.get((row.bdb_uid, row.pair))
            if (
                behind
                and row.observed_status in ("ok", "loading")
                and primary is not None
                and row.uid not in self._tasks
                and not self._already_synced(row)
            ):
                self._tasks.start(row.uid, self._follow(row, primary, places[row.node_uid], places[primary.node_uid]))

    def _already_synced(self, row: Shard) -> bool:
        synced = self._synced.get(row.uid)
        return synced is not None and (row.observed_at or synced) <= synced and datetime.now(UTC) - synced < SAMPLED

    async def _follow(self, replica: Shard, primary: Shard, here: NodeRef, there: NodeRef) -> None:
        span = Span(self._store, replica, primary)
        outcome = "in_sync"
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            await span.resume()
            while (seen := await self._look(span, here, there)) is not None:
                phase = span.advance(seen).phase
                copies = phase in ("transfer", "load")
                # A link that blinks makes no resync: what it missed comes from the backlog, at once.
                worth_telling = span.event_uid or copies or clock() - begun > BLINK_SECONDS
                if phase == "in_sync":
                    self._synced[replica.uid] = datetime.now(UTC)
                    break
                if worth_telling and span.due():
                    await span.tell()
                looks = LOOKS_AT_FIRST if clock() - begun < AT_FIRST_SECONDS else LOOKS_A_SECOND
                await asyncio.sleep(min(max(LOOK_SECONDS, len(self._tasks) / looks), LOOK_SECONDS_AT_MOST))
            else:
                outcome = "lost"
        except AgentError:
            outcome = "lost"
        except Exception:
            log.exception("following the resync of shard %s", replica.uid)
            outcome = "lost"
        if not span.event_uid and outcome == "in_sync" and (born := _just_born(replica)) is not None:
            span.started = born  # it copied everything, sooner than anybody could look
        elif not span.event_uid:
            return
        try:
            await span.tell(ended=outcome)
        except Exception as error:
            told = log.warning if is_away(error) else log.exception
            told("the end of the resync of shard %s could not be written: %s", replica.uid, reason(error))

    async def _look(self, span: Span, here: NodeRef, there: NodeRef) -> Progress | None:
        """None when one of the two does not run any more."""
        replica, primary = span.replica, span.primary
        both = await asyncio.gather(
            *(
                self._agents.command(node, [ShardCommand(uid=shard.uid, engine_id=shard.engine_id, argv=list(argv))])
                for shard, node, argv in ((replica, here, REPLICAS), (primary, there, PRIMARYS))
            )
        )
        if not all(result.ok for results in both for result in results):
            return None
        mine, its = (info_fields(results[0].reply) for results in both)
        return resync.look(mine, its)


def _just_born(replica: Shard) -> datetime | None:
    """When the replica's process started, if that was only just now: then its data are a fresh copy."""
    started, now = replica.observed_started_at, datetime.now(UTC)
    return started if started is not None and timedelta(0) <= now - started < JUST_BORN else None
