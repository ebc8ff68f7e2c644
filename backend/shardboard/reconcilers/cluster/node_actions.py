"""Actions on complete nodes: moves, and what is written about the node at their end."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.move_parameters import NodeParameters
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.text import plural
from shardboard.driver.interfaces import Agents
from shardboard.pki.shard_certificates import replace_cas
from shardboard.reconcilers.loop import Outcome, Stepper
from shardboard.reconcilers.placement.moves import MoveShards
from shardboard.reconcilers.placement.shard_removal import forget_removed
from shardboard.state.alerting import events
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import agent_certificates, nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.placement import placement_snapshots
from shardboard.store.db import Store


def steppers(store: Store, agents: Agents) -> dict[str, Stepper]:
    """Return the steppers by the action names that `services/cluster/node_actions.py` queues."""
    return {
        ActionName.NODE_MAINTENANCE_ON: MaintenanceOn(store, agents),
        ActionName.NODE_MAINTENANCE_OFF: MaintenanceOff(store, agents),
        ActionName.NODE_SWITCH_OVER: MoveShards(store, agents),
        ActionName.NODE_REMOVE: RemoveNode(store, agents),
    }


class MaintenanceOn(MoveShards):
    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """When cancelled, the node returns to service. Otherwise it stays in maintenance, with the shards that could not leave."""
        await super().fail(session, action, reason)
        if action.status != ActionStatus.CANCELLED:
            return
        await _restore_duty(session, action)
        for each in await placement_snapshots.list_for_node(session, action.object_uid):
            if each.name == NodeParameters.parse(action).snapshot:
                await session.delete(each)


class MaintenanceOff(MoveShards):
    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await super().finish(session, action, outcome)
        for each in await placement_snapshots.list_for_node(session, action.object_uid):
            if each.kind == "maintenance":
                await session.delete(each)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """The node stays in maintenance, so that its end can be requested again."""
        await super().fail(session, action, reason)
        await _restore_duty(session, action)


class RemoveNode(MoveShards):
    async def step(self, action: Action) -> Outcome:
        outcome = await super().step(action)
        if not outcome.finished:
            return outcome
        async with self._store.read() as session:
            remaining = [row for row in await shards.list_occupying(session) if row.node_uid == action.object_uid]
        if any(row.desired == DesiredState.RUNNING for row in remaining):
            return Outcome(failed="Shards were placed on the node during its removal.")
        # Unreachable shards are not awaited: their agent will not be used again.
        if await forget_removed(self._store, self._agents, remaining):
            return Outcome(unreachable="CLUSTER FORGET failed on some shards", retry_in=0.5)
        return outcome

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await super().finish(session, action, outcome)
        uid = action.object_uid
        node = await nodes.by_uid(session, uid)
        for row in await shards.list_absent(session):
            if row.node_uid == uid:
                await shards.delete(session, row)
        for each in await placement_snapshots.list_for_node(session, uid):
            await session.delete(each)
        for type_ in ("node_failed", events.UNKNOWN_SHARDS, events.RECOVERY_COPIES):
            span = await events.open_span(session, type_, node_uid=uid)
            if span is not None:
                span.end()
        if node is not None:
            await agent_certificates.revoke(session, uid)
            count = replace_cas(await bdbs.list_all(session), node.addr)
            message = f"Node {uid} ({node.addr}) was removed from the cluster."
            if count:
                message += f" The {plural(count, 'encrypted database')} will no longer trust its certificates."
            record_for_action(session, action, "node_removed", message)
            await session.delete(node)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """The node stays a member of the cluster; completed moves are kept."""
        await super().fail(session, action, reason)
        await _restore_duty(session, action)


async def _restore_duty(session: AsyncSession, action: Action) -> None:
    node = await nodes.by_uid(session, action.object_uid)
    if node is not None:
        node.duty = NodeParameters.parse(action).duty_before
