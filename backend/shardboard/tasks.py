"""Tasks of a loop, by what they are about."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


async def together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of it side by side. The first that fails ends the others, and its exception is raised when they have ended.

    Not a TaskGroup: until Python 3.11.3, after one that has failed no `asyncio.timeout` of the same task raises TimeoutError.
    """
    running = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class Tasks(Mapping[K, asyncio.Task[None]]):
    """At most one per key. One that ends is forgotten, however it ends, so that another may take its place."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[None]] = {}

    def __getitem__(self, key: K) -> asyncio.Task[None]:
        return self._running[key]

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._running))

    def __len__(self) -> int:
        return len(self._running)

    def start(self, key: K, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Raises ValueError when there is one for this key."""
        if key in self._running:
            work.close()
            raise ValueError(f"there is a task for {key} already")
        task = self._running[key] = asyncio.create_task(work)
        task.add_done_callback(lambda ended: self._forget(key, ended))
        return task

    def cancel(self, key: K) -> None:
        """From now on another may be started."""
        if task := self._running.pop(key, None):
            task.cancel()

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """All are cancelled at the end of the block and have ended after it, so a loop that is run again starts with none.

        It waits because a task that is cancelled once more while it gives a connection back to SQLite may never end
        (SQLAlchemy 2.1 and aiosqlite 0.22 then stop the connection's thread twice, and wait for it twice).
        """
        try:
            yield
        finally:
            ended = list(self.values())
            for key in self:
                self.cancel(key)
            await asyncio.gather(*ended, return_exceptions=True)

    def _forget(self, key: K, ended: asyncio.Task[None]) -> None:
        if self._running.get(key) is ended:
            del self._running[key]
