"""Ordering movements of shards: adding an order is all that a handler does towards them."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Conflict
from shardboard.state import actions
from shardboard.state.bdbs import Bdb
from shardboard.state.movement import ClusterView, locked_view, order, takes_shards, word

__all__ = ["ClusterView", "insist_on_idle", "locked_view", "order", "takes_shards", "word"]


async def insist_on_idle(session: AsyncSession, databases: Sequence[Bdb], code: str = "db_busy") -> None:
    """Refuse while anything else is under way on one of them; the reference has a code of its own for databases."""
    for bdb in databases:
        if bdb.status != "active":
            raise Conflict(code, f"Database {bdb.name} is {bdb.status}; try again when it is active.")
        if await actions.open_of_bdb(session, bdb.uid):
            raise Conflict(code, f"Another action is running on {bdb.name}; try again when it is done.")
