"""Listing the actions that a user may see, and cancelling running actions."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import drills
from shardboard.domain.access.roles import ManagementRole
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.errors import Conflict, Forbidden
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.data import backups, restores


async def list_visible(session: AsyncSession, principal: Principal) -> Sequence[Action]:
    """Open actions and the newest finished ones that this user may see, newest first."""
    if principal.bdbs is None:
        return await actions.list_recent(session)
    runs = await benchmark_runs.page(session, bdb_uids=principal.bdbs, limit=actions.MAX_LISTED)
    uids_by_kind = {"bdb": principal.bdbs, "benchmark": {run.uid for run in runs}}
    visible = [each for kind, uids in uids_by_kind.items() for each in await actions.list_recent(session, kind, uids)]
    others = [
        each
        for kind in ("node", "backup", "restore")
        for each in await actions.list_recent(session, kind)
        if await is_visible_to(session, each, principal)
    ]
    return sorted([*visible, *others], key=lambda action: action.created_at, reverse=True)[: actions.MAX_LISTED]


async def is_visible_to(session: AsyncSession, action: Action, principal: Principal) -> bool:
    """Return whether the user may see the action. With limited access, all databases of the action must be accessible."""
    return principal.bdbs is None or principal.can_access_databases(await affected_databases(session, action))


async def affected_databases(session: AsyncSession, action: Action) -> frozenset[int]:
    """Return the uids of the databases that the action concerns."""
    if action.object_type == "benchmark":
        run = await benchmark_runs.by_uid(session, action.object_uid)
        return frozenset({run.bdb_uid} if run is not None else ())
    if action.object_type == "backup":
        backup = await backups.by_uid(session, action.object_uid)
        return frozenset({backup.bdb_uid} if backup is not None else ())
    if action.object_type == "restore":
        restore = await restores.by_uid(session, action.object_uid)
        return frozenset({restore.bdb_uid} if restore is not None else ())
    if action.object_type == "bdb":
        return frozenset({action.object_uid})
    return frozenset(move.bdb for move in action.moves)


async def cancel(session: AsyncSession, action: Action, principal: Principal) -> Action:
    """Request that the action ends early. It undoes or completes what it has started. Repeated requests have no effect. A drill of
    a zone ends on all its nodes."""
    if (
        action.object_type == "node"
        and principal.role != ManagementRole.ADMIN
        and action.name != ActionName.MIGRATE_SHARDS
    ):
        raise Forbidden("unauthorized_action", "Only administrators may cancel actions on nodes.")
    if action.status not in OPEN_STATUSES:
        raise Conflict(
            "not_running", f"{action.description}: the action has already ended with status {action.status}."
        )
    if not action.cancellable and not action.cancelled_by:
        raise Conflict("not_cancellable", f"{action.description}: this action cannot be canceled.")
    for each in (action, *await drills.list_of_same_zone(session, action)):
        if each.cancellable:
            _cancel(session, each, principal)
    return action


def _cancel(session: AsyncSession, action: Action, principal: Principal) -> None:
    action.cancelled_by = principal.username
    events.record(
        session,
        "action_cancel_request",
        f"Cancellation of an action was requested: {action.description}.",
        source={"node": "node", "scenario_run": "cluster"}.get(action.object_type, "bdb"),
        originator=principal.username,
        bdb_uid=action.object_uid if action.object_type == "bdb" else None,
        node_uid=action.object_uid if action.object_type == "node" else None,
        action_uid=action.uid,
    )
