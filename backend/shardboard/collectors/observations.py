"""Recording what collectors saw. Only observed columns are written here, never desired state."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import health, slots
from shardboard.domain.incident_words import nodes as seen_by
from shardboard.domain.numerals import plural
from shardboard.domain.observe import Observed
from shardboard.state import actions, bdbs, events, nodes, shards
from shardboard.state.bdbs import Bdb
from shardboard.state.events import record
from shardboard.state.shards import Condition, Shard


async def agent_seen(
    session: AsyncSession, node_uid: int, facts: dict[str, Any], *, restarted: bool | None = None
) -> None:
    """The agent answers; an event if it did not before. `restarted` tells whether it is another process; None: nobody knows."""
    node = await nodes.by_uid(session, node_uid)
    if node is None:
        return
    if node.agent_status != "connected":
        node.agent_status = "connected"
        record(
            session,
            "node_agent_connected",
            f"The agent of node {node_uid} answered again.",
            source="node",
            node_uid=node_uid,
        )
    if node.health == "down":
        node.health = "up"
        await _end_outage(session, node_uid, restarted)
    node.unavailable_since = None
    node.facts = facts
    node.last_seen = datetime.now(UTC)


async def node_down(
    session: AsyncSession, node_uid: int, witnesses: Sequence[int], detected_ms: int | None = None
) -> None:
    """None of the node's shards answers: an open span begins, and the shards are down with it.

    `detected_ms` is how long it took from the last sign of life to now; None when nobody had heard of it before.
    """
    node = await nodes.by_uid(session, node_uid)
    if node is None or node.health == "down":
        return
    node.health = "down"
    node.unavailable_since = datetime.now(UTC) - timedelta(milliseconds=detected_ms or 0)
    lost = await shards.of_node(session, node_uid)
    for shard in lost:
        shard.observed_status = "down"
        shard.detail = f"node {node_uid} is down"
    primaries = sum(shard.current_role == "master" for shard in lost)
    parts = f"{plural(primaries, 'primary', 'primaries')} and {plural(len(lost) - primaries, 'replica')}"
    who = seen_by(witnesses) if witnesses else "the console reached none of its shards"
    record(
        session,
        "node_failed",
        f"Node {node_uid} went down with {parts}: {who}.",
        source="node",
        severity="ERROR",
        node_uid=node_uid,
        details={
            "open": True,
            "witnesses": list(witnesses),
            "primaries": primaries,
            "replicas": len(lost) - primaries,
            "detected_ms": detected_ms,
            "databases": _lost_slots(lost),
        },
    )


def _lost_slots(lost: Sequence[Shard]) -> list[dict[str, Any]]:
    """Whose slots were lost with these shards: later they are others'."""
    found: dict[int, list[str]] = {}
    for shard in lost:
        if shard.current_role == "master":
            found.setdefault(shard.bdb_uid, []).append(shard.slots)
    return [
        {
            "bdb_uid": uid,
            "slots": slots.render(slots.gather(slot for text in held for slot in slots.each(slots.parse(text)))),
        }
        for uid, held in sorted(found.items())
    ]


async def agent_lost(session: AsyncSession, node_uid: int, reason: str, silent_seconds: float = 0) -> None:
    """The agent has not answered for so long. That says nothing about its shards, and the event says so."""
    node = await nodes.by_uid(session, node_uid)
    if node is None or node.agent_status == "lost":
        return
    node.agent_status = "lost"
    if node.health == "down":
        return  # that has been told, and says more
    node.unavailable_since = datetime.now(UTC) - timedelta(seconds=silent_seconds)
    description = (
        f"The agent of node {node_uid} was lost: {reason}. Its shards may well be running; nobody watches them."
    )
    record(session, "node_agent_lost", description, source="node", severity="WARNING", node_uid=node_uid)


async def stalls(session: AsyncSession) -> Counter[int]:
    """How often each node was down of late and went on as if nothing had been."""
    now = datetime.now(UTC)
    since = now - timedelta(seconds=health.WINDOW_SECONDS)
    outages = await events.touching(session, ("node_failed",), since, now, limit=1000)
    return Counter(outage.node_uid or 0 for outage in outages if outage.details.get("restarted") is False)


async def _end_outage(session: AsyncSession, node_uid: int, restarted: bool | None) -> None:
    now = datetime.now(UTC)
    outage = await events.open_span(session, "node_failed", node_uid=node_uid)
    lasted = ""
    if outage is not None:
        outage.ended_at = now
        outage.details = {**outage.details, "open": False, "restarted": restarted}
        lasted = f" after {(now - outage.time).total_seconds():.0f} s"
    record(session, "node_up", f"Node {node_uid} came back{lasted}.", source="node", node_uid=node_uid)


