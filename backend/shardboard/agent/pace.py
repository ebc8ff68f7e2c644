"""How fast slots may move: as fast as it can be done without clients noticing much.

Two things make clients wait. While MIGRATE runs the source serves nobody, so batches are cut until one takes about a
millisecond. And all shards share processors with the movement; so it rests again and again, and the more so the longer source
and target need to answer PING while slots move, compared with the moments between orders, when none do. What else slows the
machines down slows both.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from shardboard.agent.resp import Connection, EngineError

MIGRATE_SECONDS = 0.001
"""What a batch should take."""
FIRST_KEYS, LEAST_KEYS, MOST_KEYS = 20.0, 2.0, 200.0
FIRST_BYTES, LEAST_BYTES, MOST_BYTES = 32e3, 4e3, 1e6
WORK_SECONDS = 0.004
"""For how long it goes on without a rest."""
SLOWER = 2.0
"""How many times the calm answer time is tolerated."""
UNNOTICED = 0.0005
"""Seconds more that nobody would notice, whatever it is when it is calm."""
FIRST_REST, LEAST_REST, MOST_REST = 1.0, 0.5, 8.0
"""In proportion to the time that was worked."""
LONGER, SHORTER = 1.4, 0.8
"""What an order makes of the rests of the one before."""
CALM_PINGS = 8
"""How often it asks before it begins, PING_EVERY seconds apart."""
PING_EVERY = 0.01
REMEMBERED_CALM, REMEMBERED_BUSY = 5 * CALM_PINGS, 100
PING_SECONDS = 2.0


class Pace:
    """Of one source, kept from order to order."""

    def __init__(self) -> None:
        self._keys = FIRST_KEYS
        self._bytes = FIRST_BYTES
        self._rest = FIRST_REST
        self._calm: deque[float] = deque(maxlen=REMEMBERED_CALM)
        self._busy: deque[float] = deque(maxlen=REMEMBERED_BUSY)
        self._rested_at = 0.0

    @asynccontextmanager
    async def watched(self, *shards: Connection) -> AsyncIterator[None]:
        """Ask the shards all the while, on connections that nothing else waits on: first while nothing moves."""
        for _ in range(CALM_PINGS):
            self._calm.append(await _ping(shards))
            await asyncio.sleep(PING_EVERY)
        if self._busy:
            calm, busy = _most(self._calm), _most(self._busy)
            slow = busy > max(SLOWER * calm, calm + UNNOTICED)
            self._rest = min(MOST_REST, self._rest * LONGER) if slow else max(LEAST_REST, self._rest * SHORTER)
        watching = asyncio.create_task(self._watch(shards))
        self._rested_at = time.monotonic()
        try:
            yield
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError, EngineError):
                await watching

    async def _watch(self, shards: Sequence[Connection]) -> None:
        while True:
            await asyncio.sleep(PING_EVERY)
            self._busy.append(await _ping(shards))

    def batch(self, keys: Sequence[tuple[bytes, int]]) -> Sequence[tuple[bytes, int]]:
        """The first of `keys`, given with their sizes, that are sent together; a large one goes alone."""
        total = 0
        for taken, (_, size) in enumerate(keys):
            total += size
            if taken and (taken >= self._keys or total > self._bytes):
                return keys[:taken]
        return keys

    def learn(self, seconds: float) -> None:
        """How long a batch has taken."""
        factor = 0.8 if seconds > 1.5 * MIGRATE_SECONDS else 1.1 if seconds < MIGRATE_SECONDS else 1.0
        self._keys = min(MOST_KEYS, max(LEAST_KEYS, factor * self._keys))
        self._bytes = min(MOST_BYTES, max(LEAST_BYTES, factor * self._bytes))

    async def rest(self) -> None:
        """Leave the shards alone for a while, when it is time to."""
        worked = time.monotonic() - self._rested_at
        if worked < WORK_SECONDS:
            return
        await asyncio.sleep(worked * self._rest)
        self._rested_at = time.monotonic()


def _most(answers: Sequence[float]) -> float:
    """What nine of ten answers took at most."""
    return sorted(answers)[len(answers) * 9 // 10]


async def _ping(shards: Sequence[Connection]) -> float:
    """Seconds until the slowest has answered."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(PING_SECONDS):
            await asyncio.gather(*(shard.execute("PING") for shard in shards))
    except TimeoutError:
        raise EngineError(f"a shard does not answer within {PING_SECONDS:g} s") from None
    return time.monotonic() - began
