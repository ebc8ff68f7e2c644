"""A cache for values that are fetched from machines on demand: one fetch at a time for all callers, and none while it is fresh."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
L = TypeVar("L")


class TtlCache(Generic[K, L]):
    """Values by key. A value is fresh for `seconds` after its fetch started."""

    def __init__(
        self, ask: Callable[[K], Awaitable[L]], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch_value = ask
        self.seconds = seconds
        self._clock = clock
        self._kept: dict[K, tuple[float, L]] = {}
        self._asking: dict[K, asyncio.Task[L]] = {}

    async def get(self, key: K) -> L:
        """Return the newest value, fetched now unless a fresh one exists."""
        now = self._clock()
        self._kept = {each: cached for each, cached in self._kept.items() if now - cached[0] < self.seconds}
        if (cached := self._kept.get(key)) is not None:
            return cached[1]
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._fetch(key))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # A caller that is cancelled must not cancel the fetch for others.
        return await asyncio.shield(task)

    async def _fetch(self, key: K) -> L:
        start = self._clock()
        answer = await self._fetch_value(key)
        self._kept[key] = (start, answer)
        return answer
