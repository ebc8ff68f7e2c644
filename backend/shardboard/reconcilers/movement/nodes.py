"""Actions on whole nodes: moves, and what is to be written of the node when they have ended."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.domain.numerals import plural
from shardboard.driver.ports import Agents
from shardboard.reconcilers.loop import Outcome, Stepper
from shardboard.reconcilers.movement.moves import Relocate
from shardboard.reconcilers.removal import remembered
from shardboard.shard_certificates import replace_authorities
from shardboard.state import bdbs, events, issued_certificates, nodes, shards, snapshots
from shardboard.state.actions import Action
from shardboard.state.events import record_of_action


def steppers(store: Store, agents: Agents) -> dict[str, Stepper]:
    """By the names that `services/nodes.py` queues."""
    return {
        "SMNodeMaintenanceOn": MaintenanceOn(store, agents),
        "SMNodeMaintenanceOff": MaintenanceOff(store, agents),
        "SMNodeEnslave": Relocate(store, agents),
        "SMNodeRemove": Remove(store, agents),
    }


class MaintenanceOn(Relocate):
    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """Cancelled, the node is in service as before. Otherwise it stays in maintenance, with what could not leave it."""
        await super().fail(session, action, reason)
        if action.status != "cancelled":
            return
        await _back_on_duty(session, action)
        for each in await snapshots.of_node(session, action.object_uid):
            if each.name == action.params["snapshot"]:
                await session.delete(each)


class MaintenanceOff(Relocate):
    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await super().finish(session, action, outcome)
        for each in await snapshots.of_node(session, action.object_uid):
            if each.kind == "maintenance":
                await session.delete(each)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """It is in maintenance as before, so that its end can be ordered again."""
        await super().fail(session, action, reason)
        await _back_on_duty(session, action)


class Remove(Relocate):
    async def step(self, action: Action) -> Outcome:
        outcome = await super().step(action)
        if not outcome.finished:
            return outcome
        async with self._store.read() as session:
            left = [row for row in await shards.occupying(session) if row.node_uid == action.object_uid]
        if any(row.desired == "running" for row in left):
            return Outcome(failed="Shards were placed on the node meanwhile.")
        # What is out of reach is not waited for: its agent will not be asked again.
        if await remembered(self._store, self._agents, left):
            return Outcome(unreachable="not all shards could be told to forget those of the node", again_in=0.5)
        return outcome

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await super().finish(session, action, outcome)
        uid = action.object_uid
        node = await nodes.by_uid(session, uid)
        for row in await shards.absent(session):
            if row.node_uid == uid:
                await shards.delete(session, row)
        for each in await snapshots.of_node(session, uid):
            await session.delete(each)
        for type_ in ("node_failed", events.UNKNOWN_SHARDS):
            span = await events.open_span(session, type_, node_uid=uid)
            if span is not None:
                span.ended_at = datetime.now(UTC)
                span.details = {**span.details, "open": False}
        if node is not None:
            await issued_certificates.refuse(session, uid)
            count = replace_authorities(await bdbs.every(session), node.addr)
            told = f"Node {uid} ({node.addr}) was removed from the cluster."
            if count:
                told += f" The {plural(count, 'encrypted database')} will trust no certificate that it has had."
            record_of_action(session, action, "node_removed", told)
            await session.delete(node)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """It is a node like before; what had moved stays where it is."""
        await super().fail(session, action, reason)
        await _back_on_duty(session, action)


async def _back_on_duty(session: AsyncSession, action: Action) -> None:
    node = await nodes.by_uid(session, action.object_uid)
    if node is not None:
        node.duty = action.params["duty_before"]
