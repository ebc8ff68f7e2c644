"""One resync as an event: a span with phases, percent, bytes and remaining time, updated once a second, and more often when it
progresses quickly."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shardboard.domain.failures import resync
from shardboard.domain.failures.resync import ResyncPoll, ResyncProgress
from shardboard.state.alerting import events
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store

MIN_LOAD_SECONDS = 0.5
"""Minimum loading time in seconds from which the load rate is derived."""
UPDATE_SECONDS, POINT_SECONDS = 1.0, 1.0
"""Update intervals: each second, and earlier if the stored percentage is outdated: by one point after a second, two points after
half a second, and so on."""


@dataclass
class ResyncSpan:
    """A span that is created with the first update and ended once. A restarted console continues an open span."""

    store: Store
    replica: ReadShard
    primary: ReadShard
    event_uid: int = 0
    """0 until the first update."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    progress: ResyncProgress = field(default_factory=ResyncProgress)
    phases: list[dict[str, Any]] = field(default_factory=list)
    load_rate: float | None = None
    """Bytes per second at which the database's last resync loaded from disk."""
    _updated_at: float = 0.0
    _updated_percent: float = 0.0
    """Percent in the last update."""

    async def resume(self) -> None:
        """Load the open span of an earlier console, and the load rate of the last resync."""
        async with self.store.read() as session:
            event = await events.open_span(session, "resync", shard_uid=self.replica.uid)
            previous_span = await events.newest_ended(session, "resync", bdb_uid=self.replica.bdb_uid)
        if previous_span is not None:
            self.load_rate = _load_rate(previous_span.details)
        if event is not None:
            details = event.details
            self.event_uid, self.started = event.uid, event.time
            self.phases = [dict(phase) for phase in details.get("phases", [])]
            if self.phases:
                progress = ResyncPoll(details["phase"], details["bytes"], total=details.get("bytes_total"))
                phase_starts = [_moment(phase["started"]) for phase in self.phases if phase["name"] != "waiting"]
                self.progress = ResyncProgress(
                    progress, details["percent"], copying_since=min(phase_starts, default=None)
                )

    def advance(self, seen: ResyncPoll) -> ResyncPoll:
        """Add an observation and return the progress."""
        self.progress = resync.advance(self.progress, seen, datetime.now(UTC).timestamp(), self.load_rate)
        phase = self.progress.poll.phase
        if not self.phases or self.phases[-1]["name"] != phase:
            now = _now()
            if self.phases:
                self.phases[-1]["ended"] = now
            self.phases.append({"name": phase, "started": now, "ended": None})
        return self.progress.poll

    def is_update_due(self) -> bool:
        """Return whether an update is due."""
        wait_seconds = asyncio.get_running_loop().time() - self._updated_at
        return (
            wait_seconds >= UPDATE_SECONDS
            or (self.progress.percent - self._updated_percent) * wait_seconds >= POINT_SECONDS
        )

    async def write(self, *, ended: str = "") -> None:
        """Write the progress; `ended` is the outcome."""
        now = datetime.now(UTC)
        if ended and self.phases:
            self.phases[-1]["ended"] = _now()
        async with self.store.begin() as session:
            event = await events.by_uid(session, self.event_uid) if self.event_uid else None
            if event is None and self.event_uid:
                return  # the event was deleted by housekeeping
            if event is None:
                event = self._record(session)
            event.details = {**event.details, **self._details(now, ended)}
            if ended:
                event.ended_at = now
            await session.flush()
            self.event_uid = event.uid
        self._updated_at, self._updated_percent = asyncio.get_running_loop().time(), self.progress.percent

    def _record(self, session: Any) -> events.Event:
        replica = self.replica
        event = events.record(
            session,
            "resync",
            f"Shard redis:{replica.uid} on node {replica.node_uid} resynced from redis:{self.primary.uid}.",
            source="shard",
            bdb_uid=replica.bdb_uid,
            node_uid=replica.node_uid,
            shard_uid=replica.uid,
            details={"pair": replica.pair, "primary": self.primary.uid},
        )
        event.time = self.started
        return event

    def _details(self, now: datetime, ended: str) -> dict[str, Any]:
        seconds = max((now - self.started).total_seconds(), 0.001)
        progress, eta = self.progress.poll, None if ended else self.progress.seconds_left
        return {
            "open": not ended,
            "phase": progress.phase,
            "percent": round(self.progress.percent, 1),
            "bytes": progress.transferred,
            "bytes_total": progress.total,
            "rate": round(progress.transferred / seconds),
            "eta_seconds": None if eta is None else round(eta, 1),
            "phases": [dict(phase) for phase in self.phases],
            **({"outcome": ended} if ended else {}),
        }


def _load_rate(details: Mapping[str, Any]) -> float | None:
    total = details.get("bytes_total")
    loads = [phase for phase in details.get("phases", []) if phase["name"] == "load" and phase["ended"]]
    seconds = sum(_moment(phase["ended"]) - _moment(phase["started"]) for phase in loads)
    return total / seconds if total and seconds >= MIN_LOAD_SECONDS else None


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
