"""Base class of loops that poll the store after each change and schedule what is missing."""

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from typing import ClassVar

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.kit.bus import Bus
from shardboard.state.cluster import cluster as clusters
from shardboard.store.db import Store


class PollingLoop(ABC):
    """A subclass defines which changes trigger a poll and what is done then.

    The first poll takes no lock and usually finds nothing. A result is checked again under the lock of the cluster row, because a
    request or another loop may have changed the rows.
    """

    changes: ClassVar[AbstractSet[str]]
    """Kinds of rows that trigger a poll."""
    seconds: ClassVar[float] = 5.0
    """Seconds until the next poll without changes: conditions can depend on time, and a notification can be lost."""
    pause: ClassVar[float] = 4.0
    """Pause after a poll, as a multiple of its duration."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await changes.wait_until(lambda change: change[0] in self.changes, self.seconds, pause=self.pause)

    async def sweep(self) -> None:
        """Poll once."""
        async with self._store.read() as session:
            if not await self.is_due(session):
                return
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            await self.act(session)

    @abstractmethod
    async def is_due(self, session: AsyncSession) -> bool:
        """Return whether there is something to do, as far as visible without the lock."""

    @abstractmethod
    async def act(self, session: AsyncSession) -> None:
        """Schedule actions or write rows."""
