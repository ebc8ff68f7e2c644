"""Turns: one at a time for each shard, without keeping anything of shards that nobody works on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Turns:
    """A lock per uid."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, uid: int) -> AsyncIterator[None]:
        """Wait for the turn of this uid, and have it for the length of the block."""
        lock = self._locks.get(uid)
        if lock is None:
            lock = self._locks[uid] = asyncio.Lock()
        async with lock:
            yield
