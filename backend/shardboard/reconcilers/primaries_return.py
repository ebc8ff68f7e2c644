"""Hands leads back to primaries that were lost with their node, when the node is back, all is in sync and all is quiet.

Only with the policy `primaries_return`. Who leads because somebody asked for it keeps the lead.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.reconcilers.attempts import may_try
from shardboard.state import actions, movement, returns, shards
from shardboard.state import cluster as clusters
from shardboard.state.movement import ClusterView

LOOK_AGAIN = 5.0


class PrimariesReturnLoop:
    """Orders the handovers, one action per database."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self._sweep()
                await changes.until(lambda change: change[0] in ("node", "action", "cluster"), LOOK_AGAIN)

    async def _sweep(self) -> None:
        async with self._store.read() as session:
            allowed = (await clusters.load(session)).rules.primaries_return
            if not allowed or not await shards.that_led(session):
                return
        async with self._store.begin() as session:
            view = await movement.locked_view(session)
            for bdb_uid in sorted({row.bdb_uid for row in await shards.that_led(session)}):
                await _order(session, view, bdb_uid)


async def _order(session: AsyncSession, view: ClusterView, bdb_uid: int) -> None:
    bdb = view.databases.get(bdb_uid)
    if bdb is None or bdb.status != "active" or await actions.open_of_bdb(session, bdb_uid):
        return
    moves = returns.planned(view, bdb_uid)
    situation = [move.leads for move in moves]
    if not moves or not may_try(await actions.tries_of_bdb(session, bdb_uid, returns.NAME), returns.NAME, situation):
        return
    returns.order(session, view, bdb_uid, moves, "system")
