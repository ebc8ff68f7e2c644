"""Stopping and resuming a database's traffic: its endpoints close, while shards and data remain as they are."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster.actions import Action

DEADLINE = timedelta(seconds=60)


async def schedule(session: AsyncSession, uid: int, principal: Principal, *, stop: bool) -> Action | None:
    """Set whether the traffic is stopped; this holds even if the action fails. Returns None if nothing changes."""
    bdb = await queue.load_idle_bdb(session, uid)
    if bdb.traffic_stopped == stop:
        return None
    bdb.config = {**bdb.config, "traffic_manually_disabled": stop}
    bdb.changed_at = datetime.now(UTC)
    action = queue.enqueue(
        session,
        ActionName.STOP_TRAFFIC if stop else ActionName.RESUME_TRAFFIC,
        object_uid=uid,
        description=f"{'Stop' if stop else 'Resume'} the traffic of database {bdb.name}",
        originator=principal.username,
        deadline=DEADLINE,
    )
    bdb.status, bdb.action_uid = BdbStatus.CHANGE_PENDING, action.uid
    events.record_for_action(
        session,
        action,
        "bdb_stop_traffic_request" if stop else "bdb_resume_traffic_request",
        f"{'Stopping' if stop else 'Resuming'} the traffic of database {bdb.name} was requested.",
        details={"bdb_name": bdb.name},
    )
    await session.flush()
    return action
