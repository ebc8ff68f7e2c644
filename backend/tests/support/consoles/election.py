"""Consoles that take part in an election, without servers and machines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shardboard.kit.tenure import Tenure, current_tenure
from shardboard.lifecycle.leadership import Leadership
from shardboard.store.db import Store


class Candidate:
    """One console. `tenures` are those in which its leader's loops have run."""

    def __init__(self, store: Store, console_id: str) -> None:
        self.store = store
        self.leadership = Leadership(store, console_id)
        self.tenures: list[Tenure] = []
        self.is_leading = False
        self.tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def _loops(self) -> AsyncIterator[asyncio.Future[None]]:
        tenure = current_tenure()
        assert tenure is not None
        self.tenures.append(tenure)
        self.is_leading = True
        try:
            yield asyncio.get_running_loop().create_future()
        finally:
            self.is_leading = False

    def start(self) -> None:
        loops = (self.leadership.run(), self.leadership.lead(self._loops))
        self.tasks = [asyncio.create_task(loop) for loop in loops]

    async def freeze(self) -> None:
        """Stop without releasing the lease, like a killed or frozen process."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def candidate(store: Store, console_id: str) -> AsyncIterator[Candidate]:
    """Run a console during the block, and let it release the lease at the end."""
    console = Candidate(store, console_id)
    async with console.leadership.participating():
        await console.leadership.share()
        console.start()
        try:
            yield console
        finally:
            await console.freeze()
