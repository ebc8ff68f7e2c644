"""One read for all tasks that need it at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedRead(Generic[T]):
    """Runs at most one read at a time, however many tasks wait for a result."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._running: asyncio.Task[T] | None = None
        self._next: asyncio.Task[T] | None = None
        """A read that has not started yet, for all tasks that call `get` until then."""

    async def get(self) -> T:
        """Return the result of a read that starts after this call."""
        if self._next is None:
            self._next = asyncio.create_task(self._read_after(self._running))
        # A task that is cancelled must not cancel the read of the others.
        return await asyncio.shield(self._next)

    async def close(self) -> None:
        """Cancel reads that have not ended, and wait for their end. Later calls of `get` read again."""
        reads = [each for each in (self._running, self._next) if each is not None]
        self._running = self._next = None
        for each in reads:
            each.cancel()
        await asyncio.gather(*reads, return_exceptions=True)

    async def _read_after(self, previous: asyncio.Task[T] | None) -> T:
        if previous is not None:
            await asyncio.wait([previous])
        self._running, self._next = self._next, None
        return await self._read()
