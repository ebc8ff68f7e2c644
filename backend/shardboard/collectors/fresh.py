"""What is asked of machines only when somebody wants to know: once at a time for all who do, and not again while it is fresh."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
L = TypeVar("L")


class Fresh(Generic[K, L]):
    """Answers by key. `seconds` is for how long one is fresh, from when it was asked for."""

    def __init__(
        self, ask: Callable[[K], Awaitable[L]], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self.seconds = seconds
        self._clock = clock
        self._kept: dict[K, tuple[float, L]] = {}
        self._asking: dict[K, asyncio.Task[L]] = {}

    async def get(self, key: K) -> L:
        """The newest answer, asked for now unless there is a fresh one."""
        now = self._clock()
        self._kept = {each: kept for each, kept in self._kept.items() if now - kept[0] < self.seconds}
        if (kept := self._kept.get(key)) is not None:
            return kept[1]
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._take(key))
            task.add_done_callback(lambda _: self._asking.pop(key, None))
        # Who goes away does not take it from the others.
        return await asyncio.shield(task)

    async def _take(self, key: K) -> L:
        begun = self._clock()
        answer = await self._ask(key)
        self._kept[key] = (begun, answer)
        return answer
