"""Concurrent tasks by key."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)


async def run_concurrently(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently. The first failure cancels the others, and its exception is raised after they have ended.

    Not a TaskGroup: before Python 3.11.3, after a failure in a group no `asyncio.timeout` of the same task raises TimeoutError.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Tasks(Mapping[K, asyncio.Task[None]]):
    """At most one task per key. A task is removed when it ends, so that another one can be started."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[None]] = {}

    def __getitem__(self, key: K) -> asyncio.Task[None]:
        return self._running[key]

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._running))

    def __len__(self) -> int:
        return len(self._running)

    def start(self, key: K, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task. Raises ValueError if there is one for this key."""
        if key in self._running:
            work.close()
            raise ValueError(f"a task for {key} already exists")
        task = self._running[key] = asyncio.create_task(work)
        task.add_done_callback(lambda ended_task: self._remove(key, ended_task))
        return task

    def cancel(self, key: K) -> None:
        """Cancel the task of this key. A new one can be started immediately."""
        if task := self._running.pop(key, None):
            task.cancel()

    @asynccontextmanager
    async def cancelled_at_exit(self) -> AsyncIterator[None]:
        """Cancel all tasks at the end of the block and wait for their end, so that a restarted loop starts without tasks.

        It waits because a task that is cancelled again while it returns a connection to SQLite may never end (SQLAlchemy 2.1 and
        aiosqlite 0.22 then stop the connection's thread twice and wait for it twice).
        """
        try:
            yield
        finally:
            running = list(self.values())
            for key in self:
                self.cancel(key)
            await asyncio.gather(*running, return_exceptions=True)

    def _remove(self, key: K, ended: asyncio.Task[None]) -> None:
        if self._running.get(key) is ended:
            del self._running[key]
