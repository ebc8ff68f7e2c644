"""Ordering that primaries get back the lead that they lost with their node."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Conflict, NotFound
from shardboard.orders import movement, primaries_return, queue
from shardboard.services.users import Principal
from shardboard.state import events
from shardboard.state.actions import Action


async def order(session: AsyncSession, uid: int, principal: Principal) -> Action:
    """Of one database. 409 `not_now` says what is in the way, `nothing_to_return` that no primary lost its lead."""
    view = await movement.locked_view(session)
    bdb = view.databases.get(uid)
    if bdb is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    await queue.insist_on_idle(session, [bdb])
    if not any(row.leads_again for row in view.of(uid)):
        raise Conflict("nothing_to_return", f"No primary of {bdb.name} lost its lead in an outage.")
    planned = primaries_return.planned(view, uid)
    if not planned:
        reasons = ", ".join(view.hindrances(uid)) or "the primaries would be spread less evenly"
        raise Conflict("not_now", f"Primaries of {bdb.name} cannot return now: {reasons}.")
    action = primaries_return.order(session, view, uid, planned, principal.username)
    events.record_of_action(session, action, "primaries_return_request", f"{action.description}: it was ordered.")
    return action
