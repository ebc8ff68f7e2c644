"""The queue of long operations. Requests only add actions to it; background loops carry them out."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.parameters import Parameters
from shardboard.domain.cluster.actions import ActionName, ActionStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.errors import Conflict, NotFound
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.databases.bdbs import Bdb


def enqueue(
    session: AsyncSession,
    name: ActionName,
    *,
    object_uid: int,
    description: str,
    originator: str,
    deadline: timedelta,
    object_type: str = "bdb",
    params: Parameters | None = None,
) -> Action:
    """Queue an action; `name` is its state machine (SMCreateBDB, …). After `deadline`, the loop aborts and cleans up.

    For a database, the caller must lock the cluster row before it reads anything that the decision depends on. Otherwise two
    concurrent requests could both find the database idle.
    """
    if object_type == "bdb" and not session.info.get("locked"):
        raise RuntimeError(f"{name} was queued without a lock on the cluster row")
    now = datetime.now(UTC)
    action = Action(
        uid=str(uuid.uuid4()),
        name=name,
        object_type=object_type,
        object_uid=object_uid,
        status=ActionStatus.QUEUED,
        description=description,
        originator=originator,
        params=params.stored() if params is not None else {},
        steps=[],
        created_at=now,
        deadline_at=now + deadline,
    )
    session.add(action)
    return action


async def require_idle(session: AsyncSession, databases: Sequence[Bdb], code: str = "db_busy") -> None:
    """Raise Conflict while another operation is in progress on a database. The REST reference has its own `code` for databases."""
    for bdb in databases:
        if bdb.status != BdbStatus.ACTIVE:
            raise Conflict(code, f"Database {bdb.name} is {bdb.status}; try again when it is active.")
        if await actions.list_open_for_bdb(session, bdb.uid):
            raise Conflict(code, f"Another action is running on {bdb.name}; try again when it has finished.")


async def load_idle_bdb(session: AsyncSession, uid: int) -> Bdb:
    """Return a database that may be changed, with the locks that a request needs. Raises NotFound, or Conflict `busy`."""
    await clusters.load_for_update(session)
    bdb = await session.get(Bdb, uid, with_for_update=True)
    if bdb is None:
        raise NotFound("db_not_found", f"Database {uid} does not exist.")
    await require_idle(session, [bdb], "busy")
    return bdb
