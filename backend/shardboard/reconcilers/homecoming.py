"""Hands leads back to primaries that were lost with their node, when the node is back, all is in sync and all is quiet.

Only with the policy `primaries_return`. Who leads because somebody asked for it keeps the lead.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.domain.homecoming import returning
from shardboard.domain.moves import Move
from shardboard.reconcilers.attempts import may_try
from shardboard.state import actions, movement, shards
from shardboard.state import cluster as clusters
from shardboard.state.movement import Ground

NAME = "SMReturnPrimaries"
LOOK_AGAIN = 5.0


class HomecomingLoop:
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
            around = await movement.ground(session)
            for bdb_uid in sorted({row.bdb_uid for row in await shards.that_led(session)}):
                await _order(session, around, bdb_uid)


async def _order(session: AsyncSession, around: Ground, bdb_uid: int) -> None:
    bdb = around.databases.get(bdb_uid)
    if bdb is None or bdb.status != "active" or await actions.open_of_bdb(session, bdb_uid):
        return
    moves = _planned(around, bdb_uid)
    situation = [move.leads for move in moves]
    if not moves or not may_try(await actions.tries_of_bdb(session, bdb_uid, NAME), NAME, situation):
        return
    count = len(moves)
    movement.order(
        session,
        around,
        NAME,
        moves,
        description=f"Return {count} {'primary' if count == 1 else 'primaries'} of {bdb.name} to where "
        f"{'it was' if count == 1 else 'they were'} before the outage",
        originator="system",
        object_type="bdb",
        object_uid=bdb_uid,
        params={"situation": situation},
    )


def _planned(around: Ground, bdb_uid: int) -> list[Move]:
    """Nothing while a shard of the database is not in sync, or a node of it not in service."""
    held = around.of(bdb_uid)
    if not all(movement.ready(row) for row in held):
        return []
    if any(around.machines[row.node_uid].health != "up" or around.machines[row.node_uid].duty for row in held):
        return []
    return returning(around.board(), bdb_uid, {row.uid for row in held if row.leads_again})
