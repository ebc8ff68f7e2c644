"""Requests that wait until an action has ended."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from shardboard.kit.bus import Bus, Listener
from shardboard.state.cluster import actions
from shardboard.store.db import Store
from shardboard.store.transient_errors import describe_error, is_transient

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
MAX_WAITS = 1000
MAX_WAITS_OF_CLIENT = 100
"""Waiting requests of one console, and of one client. Further requests return immediately."""


@dataclass
class _Wait:
    """The requests that wait for one action."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    requests: int = 0


class ActionWaits:
    """Wakes requests when their actions end. While requests wait, one task follows the changes of the store for all of them."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus
        self._waits: dict[str, _Wait] = {}
        self._clients: Counter[str] = Counter()
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Number of requests that wait."""
        return sum(wait.requests for wait in self._waits.values())

    async def wait(self, uid: str, seconds: float, client: str = "") -> None:
        """Return when the action has ended or does not exist, after `seconds`, or when the console stops.

        `client` is any text that identifies the sender. With too many waiting requests, return immediately.
        """
        if self.count >= MAX_WAITS or self._clients[client] >= MAX_WAITS_OF_CLIENT:
            return
        with self._waiting(uid, client) as wait:
            await self._check([uid])
            try:
                async with asyncio.timeout(seconds):
                    await wait.ended.wait()
            except TimeoutError:
                return

    @contextmanager
    def _waiting(self, uid: str, client: str) -> Iterator[_Wait]:
        wait = self._waits.setdefault(uid, _Wait())
        wait.requests += 1
        self._clients[client] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())
        try:
            yield wait
        finally:
            wait.requests -= 1
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
            if not wait.requests:
                del self._waits[uid]
            if not self._waits and self._listener is not None:
                self._listener.invalidate()  # ends the task

    async def _follow(self) -> None:
        """Wake requests until none waits. A change can be missed before the listener exists, so everything is read first."""
        with self._bus.listen("change", "closing") as self._listener:
            self._listener.overflowed = True
            while self._waits:
                try:
                    await self._next(self._listener)
                except Exception as error:
                    if not is_transient(error):
                        raise
                    log.warning("waiting for actions: %s", describe_error(error))
                    self._listener.overflowed = True
                    await asyncio.sleep(RETRY_SECONDS)

    async def _next(self, listener: Listener) -> None:
        if listener.overflowed:
            listener.overflowed = False
            await self._check(list(self._waits))
        message = await listener.get()
        if message is None:
            return
        topic, change = message
        if topic == "closing":
            for wait in self._waits.values():
                wait.ended.set()
        elif change[0] == "action" and change[1] in self._waits:
            await self._check([change[1]])

    async def _check(self, uids: Sequence[str]) -> None:
        """Wake the requests whose actions are not open."""
        async with self._store.read() as session:
            still_open = await actions.select_open(session, uids)
        for uid in uids:
            if uid not in still_open and uid in self._waits:
                self._waits[uid].ended.set()
