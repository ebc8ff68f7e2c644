"""Alarms that stay open until their cause has not been seen for a while, independent of which console opened them."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.store.db import Store

Key = TypeVar("Key")


class PersistentAlarms(Generic[Key]):
    """Alarms of one type, each identified by a key."""

    def __init__(self, store: Store, type_: str, key: Callable[[Event], Key], seconds: float) -> None:
        """`seconds` is the time after which an alarm closes if its cause was not seen."""
        self._store = store
        self._type = type_
        self._key = key
        self._seconds = seconds
        self._seen: dict[Key, float] = {}
        """Time of the last occurrence, by the clock of the event loop."""

    async def open(self, session: AsyncSession) -> dict[Key, Event]:
        return {self._key(span): span for span in await events.list_open_spans(session, self._type)}

    def record_occurrence(self, key: Key) -> None:
        self._seen[key] = asyncio.get_running_loop().time()

    async def close_expired(self) -> None:
        """Close alarms whose cause was not seen for long. Alarms of an earlier console count as seen when this one first finds
        them.
        """
        now = asyncio.get_running_loop().time()
        async with self._store.read() as session:
            self._seen = {key: self._seen.get(key, now) for key in await self.open(session)}
        expired = {key for key, last_seen in self._seen.items() if now - last_seen > self._seconds}
        if not expired:
            return
        async with self._store.begin() as session:
            for key, span in (await self.open(session)).items():
                if key in expired:
                    span.end()
