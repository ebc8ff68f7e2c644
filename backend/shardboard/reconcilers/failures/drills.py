"""Execution of drills: sends the request to the agent once, then waits for the end, or ends it early."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.failure_parameters import DrillParameters
from shardboard.domain.cluster.actions import ActionStatus, StepStatus
from shardboard.driver.interfaces import Agents, Drill
from shardboard.errors import AgentError
from shardboard.reconcilers.load_database import node_ref
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards
from shardboard.store.db import Store

POLL_SECONDS = 1.0


class DrillStepper:
    """The action has steps once the request was sent. A console that is killed in between sends it again; the agent recognizes the
    request by its id.
    """

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action) -> Outcome:
        parameters = DrillParameters.parse(action)
        seconds_left = _seconds_left(action, parameters)
        if action.cancelled_by:
            return await self._end(action, parameters, seconds_left)
        if not action.steps:
            return await self._start(action, parameters)
        if seconds_left <= 0:
            return Outcome(finished=True)
        return Outcome(
            progress=100 * (1 - seconds_left / parameters.seconds),
            retry_in=min(seconds_left, POLL_SECONDS),
            parameters=replace(parameters, eta_seconds=round(seconds_left, 1)),
        )

    async def _start(self, action: Action, parameters: DrillParameters) -> Outcome:
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
            end_token=parameters.end_token,
        )
        if refusal := await self._agents.drill(node_ref(node), drill):
            return Outcome(failed=f"{refusal[0].upper()}{refusal[1:]}.")
        return Outcome(
            steps=[{"name": action.description, "status": StepStatus.RUNNING}],
            parameters=replace(parameters, started_at=datetime.now(UTC), eta_seconds=parameters.seconds),
        )

    async def _end(self, action: Action, parameters: DrillParameters, seconds_left: float) -> Outcome:
        """End the drill early. If the agent does not confirm that, the drill ends after its duration."""
        async with self._store.read() as session:
            node = await nodes.by_uid(session, action.object_uid)
        if node is None or seconds_left <= 0:
            return Outcome(cancelled=True)
        try:
            await self._agents.end_drill(node_ref(node), action.uid, parameters.end_token)
        except AgentError as error:
            detail = f"The drill is being ended. Last attempt: {error.reason}"
            step = {"name": action.description, "status": StepStatus.RUNNING, "detail": detail}
            return Outcome(
                steps=[step],
                retry_in=min(seconds_left, POLL_SECONDS),
                parameters=replace(parameters, eta_seconds=round(seconds_left, 1)),
            )
        return Outcome(cancelled=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        _record_event(session, action, f"{_name(action)} ended.", "INFO")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        if action.status == ActionStatus.CANCELLED:
            _record_event(session, action, f"{_name(action)} was ended early by {action.cancelled_by}.", "INFO")
        else:
            _record_event(session, action, f"{_name(action)} failed: {reason}", "ERROR")


def _seconds_left(action: Action, parameters: DrillParameters) -> float:
    started_at = parameters.started_at or action.created_at
    return (started_at + timedelta(seconds=parameters.seconds) - datetime.now(UTC)).total_seconds()


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
