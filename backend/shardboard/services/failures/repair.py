"""Repairing a database whose stored shards differ from those that agents report."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.failure_parameters import RepairParameters
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.store_mismatch import describe_repair, plan_repair
from shardboard.errors import BadRequest, Conflict, NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import shards

DEADLINE = timedelta(minutes=10)


@dataclass(frozen=True)
class ScheduledRepair:
    """A repair, and its action unless it was a dry run."""

    action: Action | None
    changes: list[str]
    """One sentence per change."""
    loses_data: bool


async def schedule(
    session: AsyncSession, uid: int, principal: Principal, *, confirm: str, dry_run: bool
) -> ScheduledRepair:
    """Schedule the repair. If shards would be started without data, it needs `database <uid>` as confirmation."""
    bdb = await queue.load_idle_bdb(session, uid)
    rows = await shards.list_for_bdb(session, uid)
    repair = plan_repair(rows, bdb.mismatch, bdb.copies)
    if bdb.mismatch.unresolved:
        node, shard = bdb.mismatch.unresolved[0]
        message = (
            f"Shard redis:{shard} on node {node} may belong to {bdb.name} and does not respond or has a uid that the store uses. "
            f"If its data is no longer needed, stop the agent, delete shards/{shard} in its state directory, and start it."
        )
        raise Conflict("shard_unresolved", message)
    if not repair.is_needed:
        raise NotAcceptable("repair_not_needed", f"The store and the agents agree on database {bdb.name}.")
    silent = [node.uid for node in await nodes.list_all(session) if not node.is_available]
    if repair.empty and silent:
        message = (
            f"The agent of node {silent[0]} does not respond, and its node can have copies of the missing shards. "
            "Start the agent, or remove the node."
        )
        raise NotAcceptable("node_not_connected", message)
    changes = describe_repair(rows, repair)
    if dry_run:
        return ScheduledRepair(None, changes, bool(repair.empty))
    if repair.empty and confirm != f"database {uid}":
        raise BadRequest("bad_request", f'{changes[-1]} To confirm, send "database {uid}".', field="confirm")
    action = queue.enqueue(
        session,
        ActionName.REPAIR_BDB,
        object_uid=uid,
        description=f"Repair {bdb.name}",
        originator=principal.username,
        deadline=DEADLINE,
        params=RepairParameters(empty=repair.empty),
    )
    return ScheduledRepair(action, changes, bool(repair.empty))