async def shards_changed(session: AsyncSession, changed: Mapping[int, Observed], at: datetime) -> set[int]:
    """Write new conditions of shards, with an event for those a person wants to know of. Returns the uids that were written;
    a shard that a loop has seen since `at` is left as it is."""
    written = set()
    rows = {row.uid: row for row in await shards.some(session, changed)}
    for uid, observed in changed.items():
        shard = rows.get(uid)
        if shard is None or (shard.observed_at is not None and at < shard.observed_at):
            continue
        bdb = await bdbs.by_uid(session, shard.bdb_uid)
        if bdb is not None and bdb.status not in ("pending", "delete-pending", "creation-failed"):
            await _tell(session, bdb, shard, observed)
        shard.observed_status = observed.status
        shard.observed_role = observed.role or shard.observed_role
        shard.observed_link = observed.link
        shard.detail = observed.detail
        shard.observed_at = at
        shard.observed_pid = observed.pid
        shard.observed_version = observed.version or shard.observed_version
        if observed.started_at is not None:
            shard.observed_started_at = datetime.fromtimestamp(observed.started_at, UTC)
        written.add(uid)
    return written


async def _role(session: AsyncSession, shard: Shard, observed: Observed) -> str:
    """ "primary of slots 2731–5460 in place of redis:5", "replica of redis:5" """
    pair = [
        each for each in await shards.of_bdb(session, shard.bdb_uid) if each.pair == shard.pair and each is not shard
    ]
    other = next((each for each in pair if each.current_role == "master"), None)
    if observed.role != "master":
        return f"replica of redis:{other.uid}" if other is not None else "replica"
    held = shard.slots or (other.slots if other is not None else "")
    of = f" of slots {slots.spoken(held)}" if held else ""
    return f"primary{of}" + (f" in place of redis:{other.uid}" if other is not None else "")


async def _is_meant(session: AsyncSession, bdb_uid: int) -> bool:
    """Whether something under way hands leads over, and nothing replaces what was lost."""
    names = {
        action.name
        for action in await actions.unfinished(session)
        if action.object_type == "node" or (action.object_type, action.object_uid) == ("bdb", bdb_uid)
    }
    return actions.FAILOVER not in names and not names.isdisjoint(actions.HAND_OVER)


def recorded(shard: Condition) -> Observed:
    """What the store says of a shard, as a sample would."""
    started = shard.observed_started_at
    return Observed(
        status=shard.observed_status,
        role=shard.observed_role,
        link=shard.observed_link,
        detail=shard.detail,
        pid=shard.observed_pid,
        version=shard.observed_version,
        started_at=round(started.timestamp(), 2) if started is not None else None,
    )


async def _tell(session: AsyncSession, bdb: Bdb, shard: Shard, observed: Observed) -> None:
    where = {"source": "shard", "bdb_uid": bdb.uid, "node_uid": shard.node_uid, "shard_uid": shard.uid}
    name = f"Shard redis:{shard.uid} of {bdb.name} on node {shard.node_uid}"
    if observed.status == "down" and shard.observed_status != "down":
        kind = "primary" if shard.current_role == "master" else "replica"
        told = f"{name} ({kind}) went down: {observed.detail}."
        told += "" if bdb.replication else " It has no replica, so it is not restarted by itself."
        details = {"role": shard.current_role, "slots": shard.slots}
        record(session, "shard_down", told, severity="ERROR", details=details, **where)  # type: ignore[arg-type]
    elif observed.status in ("ok", "loading") and shard.observed_status == "down":
        record(session, "shard_up", f"{name} came up.", **where)  # type: ignore[arg-type]
    if observed.role is not None and shard.observed_role is not None and observed.role != shard.observed_role:
        told = f"{name} became {await _role(session, shard, observed)}."
        severity = "INFO" if await _is_meant(session, bdb.uid) else "WARNING"
        record(session, "shard_role_changed", told, severity=severity, **where)  # type: ignore[arg-type]
    if observed.link == "link_down" and shard.observed_link == "idle":
        record(session, "replica_link_down", f"{name} lost the link to its primary.", severity="WARNING", **where)  # type: ignore[arg-type]
    elif observed.link == "idle" and shard.observed_link in ("link_down", "in_progress"):
        record(session, "replica_in_sync", f"{name} was in sync with its primary.", **where)  # type: ignore[arg-type]
