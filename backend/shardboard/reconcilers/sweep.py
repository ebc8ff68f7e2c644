"""Loops that look at the store whenever something has changed in it, and order what is missing."""

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from typing import ClassVar

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.state import cluster as clusters


class Sweep(ABC):
    """A subclass says which changes are worth a look, and what is done then.

    The first look takes no lock, and most of the time finds nothing to do. What it finds is looked at anew under the lock of the
    cluster row: another console on this store may have the same idea.
    """

    changes: ClassVar[AbstractSet[str]]
    """Kinds of rows."""
    seconds: ClassVar[float] = 5.0
    """Until the next look when none of them changes: time passes, too, and a message may be missed."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await changes.until(lambda change: change[0] in self.changes, self.seconds)

    async def sweep(self) -> None:
        """One look."""
        async with self._store.read() as session:
            if not await self.is_due(session):
                return
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            await self.act(session)

    @abstractmethod
    async def is_due(self, session: AsyncSession) -> bool:
        """Whether there is anything to do, as far as that shows without the lock."""

    @abstractmethod
    async def act(self, session: AsyncSession) -> None:
        """Order, or write, what is to be done."""
