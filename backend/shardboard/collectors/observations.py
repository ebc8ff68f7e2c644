"""Recording of observations. Only observed columns are written here, never the desired state."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.actions import SWITCHOVER_ACTIONS, ActionName
from shardboard.domain.cluster.node_status import AgentStatus, NodeHealth
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import BEHIND, RESPONDING, Observed, ShardLink, ShardStatus
from shardboard.domain.failures import failure_detection
from shardboard.domain.failures.incident_summary import nodes as seen_by
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.domain.text import plural
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard, StoredCondition


async def record_agent_seen(
    session: AsyncSession, node_uid: int, facts: dict[str, Any], *, restarted: bool | None = None
) -> None:
    """Record that the agent responds, with an event after a loss. `restarted`: whether its process is new (None: unknown)."""
    node = await nodes.by_uid(session, node_uid)
    if node is None:
        return
    if node.agent_status != AgentStatus.CONNECTED:
        node.agent_status = AgentStatus.CONNECTED
        record(
            session,
            "node_agent_connected",
            f"The agent of node {node_uid} reconnected.",
            source="node",
            node_uid=node_uid,
        )
    if node.health == NodeHealth.DOWN:
        node.health = NodeHealth.UP
        await _end_outage(session, node_uid, restarted)
    node.unavailable_since = None
    node.facts = facts
    node.last_seen = datetime.now(UTC)


async def record_node_down(
    session: AsyncSession, node_uid: int, witnesses: Sequence[int], detected_ms: int | None = None
) -> None:
    """Record that none of the node's shards responds: a span is opened, and its shards are marked as down.

    `detected_ms` is the time since the last sign of life; None if the console had never received one.
    """
    node = await nodes.by_uid(session, node_uid)
    if node is None or node.health == NodeHealth.DOWN:
        return
    node.health = NodeHealth.DOWN
    node.unavailable_since = datetime.now(UTC) - timedelta(milliseconds=detected_ms or 0)
    node_shards = await shards.list_for_node(session, node_uid)
    for shard in node_shards:
        shard.observed_status = ShardStatus.DOWN
        shard.detail = f"node {node_uid} is down"
    primaries = sum(shard.current_role == ShardRole.PRIMARY for shard in node_shards)
    parts = f"{plural(primaries, 'primary', 'primaries')} and {plural(len(node_shards) - primaries, 'replica')}"
    witness_text = seen_by(witnesses) if witnesses else "the console reached none of its shards"
    record(
        session,
        "node_failed",
        f"Node {node_uid} went down with {parts}: {witness_text}.",
        source="node",
        severity="ERROR",
        node_uid=node_uid,
        details={
            "open": True,
            "witnesses": list(witnesses),
            "primaries": primaries,
            "replicas": len(node_shards) - primaries,
            "detected_ms": detected_ms,
            "databases": _lost_slots(node_shards),
            **await _zone(session, node),
            "lost_shards": [
                {"uid": shard.uid, "bdb_uid": shard.bdb_uid, "pair": shard.pair, "role": shard.current_role}
                for shard in node_shards
            ],
        },
    )


async def _zone(session: AsyncSession, node: Node) -> dict[str, Any]:
    """Return the zone of the node and the nodes in it, because both can change later; empty for a node without a zone."""
    if not node.rack_id:
        return {}
    return {
        "rack_id": node.rack_id,
        "zone_nodes": [each.uid for each in await nodes.list_all(session) if node.rack_id.lower() in each.zones],
    }


def _lost_slots(lost: Sequence[Shard]) -> list[dict[str, Any]]:
    """Return the slots of these primaries by database, because other shards own them later."""
    slots_by_bdb: dict[int, list[str]] = {}
    for shard in lost:
        if shard.current_role == ShardRole.PRIMARY:
            slots_by_bdb.setdefault(shard.bdb_uid, []).append(shard.slots)
    return [
        {
            "bdb_uid": uid,
            "slots": slots.render(slots.gather(slot for text in texts for slot in slots.each(slots.parse(text)))),
        }
        for uid, texts in sorted(slots_by_bdb.items())
    ]


async def record_agent_lost(session: AsyncSession, node_uid: int, reason: str, silent_seconds: float = 0) -> None:
    """Record that the agent is unreachable. This does not mean that its shards are down, and the event states that."""
    node = await nodes.by_uid(session, node_uid)
    if node is None or node.agent_status == AgentStatus.LOST:
        return
    node.agent_status = AgentStatus.LOST
    if node.health == NodeHealth.DOWN:
        return  # already recorded as an outage of the node
    node.unavailable_since = datetime.now(UTC) - timedelta(seconds=silent_seconds)
    description = (
        f"The agent of node {node_uid} was lost: {reason}. Its shards may still be running, but are not monitored."
    )
    record(session, "node_agent_lost", description, source="node", severity="WARNING", node_uid=node_uid)


async def recent_stalls(session: AsyncSession) -> Counter[int]:
    """Return how often each node was down recently and continued without a restart."""
    now = datetime.now(UTC)
    window_start = now - timedelta(seconds=failure_detection.WINDOW_SECONDS)
    outages = await events.list_overlapping(session, ("node_failed",), window_start, now, limit=1000)
    return Counter(outage.node_uid or 0 for outage in outages if outage.details.get("restarted") is False)


async def _end_outage(session: AsyncSession, node_uid: int, restarted: bool | None) -> None:
    now = datetime.now(UTC)
    outage = await events.open_span(session, "node_failed", node_uid=node_uid)
    duration = ""
    if outage is not None:
        outage.end(now, restarted=restarted)
        duration = f" after {(now - outage.time).total_seconds():.0f} s"
    record(session, "node_up", f"Node {node_uid} returned{duration}.", source="node", node_uid=node_uid)


async def record_shard_changes(session: AsyncSession, changed: Mapping[int, Observed], at: datetime) -> set[int]:
    """Write new conditions of shards, with an event for important changes. Returns the uids that were written.

    A shard that a loop has observed after `at` is left unchanged.
    """
    written_uids = set()
    rows = {row.uid: row for row in await shards.list_by_uids(session, changed)}
    for uid, observed in changed.items():
        shard = rows.get(uid)
        if shard is None or (shard.observed_at is not None and at < shard.observed_at):
            continue
        bdb = await bdbs.by_uid(session, shard.bdb_uid)
        if bdb is not None and bdb.status not in (
            BdbStatus.PENDING,
            BdbStatus.DELETE_PENDING,
            BdbStatus.CREATION_FAILED,
        ):
            await _record_events(session, bdb, shard, observed)
        shard.observed_status = observed.status
        shard.observed_role = observed.role or shard.observed_role
        shard.observed_link = observed.link
        shard.detail = observed.detail
        shard.observed_at = at
        shard.observed_pid = observed.pid
        shard.observed_version = observed.version or shard.observed_version
        if observed.started_at is not None:
            shard.observed_started_at = datetime.fromtimestamp(observed.started_at, UTC)
        written_uids.add(uid)
    return written_uids


async def _role(session: AsyncSession, shard: Shard, observed: Observed) -> str:
    """Describe a role, such as "primary of slots 2731–5460 in place of redis:5" or "replica of redis:5"."""
    pair = await shards.list_of_pair(session, shard.bdb_uid, shard.pair)
    primary = next((each for each in pair if each is not shard and each.current_role == ShardRole.PRIMARY), None)
    if observed.role != ShardRole.PRIMARY:
        return f"replica of redis:{primary.uid}" if primary is not None else "replica"
    slot_text = shard.slots or (primary.slots if primary is not None else "")
    slots_suffix = f" of slots {slots.slot_text(slot_text)}" if slot_text else ""
    return f"primary{slots_suffix}" + (f" in place of redis:{primary.uid}" if primary is not None else "")


async def _is_intended(session: AsyncSession, bdb_uid: int) -> bool:
    """Return whether a running action switches primaries over, and none replaces lost primaries."""
    names = {
        action.current_name
        for action in await actions.list_unfinished(session)
        if action.object_type == "node" or (action.object_type, action.object_uid) == ("bdb", bdb_uid)
    }
    return ActionName.FAILOVER not in names and not names.isdisjoint(SWITCHOVER_ACTIONS)


def stored_observation(shard: StoredCondition) -> Observed:
    """Return the stored condition of a shard in the form of an observation."""
    started_at = shard.observed_started_at
    return Observed(
        status=shard.observed_status,
        role=shard.observed_role,
        link=shard.observed_link,
        detail=shard.detail,
        pid=shard.observed_pid,
        version=shard.observed_version,
        started_at=round(started_at.timestamp(), 2) if started_at is not None else None,
    )


async def _record_events(session: AsyncSession, bdb: Bdb, shard: Shard, observed: Observed) -> None:
    related = {"source": "shard", "bdb_uid": bdb.uid, "node_uid": shard.node_uid, "shard_uid": shard.uid}
    name = f"Shard redis:{shard.uid} of {bdb.name} on node {shard.node_uid}"
    if observed.status == ShardStatus.DOWN and shard.observed_status != ShardStatus.DOWN:
        kind = "primary" if shard.current_role == ShardRole.PRIMARY else "replica"
        message = f"{name} ({kind}) went down: {observed.detail}."
        message += (
            "" if bdb.replication else " The database has no replicas. Without persistence, restart the shard manually."
        )
        details = {"role": shard.current_role, "slots": shard.slots, "pair": shard.pair}
        record(session, "shard_down", message, severity="ERROR", details=details, **related)  # type: ignore[arg-type]
    elif observed.status in RESPONDING and shard.observed_status == ShardStatus.DOWN:
        record(session, "shard_up", f"{name} came up.", **related)  # type: ignore[arg-type]
    if observed.role is not None and shard.observed_role is not None and observed.role != shard.observed_role:
        message = f"{name} became {await _role(session, shard, observed)}."
        severity = "INFO" if await _is_intended(session, bdb.uid) else "WARNING"
        record(session, "shard_role_changed", message, severity=severity, **related)  # type: ignore[arg-type]
    if observed.link == ShardLink.LINK_DOWN and shard.observed_link == ShardLink.IDLE:
        record(session, "replica_link_down", f"{name} lost the link to its primary.", severity="WARNING", **related)  # type: ignore[arg-type]
    elif observed.link == ShardLink.IDLE and shard.observed_link in BEHIND:
        record(session, "replica_in_sync", f"{name} was in sync with its primary.", **related)  # type: ignore[arg-type]
