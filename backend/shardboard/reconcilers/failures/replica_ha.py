"""Rebuild of replicas on other nodes when their node stays down: databases with `slave_ha`, after the grace period.

The lost replicas are removed when their node returns, like all shards that are no longer desired.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement
from shardboard.actions.move_parameters import ReplicaHaParameters
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.cluster.policy import Policy
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.failures import replica_ha
from shardboard.domain.failures.replica_ha import PastRebuild, RebuildCandidate, ReplicaHaPolicy
from shardboard.domain.placement import drain
from shardboard.domain.placement.layout import Layout
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.reconcilers.retry_policy import should_retry
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.state.databases import bdbs as databases
from shardboard.state.databases import shards


class ReplicaHaLoop(PollingLoop):
    """Schedules the rebuilds, one action per database and lost node."""

    changes = frozenset({"node", "cluster", "bdb"})
    seconds = 2.0

    async def is_due(self, session: AsyncSession) -> bool:
        return any(node.health != NodeHealth.UP for node in await nodes.list_stored(session)) and bool(
            await _due(session)
        )

    async def act(self, session: AsyncSession) -> None:
        view = await movement.locked_view(session)
        layout = view.layout()
        for bdb_uid, node in await _due(session):
            await _schedule(session, view, layout, bdb_uid, node)


async def _schedule(session: AsyncSession, view: ClusterView, board: Layout, bdb_uid: int, node: int) -> None:
    bdb = view.databases[bdb_uid]
    if bdb.status != BdbStatus.ACTIVE or await actions.list_changing_bdb(session, bdb_uid):
        return
    plan = drain.rebuild(board, node, bdb_uid)
    if plan.staying:
        await _record_no_capacity(session, bdb_uid, node, plan.staying, rack_aware=bdb.rack_aware)
    if not plan.moves or not should_retry(
        await actions.list_attempts_for_bdb(session, bdb_uid, ActionName.REPLICA_HA), ActionName.REPLICA_HA, node
    ):
        return
    count = len(plan.moves)
    noun, verb, is_ = ("replica", "was", "is") if count == 1 else ("replicas", "were", "are")
    replicas = f"{count} {noun} of {bdb.name} that {verb} lost with node {node}"
    action = movement.queue_moves(
        session,
        view,
        ActionName.REPLICA_HA,
        plan.moves,
        description=f"Rebuild {replicas}",
        originator="system",
        object_type="bdb",
        object_uid=bdb_uid,
        params=ReplicaHaParameters(node=node, situation=node),
    )
    record(
        session,
        "replica_ha_started",
        f"Node {node} is still down: {replicas} {is_} being rebuilt on other nodes.",
        source="bdb",
        severity="WARNING",
        bdb_uid=bdb_uid,
        node_uid=node,
        action_uid=action.uid,
    )


async def _record_no_capacity(
    session: AsyncSession, bdb_uid: int, node: int, staying: Mapping[int, str], *, rack_aware: bool
) -> None:
    """Record the event once per outage and database. `staying` are the reasons by uid of the replica."""
    outage = await events.open_span(session, "node_failed", node_uid=node)
    previous = await events.newest(session, "replica_ha_no_room", bdb_uid=bdb_uid)
    if outage is None or (previous is not None and previous.time > outage.time and previous.node_uid == node):
        return
    record(
        session,
        "replica_ha_no_room",
        (
            f"Replicas lost with node {node} cannot be rebuilt in a different zone from their primaries: "
            if rack_aware
            else f"No other node has the capacity to rebuild replicas lost with node {node}: "
        )
        + ", ".join(f"redis:{uid}" + (f" ({staying[uid]})" if rack_aware else "") for uid in sorted(staying))
        + ". Their pairs have no replica until the node returns.",
        source="bdb",
        severity="WARNING",
        bdb_uid=bdb_uid,
        node_uid=node,
    )


async def _due(session: AsyncSession) -> list[tuple[int, int]]:
    now = datetime.now(UTC)
    outages = await events.list_open_spans(session, "node_failed")
    down_for = {event.node_uid: (now - event.time).total_seconds() for event in outages if event.node_uid is not None}
    lost: dict[int, set[int]] = {}
    for row in await shards.list_conditions(session):
        if (
            row.node_uid in down_for
            and row.observed_status == ShardStatus.DOWN
            and row.current_role == ShardRole.REPLICA
        ):
            lost.setdefault(row.bdb_uid, set()).add(row.node_uid)
    candidates = [
        RebuildCandidate(bdb.uid, bdb.config.get("slave_ha_priority", 0), frozenset(lost[bdb.uid]))
        for bdb in await databases.list_all(session)
        if bdb.uid in lost and bdb.replication and bdb.config.get("slave_ha", False)
    ]
    past_rebuilds = [
        PastRebuild(
            action.object_uid, ReplicaHaParameters.parse(action).node, (now - action.created_at).total_seconds()
        )
        for action in (await actions.list_for_object(session, "bdb") if candidates else ())
        if action.current_name == ActionName.REPLICA_HA
    ]
    return replica_ha.due(candidates, down_for, past_rebuilds, _rules((await clusters.load(session)).rules))


def _rules(policy: Policy) -> ReplicaHaPolicy:
    return ReplicaHaPolicy(
        enabled=policy.slave_ha,
        grace=policy.slave_ha_grace_period,
        cooldown=policy.slave_ha_cooldown_period,
        bdb_cooldown=policy.slave_ha_bdb_cooldown_period,
    )
