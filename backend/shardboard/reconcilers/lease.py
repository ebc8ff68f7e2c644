"""What steps of an action write between its beginning and its end: only while the action is still theirs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.state import actions, bdbs, cluster
from shardboard.state.actions import Action


@asynccontextmanager
async def ours(store: Store, action: Action) -> AsyncIterator[AsyncSession | None]:
    """A transaction; None when another console has taken the action over, or it has ended."""
    async with store.begin() as session:
        await cluster.load_for_update(session)  # ports are allocated under this lock
        own = await actions.by_uid(session, action.uid)
        yield session if own is not None and own.is_leased_as(action.lease_token) else None


async def release(session: AsyncSession, action: Action, reason: str) -> None:
    """The databases of the action may be changed again; `reason` is what their details tell."""
    for bdb in await bdbs.every(session):
        if bdb.action_uid == action.uid:
            bdb.status, bdb.status_detail, bdb.action_uid = "active", reason, None
