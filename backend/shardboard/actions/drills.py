"""Queueing of failure drills, and their effect on other operations."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import DrillParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action


def queue_drill(
    session: AsyncSession,
    node_uid: int,
    *,
    kind: str,
    seconds: float,
    shard_uid: int | None,
    what: str,
    originator: str,
    together_with: tuple[int, ...] = (),
) -> Action:
    """Queue a drill and record its event; `what` is its description. `together_with` are the other nodes of a drill of a zone."""
    action = queue.enqueue(
        session,
        ActionName.DRILL,
        object_type="node",
        object_uid=node_uid,
        description=f"Drill: {what}",
        originator=originator,
        deadline=timedelta(seconds=seconds + 60),
        params=DrillParameters(
            kind=kind,
            seconds=seconds,
            shard_uid=shard_uid,
            together_with=together_with,
            end_token=secrets.token_hex(16),
            cancellable=True,
        ),
    )
    events.record(
        session,
        "drill_started",
        f"A drill was requested: {what[0].lower()}{what[1:]}.",
        source="node",
        severity="WARNING",
        originator=originator,
        node_uid=node_uid,
        shard_uid=shard_uid,
        action_uid=action.uid,
        details={"kind": kind, "seconds": seconds},
    )
    return action


async def running_drills(session: AsyncSession) -> Sequence[Action]:
    """Return the drills that have not ended."""
    return await actions.list_unfinished(session, ActionName.DRILL)


async def list_of_same_zone(session: AsyncSession, action: Action) -> list[Action]:
    """Return the drills on the other nodes of the same zone drill that have not ended; none for other actions."""
    if action.current_name != ActionName.DRILL or not (affected_uids := _zone_nodes(action)):
        return []
    running = await running_drills(session)
    return [each for each in running if each.uid != action.uid and _zone_nodes(each) == affected_uids]


def _zone_nodes(action: Action) -> frozenset[int]:
    """Return all nodes of a zone drill; none for a drill of one node."""
    others = DrillParameters.parse(action).together_with
    return frozenset({action.object_uid, *others} if others else ())


async def silenced_nodes(session: AsyncSession) -> frozenset[int]:
    """Return the nodes whose agents do not respond, or respond late, because of a drill."""
    return silenced_by(await running_drills(session))


def silenced_by(drills: Iterable[Action]) -> frozenset[int]:
    """Return the nodes whose agents do not respond, or respond late, because of these drills."""
    return frozenset(each.object_uid for each in drills if DrillParameters.parse(each).shard_uid is None)
