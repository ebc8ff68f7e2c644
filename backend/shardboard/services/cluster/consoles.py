"""Requests about consoles: planned change of the leader, and removal of lost consoles from the list."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.errors import Conflict, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles
from shardboard.state.cluster.consoles import ConsoleRow


async def request_lead(session: AsyncSession, uid: str, principal: Principal) -> ConsoleRow:
    """Ask the leading console to end its loops and to release the lease for this console."""
    row = await _load(session, uid)
    if row.status != ConsoleStatus.RUNNING:
        raise Conflict("console_not_running", f"Console {row.host} is {row.status}. Choose a running console.")
    lease = await consoles.leadership(session)
    if lease is None or lease.released:
        raise Conflict("no_leader", "No console is the leader at the moment. Try again in a few seconds.")
    if lease.console_id != uid:
        lease.successor = uid
        details = {"console": uid, "host": row.host}
        message = f"{principal.username} requested that console {row.host} becomes the leader."
        events.record(session, "leader_change_requested", message, originator=principal.username, details=details)
    return row


async def remove(session: AsyncSession, uid: str) -> None:
    """Remove a console that is not running from the list, and end its alarm."""
    row = await _load(session, uid)
    if row.status == ConsoleStatus.RUNNING:
        raise Conflict("console_running", f"Console {row.host} is running. Stop it first.")
    await events.end_console_alarm(session, uid)
    await session.delete(row)


async def _load(session: AsyncSession, uid: str) -> ConsoleRow:
    row = await consoles.by_uid(session, uid)
    if row is None:
        raise NotFound("console_not_found", f"Console {uid} does not exist.")
    return row
