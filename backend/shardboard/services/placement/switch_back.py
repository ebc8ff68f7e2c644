"""Scheduling that primaries regain the primary role that they lost with their node."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, queue, switch_back
from shardboard.errors import Conflict, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action


async def schedule(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Schedule it for one database. Raises Conflict: `not_now` with reasons, or `nothing_to_return` if no primary lost its role."""
    view = await movement.locked_view(session)
    bdb = view.databases.get(uid)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    await queue.require_idle(session, [bdb])
    if not any(row.should_regain_primary for row in view.shards_of_bdb(uid)):
        raise Conflict("nothing_to_return", f"No primary of {bdb.name} lost its role in an outage.")
    moves = switch_back.plan_moves(view, uid)
    if not moves:
        reasons = ", ".join(view.obstacles(uid)) or "the primaries would be distributed less evenly"
        raise Conflict("not_now", f"Primaries of {bdb.name} cannot be switched back now: {reasons}.")
    action = switch_back.queue_switchovers(session, view, uid, moves, principal.username)
    events.record_for_action(session, action, "primaries_return_request", f"Requested: {action.description}.")
    return action
