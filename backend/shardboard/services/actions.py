"""Asking a long operation to end before it is done."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Conflict, Forbidden
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.actions import OPEN, Action


async def cancel(session: AsyncSession, action: Action, principal: Principal) -> Action:
    """Ask the action to end: what it has begun is undone or brought to its end. Asking twice is fine."""
    if action.object_type == "node" and principal.role != "admin" and not action.name.startswith("SMMigrate"):
        raise Forbidden("unauthorized_action", "Only administrators may end actions on nodes.")
    if action.status not in OPEN:
        raise Conflict("not_running", f"{action.description}: it has ended already, as {action.status}.")
    if action.cancelled_by:
        return action
    if not action.cancellable:
        raise Conflict("not_cancellable", f"{action.description}: this cannot be ended early.")
    action.cancelled_by = principal.username
    events.record(
        session,
        "action_cancel_request",
        f"The end of an action was ordered: {action.description}.",
        source="node" if action.object_type == "node" else "bdb",
        originator=principal.username,
        bdb_uid=action.object_uid if action.object_type == "bdb" else None,
        node_uid=action.object_uid if action.object_type == "node" else None,
        action_uid=action.uid,
    )
    return action
