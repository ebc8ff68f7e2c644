"""Execution of drills: sends the request to the agent once, then waits for the end."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.failure_parameters import DrillParameters
from shardboard.domain.cluster.actions import StepStatus
from shardboard.driver.interfaces import Agents, Drill
from shardboard.reconcilers.load_database import node_ref
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.store.db import Store


class DrillStepper:
    """The action has steps once the request was sent. A console that is killed in between sends it again; the agent recognizes the
    request by its id.
    """

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        parameters = DrillParameters.parse(action)
        if action.steps:
            seconds_left = (
                action.created_at + timedelta(seconds=parameters.seconds) - datetime.now(UTC)
            ).total_seconds()
            share = 100 * (1 - max(seconds_left, 0) / parameters.seconds)
            return (
                Outcome(finished=True)
                if seconds_left <= 0
                else Outcome(progress=share, retry_in=min(seconds_left, 1.0))
            )
        async with self._store.read() as session:
            node = await nodes.by_uid(session, action.object_uid)
            engine_ids = [
                row.engine_id
                for row in await shards.list_occupying(session)
                if row.node_uid == action.object_uid and parameters.shard_uid in (None, row.uid)
            ]
            connected_uids = {action.object_uid, *parameters.together_with}
            peers = [other.addr for other in await nodes.list_all(session) if other.uid not in connected_uids]
        if node is None:
            return Outcome(failed="The node no longer exists.")
        drill = Drill(
            id=action.uid,
            kind=parameters.kind,
            seconds=parameters.seconds,
            uid=parameters.shard_uid,
            engine_ids=engine_ids,
            peers=peers,
        )
        if refusal := await self._agents.drill(node_ref(node), drill):
            return Outcome(failed=f"{refusal[0].upper()}{refusal[1:]}.")
        return Outcome(steps=[{"name": action.description, "status": StepStatus.RUNNING}])

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        _record_event(session, action, f"{_name(action)} ended.", "INFO")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        _record_event(session, action, f"{_name(action)} failed: {reason}", "ERROR")


def _name(action: Action) -> str:
    """Return a name such as 'Drill "Reboot node 2 for 10 s"'."""
    return f'Drill "{action.description.removeprefix("Drill: ")}"'


def _record_event(session: AsyncSession, action: Action, description: str, severity: str) -> None:
    parameters = DrillParameters.parse(action)
    record(
        session,
        "drill_ended",
        description,
        source="node",
        severity=severity,
        originator=action.originator,
        node_uid=action.object_uid,
        shard_uid=parameters.shard_uid,
        action_uid=action.uid,
        details={"kind": parameters.kind},
    )
