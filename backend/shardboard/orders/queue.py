"""The queue of long operations. Adding one is all that who orders it does towards it; loops carry it out."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Conflict, NotFound
from shardboard.state import actions
from shardboard.state import cluster as clusters
from shardboard.state.actions import Action
from shardboard.state.bdbs import Bdb


def start(
    session: AsyncSession,
    name: str,
    *,
    object_uid: int,
    description: str,
    originator: str,
    deadline: timedelta,
    object_type: str = "bdb",
    params: dict[str, Any] | None = None,
) -> Action:
    """Queue an action; `name` is its state machine (SMCreateBDB, …). After `deadline` the loop gives up and cleans up.

    For a database the cluster row must be locked before anything is looked at that the order depends on: else two orders at
    once find it idle.
    """
    if object_type == "bdb" and not session.info.get("locked"):
        raise RuntimeError(f"{name} was ordered without the lock of the cluster row")
    now = datetime.now(UTC)
    action = Action(
        uid=str(uuid.uuid4()),
        name=name,
        object_type=object_type,
        object_uid=object_uid,
        status="queued",
        description=description,
        originator=originator,
        params=params or {},
        steps=[],
        created_at=now,
        deadline_at=now + deadline,
    )
    session.add(action)
    return action


async def insist_on_idle(session: AsyncSession, databases: Sequence[Bdb], code: str = "db_busy") -> None:
    """Refuse while anything else is under way on one of them; the reference has a code of its own for databases."""
    for bdb in databases:
        if bdb.status != "active":
            raise Conflict(code, f"Database {bdb.name} is {bdb.status}; try again when it is active.")
        if await actions.open_of_bdb(session, bdb.uid):
            raise Conflict(code, f"Another action is running on {bdb.name}; try again when it is done.")


async def idle_bdb(session: AsyncSession, uid: int) -> Bdb:
    """A database that may be changed, with the locks that an order needs. Raises NotFound, or Conflict `busy`."""
    await clusters.load_for_update(session)
    bdb = await session.get(Bdb, uid, with_for_update=True)
    if bdb is None:
        raise NotFound("db_not_found", f"There is no database {uid}.")
    await insist_on_idle(session, [bdb], "busy")
    return bdb
