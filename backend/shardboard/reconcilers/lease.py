"""Writes of an action's steps before its end: only while the lease is still held."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.state.cluster import actions, cluster
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs
from shardboard.store.db import Store


@asynccontextmanager
async def leased_transaction(store: Store, action: Action) -> AsyncIterator[AsyncSession | None]:
    """Yield a session in a transaction; None if another console has taken over the action or it has ended."""
    async with store.begin() as session:
        await cluster.load_for_update(session)  # ports are allocated under this lock
        row = await actions.by_uid(session, action.uid)
        yield session if row is not None and row.is_leased_as(action.lease_token) else None


async def unlock_databases(session: AsyncSession, action: Action, reason: str) -> None:
    """Unlock the databases of the action. `reason` becomes their status detail."""
    for bdb in await bdbs.list_all(session):
        if bdb.action_uid == action.uid:
            bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, reason, None
