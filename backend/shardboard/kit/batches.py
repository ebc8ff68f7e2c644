"""Items of many tasks that are written together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Batch(Generic[Item]):
    def __init__(self) -> None:
        self.items: list[Item] = []
        self.is_written = False
        self.error: Exception | None = None


class Batches(Generic[Item]):
    """While one batch is written, the items of the next one are collected. Without other tasks, an item is written at once."""

    def __init__(self, write: Callable[[Sequence[Item]], Awaitable[None]], lock: asyncio.Lock | None = None) -> None:
        """`lock` is held while `write` runs."""
        self._write = write
        self._lock = lock or asyncio.Lock()
        self._collected: _Batch[Item] = _Batch()

    async def add(self, item: Item) -> None:
        """Return when the item is written. Raises the error of the batch that contained it."""
        while True:
            batch = self._collected
            batch.items.append(item)
            async with self._lock:
                if batch is self._collected:
                    await self._write_collected()
            if batch.is_written:
                return
            if batch.error is not None:
                raise batch.error
            # The task that wrote the batch was cancelled.

    async def _write_collected(self) -> None:
        batch, self._collected = self._collected, _Batch()
        try:
            await self._write(batch.items)
            batch.is_written = True
        except Exception as error:
            batch.error = error
