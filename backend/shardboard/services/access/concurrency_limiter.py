"""Concurrency limits for expensive operations."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shardboard.errors import Unavailable


class ConcurrencyLimiter:
    """A limited number of slots and of waiters, with lower limits for each client network."""

    def __init__(self, places: int, of_one: int, waiting: int, waiting_of_one: int) -> None:
        self._free = asyncio.Semaphore(places)
        self._of_one = of_one
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._limit, self._limit_of_one = waiting, waiting_of_one
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def slot(self, network: str) -> AsyncIterator[None]:
        """Wait for a slot. Raises Unavailable if too many logins wait, in total or from that network."""
        if self._waiting[network] >= self._limit_of_one or self._waiting.total() >= self._limit:
            raise Unavailable("busy", "Too many sign-ins are in progress. Try again in a few seconds.")
        semaphore = self._own.setdefault(network, asyncio.Semaphore(self._of_one))
        self._waiting[network] += 1
        try:
            await semaphore.acquire()
            try:
                await self._free.acquire()
            except BaseException:
                semaphore.release()
                raise
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network]
        try:
            yield
        finally:
            self._free.release()
            semaphore.release()
