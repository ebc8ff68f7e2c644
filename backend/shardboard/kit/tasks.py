"""Concurrent tasks by key."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Hashable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

NODES_AT_ONCE = 64
"""Number of nodes with which a loop communicates at the same time. A new connection needs a TLS handshake, and hundreds of them at
once would take longer than their timeout."""
PAUSE_PER_REQUEST = 0.02
"""Seconds by which a loop that sends requests to all nodes pauses for each of them. A request takes about 4 ms of CPU time, so the
loop uses at most a fifth of a CPU while many nodes change."""


async def run_concurrently(work: Iterable[Coroutine[Any, Any, T]], limit: int | None = None) -> list[T]:
    """Run coroutines concurrently, at most `limit` at a time, and return their results. The first failure cancels the others, and
    its exception is raised after they have ended.

    Not a TaskGroup: before Python 3.11.3, after a failure in a group no `asyncio.timeout` of the same task raises TimeoutError.
    """
    coroutines = list(work)
    slots = nullcontext() if limit is None else asyncio.Semaphore(limit)

    async def run(each: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await each

    tasks = [asyncio.create_task(run(each)) for each in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in coroutines:
            each.close()  # some may not have started


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
