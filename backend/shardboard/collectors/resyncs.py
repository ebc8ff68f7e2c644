"""Follows every replica that is not in sync, and keeps one open span event per resync up to date."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.domain import resync
from shardboard.domain.resync import Progress
from shardboard.driver.ports import Agents, NodeRef, ShardCommand
from shardboard.errors import AgentError
from shardboard.state import bdbs, events, nodes, shards
from shardboard.state.shards import Shard

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
TELL_SECONDS = 1.0
SWEEP_SECONDS = 1.0


@dataclass
class _Tracked:
    """One resync while it runs."""

    replica: Shard
    primary: Shard
    event_uid: int
    started: float
    progress: Progress | None = None
    told_at: float = 0.0
    phases: list[dict[str, Any]] = field(default_factory=list)


class ResyncCollector:
    """A span `resync` begins when a replica of an active database is seen out of sync, and ends when its link is up."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until cancelled."""
        await self._end_forgotten()
        with self._bus.listen("change") as changes:
            try:
                while True:
                    await self._sweep()
                    await changes.until(lambda change: change[0] == "shard", SWEEP_SECONDS)
            finally:
                for task in self._tasks.values():
                    task.cancel()

    async def _end_forgotten(self) -> None:
        """End the spans of replicas that came in sync, or went away, while no console was looking."""
        async with self._store.begin() as session:
            behind = {
                row.uid for row in await shards.every(session) if row.observed_link in ("link_down", "in_progress")
            }
            for event in await events.open_spans(session, "resync"):
                if event.shard_uid not in behind:
                    event.ended_at = datetime.now(UTC)
                    event.details = {**event.details, "open": False, "outcome": "unknown"}

    async def _sweep(self) -> None:
        async with self._store.read() as session:
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
            ):
                task = asyncio.create_task(self._follow(row, primary, places[row.node_uid], places[primary.node_uid]))
                self._tasks[row.uid] = task
                task.add_done_callback(lambda _, uid=row.uid: self._tasks.pop(uid, None))  # type: ignore[misc]

    async def _follow(self, replica: Shard, primary: Shard, here: NodeRef, there: NodeRef) -> None:
        tracked = await self._begin(replica, primary)
        outcome = "in_sync"
        try:
            while tracked.progress is None or tracked.progress.phase != "in_sync":
                seen = await self._look(tracked, here, there)
                if seen is None:
                    outcome = "lost"
                    break
                self._advance(tracked, seen)
                if asyncio.get_running_loop().time() - tracked.told_at >= TELL_SECONDS:
                    await self._tell(tracked)
                await asyncio.sleep(LOOK_SECONDS)
        except AgentError:
            outcome = "lost"
        except Exception:
            log.exception("following the resync of shard %s", replica.uid)
            outcome = "lost"
        await self._end(tracked, outcome)

    async def _look(self, tracked: _Tracked, here: NodeRef, there: NodeRef) -> Progress | None:
        """None when one of the two does not run any more."""
        mine = [ShardCommand(uid=tracked.replica.uid, argv=["INFO", name]) for name in ("replication", "persistence")]
        its = [ShardCommand(uid=tracked.primary.uid, argv=["INFO", "persistence"])]
        replica, primary = await asyncio.gather(self._agents.command(here, mine), self._agents.command(there, its))
        if not all(result.ok for result in (*replica, *primary)):
            return None
        return resync.look(
            _fields("\n".join(result.reply for result in replica)),
            _fields("\n".join(result.reply for result in primary)),
        )

    @staticmethod
    def _advance(tracked: _Tracked, seen: Progress) -> None:
        tracked.progress = resync.follow(tracked.progress, seen)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if not tracked.phases or tracked.phases[-1]["name"] != tracked.progress.phase:
            if tracked.phases:
                tracked.phases[-1]["ended"] = now
            tracked.phases.append({"name": tracked.progress.phase, "started": now, "ended": None})

    async def _begin(self, replica: Shard, primary: Shard) -> _Tracked:
        async with self._store.begin() as session:
            event = await events.open_span(session, "resync", shard_uid=replica.uid)
            if event is None:
                event = events.record(
                    session,
                    "resync",
                    f"Shard redis:{replica.uid} on node {replica.node_uid} resynced from redis:{primary.uid}.",
                    source="shard",
                    bdb_uid=replica.bdb_uid,
                    node_uid=replica.node_uid,
                    shard_uid=replica.uid,
                    details={
                        "open": True,
                        "pair": replica.pair,
                        "primary": primary.uid,
                        "phase": "waiting",
                        "percent": 0.0,
                    },
                )
                await session.flush()
            tracked = _Tracked(replica, primary, event.uid, event.time.timestamp())
            tracked.phases = [dict(phase) for phase in event.details.get("phases", [])]
            if tracked.phases:  # begun by an earlier run of this console
                details = event.details
                tracked.progress = Progress(details["phase"], details["percent"], details["bytes"])
            return tracked

    async def _tell(self, tracked: _Tracked, *, ended: str = "") -> None:
        progress = tracked.progress or Progress("waiting", 0.0, 0)
        seconds = max(datetime.now(UTC).timestamp() - tracked.started, 0.001)
        async with self._store.begin() as session:
            event = await events.by_uid(session, tracked.event_uid)
            if event is None:
                return
            eta = resync.remaining(progress.percent, seconds)
            event.details = {
                **event.details,
                "open": not ended,
                "phase": progress.phase,
                "percent": round(progress.percent, 1),
                "bytes": progress.transferred,
                "rate": round(progress.transferred / seconds),
                "eta_seconds": None if eta is None or ended else round(eta, 1),
                "phases": [dict(phase) for phase in tracked.phases],
                **({"outcome": ended} if ended else {}),
            }
            if ended:
                event.ended_at = datetime.now(UTC)
        tracked.told_at = asyncio.get_running_loop().time()

    async def _end(self, tracked: _Tracked, outcome: str) -> None:
        if tracked.phases:
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            tracked.phases[-1]["ended"] = now
        await self._tell(tracked, ended=outcome)


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines() if line and line[0] != "#")
    return {name: value for name, _, value in pairs}
