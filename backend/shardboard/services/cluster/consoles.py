"""Requests about consoles: planned change of the leader, and removal of lost consoles from the list."""

from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.consoles import ConsoleStatus
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import consoles, nodes
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


async def request_lead_of_node(session: AsyncSession, node_uid: int, principal: Principal) -> ConsoleRow:
    """Ask the leading console to release the lease for the console on the machine of a node. Raises NotFound or NotAcceptable."""
    node = await nodes.by_uid(session, node_uid)
    if node is None:
        raise NotFound("node_not_found", f"Node {node_uid} does not exist.")
    for row in await consoles.list_all(session):
        if node.facts.get("hostname") == row.host or node.addr == urlsplit(row.address).hostname:
            return await request_lead(session, row.uid, principal)
    message = f"No console runs on the machine of node {node_uid}. `/v1/consoles` lists the consoles."
    raise NotAcceptable("console_not_found", message, field="node_uid")


async def is_leader_changing(session: AsyncSession) -> bool:
    """Return whether the leading console was asked to release the lease, and has not yet done so."""
    lease = await consoles.leadership(session)
    return lease is not None and lease.successor not in (None, lease.console_id)


async def cancel_lead(session: AsyncSession, principal: Principal) -> bool:
    """Withdraw the request for another leader. Returns False if there is none."""
    lease = await consoles.leadership(session)
    if lease is None or lease.released or not await is_leader_changing(session):
        return False
    lease.successor = None
    message = f"{principal.username} withdrew the request for another leading console."
    events.record(session, "leader_change_withdrawn", message, originator=principal.username)
    return True


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
