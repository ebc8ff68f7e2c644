"""Moves hash slots from a local primary to another one as the console requests: a few at a time, for a bounded time.

Each step can be repeated. Slots left open by a killed agent, or by a primary that has been replaced, are processed again from the
start. Native slot migration is used if both engines support it.
"""

import asyncio
from collections import defaultdict

from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.placement import native_slot_migration
from shardboard.agent.placement.slot_transfer import MigrationEndpoints, SlotTransfer
from shardboard.agent.placement.throttle import MAX_GROUP, TransferThrottle
from shardboard.contract import MoveSlots, SlotsMoved

MOVE_CONNECTION_DIVISOR = 50
"""At most one in so many connections to a shard is used for moves; the others are for clients."""


class SlotMovers:
    """Slot moves of this agent's shards, one at a time per source."""

    def __init__(self, supervisor: ShardSupervisor) -> None:
        self._supervisor = supervisor
        self._locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._paces: dict[int, TransferThrottle] = defaultdict(TransferThrottle)

    async def move(self, request: MoveSlots) -> SlotsMoved:
        shard = self._supervisor.find(request.uid, request.engine_id)
        if shard is None or shard.state != "running":
            return SlotsMoved(count=0, keys=0, reason=f"shard {request.uid} does not run on this node")
        async with self._locks[request.uid]:  # a request of a killed console can still be running
            slots = sum(last - first + 1 for first, last in request.slots)
            endpoints = MigrationEndpoints(
                shard, request, max(1, min(MAX_GROUP, slots, shard.record.bdb.maxclients // MOVE_CONNECTION_DIVISOR))
            )
            try:
                await endpoints.connect(2)  # one for commands, one for PING
                # The flash module does not support native migration: its snapshots do not contain values on flash.
                uses_native = shard.record.bdb.tier is None and await native_slot_migration.is_supported(endpoints)
                if not uses_native:
                    await endpoints.connect(endpoints.group + 1)
                await self._move(endpoints, native_migration=uses_native)
            except EngineError as error:
                return SlotsMoved(count=endpoints.moved, keys=endpoints.keys, reason=str(error))
            finally:
                endpoints.close()
        return SlotsMoved(count=endpoints.moved, keys=endpoints.keys, pause=endpoints.pause)

    async def _move(self, ends: MigrationEndpoints, *, native_migration: bool) -> None:
        throttle, request = self._paces[ends.request.uid], ends.request
        await ends.copy_functions()
        loop = asyncio.get_running_loop()
        start = loop.time()
        all_slots = [slot for first, last in request.slots for slot in range(first, last + 1)]
        async with throttle.monitored(*ends.ping_connections, fast=request.fast):
            if native_migration:
                await native_slot_migration.move(ends, all_slots, request.seconds, throttle)
                return
            while all_slots and loop.time() <= start + request.seconds:
                size = min(ends.group, throttle.group(await ends.count(all_slots[:MAX_GROUP]), fast=request.fast))
                group, all_slots = all_slots[:size], all_slots[size:]
                # Slots with very many keys stay open; the next request continues with them.
                if not await SlotTransfer(ends, group, throttle, until=start + 2 * request.seconds).run():
                    return
                await throttle.pause()
