"""Moves hash slots from a local primary to another one, as the console orders it: a few at a time, for a bounded time.

Every step may be repeated: slots that were left open by an agent that was killed, or by a primary that has been replaced,
are gone through once more from the start. Where engines have a way of their own to move slots, that is used.
"""

import asyncio
from collections import defaultdict

from shardboard.agent import atomic
from shardboard.agent.contract import MoveSlots, SlotsMoved
from shardboard.agent.haul import Ends, Haul
from shardboard.agent.pace import Pace
from shardboard.agent.processes import Supervisor
from shardboard.agent.resp import EngineError

GENTLE_GROUP, FAST_GROUP = 1, 16
"""Slots that are open together. Closing one makes every shard of the database go through a slot map, write its view of the
cluster to its disk and wait for that. Those that are closed in the same moment are written once, which is quicker, and make the
moment longer for everybody."""
SPARED = 50
"""One connection in so many that a shard takes may be ours; the others are for clients."""


class Movers:
    """Moves for the shards of this agent; one at a time for each source."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._paces: dict[int, Pace] = defaultdict(Pace)

    async def move(self, order: MoveSlots) -> SlotsMoved:
        shard = self._supervisor.shards.get(order.uid)
        if shard is None or shard.state != "running":
            return SlotsMoved(count=0, keys=0, reason=f"shard {order.uid} does not run here")
        async with self._locks[order.uid]:  # a console that was killed has left an order that still runs
            group = FAST_GROUP if order.fast else GENTLE_GROUP
            ends = Ends(shard, order, min(group, max(1, shard.record.bdb.maxclients // SPARED)))
            try:
                await ends.connect()
                await self._move(ends)
            except EngineError as error:
                return SlotsMoved(count=ends.moved, keys=ends.keys, reason=str(error))
            finally:
                ends.close()
        return SlotsMoved(count=ends.moved, keys=ends.keys)

    async def _move(self, ends: Ends) -> None:
        pace, order = self._paces[ends.order.uid], ends.order
        await ends.copy_functions()
        loop = asyncio.get_running_loop()
        began = loop.time()
        every = [slot for first, last in order.slots for slot in range(first, last + 1)]
        if await atomic.fits(ends):
            await atomic.move(ends, every, order.seconds)
            return
        async with pace.watched(*ends.quiet, fast=order.fast):
            for at in range(0, len(every), ends.group):
                if loop.time() > began + order.seconds:
                    return
                group = every[at : at + ends.group]
                # Slots with very many keys are left open, and gone on with by the next order.
                if not await Haul(ends, group, pace, until=began + 2 * order.seconds).run():
                    return
                await pace.rest()
