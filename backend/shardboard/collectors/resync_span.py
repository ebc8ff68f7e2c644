"""One resync as an event: a span with phases, percent, bytes and the time left, told once a second."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shardboard.db import Store
from shardboard.domain import resync
from shardboard.domain.resync import Progress
from shardboard.state import events
from shardboard.state.shards import Shard

WORTH_LEARNING = 1.0
"""Seconds of transfer: of a shorter one nothing is learned."""


@dataclass
class Span:
    """Begun when the first of it is told, and ended once. A console that restarts goes on with the one it finds open."""

    store: Store
    replica: Shard
    primary: Shard
    event_uid: int = 0
    """0 until the first of it is told."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    progress: Progress | None = None
    phases: list[dict[str, Any]] = field(default_factory=list)
    told_at: float = 0.0
    load_at: float = resync.START["load"]
    """The percent at which the load begins, by what the database's last resync took."""
    _first_lag: int | None = None

    async def resume(self) -> None:
        """Take up the span that an earlier run of this console left open, and what was learned from the last one."""
        async with self.store.read() as session:
            event = await events.open_span(session, "resync", shard_uid=self.replica.uid)
            earlier = await events.newest_ended(session, "resync", bdb_uid=self.replica.bdb_uid)
        if earlier is not None:
            self.load_at = _learned(earlier.details.get("phases", []))
        if event is not None:
            details = event.details
            self.event_uid, self.started = event.uid, event.time
            self.phases = [dict(phase) for phase in details.get("phases", [])]
            if self.phases:
                total = details.get("bytes_total")
                self.progress = Progress(details["phase"], details["percent"], details["bytes"], total=total)

    def advance(self, seen: Progress) -> Progress:
        """Take in one more look."""
        self.progress = resync.follow(self.progress, seen, self.load_at)
        if not self.phases or self.phases[-1]["name"] != self.progress.phase:
            now = _now()
            if self.phases:
                self.phases[-1]["ended"] = now
            self.phases.append({"name": self.progress.phase, "started": now, "ended": None})
            self._first_lag = self.progress.lag
        return self.progress

    async def tell(self, *, ended: str = "") -> None:
        """Write how far it is; `ended` is the outcome."""
        now = datetime.now(UTC)
        progress = self.progress or Progress("waiting", 0.0, 0)
        if ended and self.phases:
            self.phases[-1]["ended"] = _now()
        async with self.store.begin() as session:
            event = await events.by_uid(session, self.event_uid) if self.event_uid else None
            if event is None and self.event_uid:
                return  # forgotten meanwhile
            if event is None:
                event = self._record(session)
            event.details = {**event.details, **self._shown(progress, now, ended)}
            if ended:
                event.ended_at = now
            await session.flush()
            self.event_uid = event.uid
        self.told_at = asyncio.get_running_loop().time()

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

    def _shown(self, progress: Progress, now: datetime, ended: str) -> dict[str, Any]:
        seconds = max((now - self.started).total_seconds(), 0.001)
        begun = datetime.fromisoformat(self.phases[-1]["started"]) if self.phases else now
        waited = (now - begun).total_seconds()
        eta = None if ended else resync.remaining(progress, waited, self._first_lag, self.load_at)
        return {
            "open": not ended,
            "phase": progress.phase,
            "percent": round(progress.percent, 1),
            "bytes": progress.transferred,
            "bytes_total": progress.total,
            "rate": round(progress.transferred / seconds),
            "eta_seconds": None if eta is None else round(eta, 1),
            "phases": [dict(phase) for phase in self.phases],
            **({"outcome": ended} if ended else {}),
        }


def _learned(phases: Sequence[Mapping[str, Any]]) -> float:
    took = {
        phase["name"]: (
            datetime.fromisoformat(phase["ended"]) - datetime.fromisoformat(phase["started"])
        ).total_seconds()
        for phase in phases
        if phase["ended"]
    }
    if took.get("transfer", 0.0) < WORTH_LEARNING or "load" not in took:
        return resync.START["load"]
    return resync.load_start(took["transfer"], took["load"])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
