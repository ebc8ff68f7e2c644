"""In-process topics: writers publish, loops and streams listen. A message is a hint; the store is authoritative."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

QUEUE_LIMIT = 4096
MAX_PAUSE = 2.0
"""Longest pause of `wait_until`, in seconds. With thousands of shards, a poll can take half a second. With a shorter pause, ten
such loops would use all of the CPU while shards change."""


class Bus:
    """Publish/subscribe. `publish` never blocks or fails: a slow listener is marked `overflowed` and must start again."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Listener]] = defaultdict(set)

    def publish(self, topic: str, message: Any = None) -> None:
        for listener in tuple(self._listeners[topic]):
            listener.put(topic, message)

    def invalidate(self, topic: str) -> None:
        """Wake all listeners of a topic and mark them as overflowed: an unknown number of messages was lost."""
        for listener in tuple(self._listeners[topic]):
            listener.invalidate()

    def has_listeners(self, topic: str) -> bool:
        """Return whether the topic has listeners, so that expensive messages are only created if needed."""
        return bool(self._listeners[topic])

    @contextmanager
    def listen(self, *topics: str, most_bytes: int | None = None) -> Iterator["Listener"]:
        """Queue everything published on `topics` during the block. `most_bytes` limits the queued messages that have a `size`."""
        listener = Listener(most_bytes)
        for topic in topics:
            self._listeners[topic].add(listener)
        try:
            yield listener
        finally:
            for topic in topics:
                self._listeners[topic].discard(listener)


class Listener:
    """The receiving end of `Bus.listen`."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue(QUEUE_LIMIT)
        """None wakes the listener without a message."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._returned: float | None = None
        """Time when `until` returned last."""
        self.overflowed = False

    def put(self, topic: str, message: Any) -> None:
        size: int = getattr(message, "size", 0)
        if self._queue.full() or (self._most_bytes is not None and self._bytes + size > self._most_bytes):
            self.overflowed = True
            return
        self._bytes += size
        self._queue.put_nowait((topic, message))

    def invalidate(self) -> None:
        self.overflowed = True
        if not self._queue.full():
            self._queue.put_nowait(None)

    def _taken(self, item: tuple[str, Any] | None) -> tuple[str, Any] | None:
        self._bytes -= getattr(item[1], "size", 0) if item else 0
        return item

    async def get(self, timeout: float | None = None) -> tuple[str, Any] | None:
        """Return the next (topic, message), or None after `timeout` seconds without one, or if messages were lost."""
        try:
            # Not wait_for: on Python 3.11 it loses a cancellation that arrives together with a message.
            async with asyncio.timeout(timeout):
                return self._taken(await self._queue.get())
        except TimeoutError:
            return None

    async def wait_until(self, predicate: Callable[[Any], bool], timeout: float, *, pause: float = 0.0) -> None:
        """Return at the first message that is `wanted`, after `timeout` seconds, or if messages were lost.

        The caller polls everything afterwards, so all queued messages are dropped: hundreds of shards that change at once are one
        reason to poll, not hundreds. With `pause` the loop of the caller pauses for `pause` times the duration of its last poll (at
        most MAX_PAUSE), so that a loop over many rows does not use all of the CPU.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        duration = 0.0 if self._returned is None else start - self._returned
        earliest, deadline = start + min(pause * duration, MAX_PAUSE), start + timeout
        while (seconds_left := deadline - loop.time()) > 0:
            message = await self.get(timeout=seconds_left)
            if message is None or predicate(message[1]):
                break
        if (seconds_left := earliest - loop.time()) > 0:
            await asyncio.sleep(seconds_left)
        self.drain()
        self.overflowed = False
        self._returned = loop.time()

    def drain(self) -> list[tuple[str, Any]]:
        """Return everything queued now, without waiting."""
        items = []
        while not self._queue.empty():
            if (item := self._taken(self._queue.get_nowait())) is not None:
                items.append(item)
        return items
