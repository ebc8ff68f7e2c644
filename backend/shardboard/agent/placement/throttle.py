"""Throttling of slot moves: as fast as possible without noticeable effects on clients.

Moves delay clients in two ways. While MIGRATE runs, the source serves no requests, so batches are sized to take about a
millisecond. And each change of a slot's owner keeps all shards busy with their slot maps for a moment, so the mover pauses
repeatedly. Source and target get PINGs all the time. If more than one reply in a hundred is late, compared with calm moments
between requests when nothing moves, the pauses grow. Other causes of slowness affect both. The pauses are limited: measurements
show that clients wait for one slot, however long the pause before it.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median

from shardboard.agent.databases.engine_client import Connection, EngineError

MIGRATE_SECONDS = 0.001
"""Target duration of a batch."""
INITIAL_KEYS, MIN_KEYS, MAX_KEYS = 20.0, 2.0, 200.0
INITIAL_BYTES, MIN_BYTES, MAX_BYTES = 32e3, 4e3, 1e6
WORK_SECONDS = 0.004
"""Seconds of work before a pause."""
LATE, UNNOTICED = 3.0, 0.001
"""A reply is late if it takes this many times the median of calm moments, plus this many seconds."""
TOLERATED = 0.01
"""Tolerated share of late replies, beyond twice that of calm moments."""
INITIAL_PAUSE_FACTOR, MIN_PAUSE_FACTOR, MAX_PAUSE_FACTOR = 0.05, 0.05, 0.3
"""Length of pauses in proportion to the time worked."""
PAUSE_GROWTH, PAUSE_SHRINK = 1.4, 0.8
"""Factors that adjust the pauses from one request to the next."""
CALM_PINGS, CALM_EVERY = 16, 0.005
"""Number of PINGs before a move starts, and the seconds between them."""
PING_EVERY = 0.01
INITIAL_JOB_BYTES, MAX_JOB_BYTES = 32e6, 64e6
"""Bytes per job of native migration. Each job forks the source and copies with the full power of a CPU, which clients notice while
it runs. Smaller jobs do not help: a tenth of the data takes half as long, as measured. Pauses do.
"""
JOB_KEYS = 3_000
"""Maximum number of keys per job. The source deletes all moved keys at once, at a microsecond or more per key, and serves no
requests during that time. Jobs with many small keys are therefore small.
"""
SMALLER, LARGER = 0.6, 1.25
"""Factors that adjust the size of the next job or group of slots."""
INITIAL_GROUP, MAX_GROUP = 1.0, 64
"""Number of slots that are open at the same time. Closing a slot makes each shard of the database update a slot map, write its
cluster configuration to disk and wait for the write. Slots closed at the same moment share one write: faster overall, but a longer
stall for all clients. So groups grow only with slots of few keys, and only while that stall is short.
"""
GROUP_KEYS = 64
"""Maximum number of keys in a group of more than one slot."""
FAST_GROUP = 16
"""Number of slots with more keys than that which are open at the same time in fast mode."""
GROUP_STALL, GROUP_TOLERATED = 0.005, 0.1
"""A group is too large if more than this share of replies takes this many seconds longer than usual, beyond twice the share of calm
moments. This is less strict than for keys: one slot alone makes all clients wait for the disk, and a group makes them wait hardly
longer. Smaller groups would mean more stalls, not shorter ones.
"""
GROUP_ANSWERS = 10
"""Number of replies that decide on the next size. With one or two, one always falls into the moment of closing."""
GROUP_GROWTH = 2.0
JOB_TOLERATED = 0.004
"""As TOLERATED, for the replies during jobs and pauses together; clients notice the earlier start of new shards as well."""
INITIAL_JOB_PAUSE_FACTOR, MIN_JOB_PAUSE_FACTOR, MAX_JOB_PAUSE_FACTOR = 1.0, 0.2, 2.0
"""Length of pauses in proportion to the duration of the job."""
GENTLE_SLOTS, GENTLE_KEYS, GENTLE_BYTES = 185, 2_000, 3e6
"""Slots, keys and bytes per second below which a pause may be longer: valkey-cli, which moves slots and keys one by one, takes as
long.
"""
CALM_WINDOW, BUSY_WINDOW, JOB_WINDOW = 10 * CALM_PINGS, 300, 100
PING_SECONDS = 2.0


class TransferThrottle:
    """Pace of one source, kept from request to request."""

    def __init__(self) -> None:
        self._keys = INITIAL_KEYS
        self._bytes = INITIAL_BYTES
        self._pause_factor = INITIAL_PAUSE_FACTOR
        self._calm: deque[float] = deque(maxlen=CALM_WINDOW)
        self._busy: deque[float] = deque(maxlen=BUSY_WINDOW)
        self._paused_at = 0.0
        self._job = INITIAL_JOB_BYTES
        self._in_job = False
        self._job_answers: deque[float] = deque(maxlen=JOB_WINDOW)
        self._group = INITIAL_GROUP
        self._group_answers: deque[float] = deque(maxlen=BUSY_WINDOW)

    @asynccontextmanager
    async def monitored(self, *shards: Connection, fast: bool = False) -> AsyncIterator[None]:
        """Send PINGs to the shards, on connections without other traffic: first while nothing moves, then in the background."""
        if fast:
            self._pause_factor, self._paused_at = MIN_PAUSE_FACTOR, time.monotonic()
            yield
            return
        for _ in range(CALM_PINGS):
            self._calm.append(await _ping(shards))
            await asyncio.sleep(CALM_EVERY)
        if self._busy:
            is_slow = self._exceeds_tolerance(self._busy)
            self._pause_factor = (
                min(MAX_PAUSE_FACTOR, self._pause_factor * PAUSE_GROWTH)
                if is_slow
                else max(MIN_PAUSE_FACTOR, self._pause_factor * PAUSE_SHRINK)
            )
        watcher = asyncio.create_task(self._watch(shards))
        self._paused_at = time.monotonic()
        try:
            yield
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError, EngineError):
                await watcher

    async def _watch(self, shards: Sequence[Connection]) -> None:
        while True:
            await asyncio.sleep(PING_EVERY)
            self._busy.append(await _ping(shards))
            if self._in_job:
                # A late reply delayed further PINGs: count it as many times as PINGs were due in that time.
                self._job_answers.extend([self._busy[-1]] * (1 + int(self._busy[-1] / PING_EVERY)))
            self._group_answers.append(self._busy[-1])

    def _exceeds_tolerance(self, answers: Sequence[float]) -> bool:
        """Return whether more replies are late than tolerated."""
        return self._excess(answers) > TOLERATED

    def _excess(self, answers: Sequence[float]) -> float:
        """Return the share of late replies beyond twice that of calm moments; negative if there are fewer."""
        limit = LATE * median(self._calm) + UNNOTICED
        return _share(answers, limit) - 2 * _share(self._calm, limit)

    def group(self, counts: Sequence[int], *, fast: bool) -> int:
        """Return how many of the next slots, given by their numbers of keys, to open together."""
        if not fast and len(self._group_answers) >= GROUP_ANSWERS:
            factor = SMALLER if self._stalled() else GROUP_GROWTH
            self._group = max(INITIAL_GROUP, min(MAX_GROUP, self._group * factor))
            self._group_answers.clear()
        slot_count = keys = 0
        for count in counts[: MAX_GROUP if fast else int(self._group)]:
            keys += count
            if slot_count >= (FAST_GROUP if fast else 1) and keys > GROUP_KEYS:
                break
            slot_count += 1
        return max(1, slot_count)

    def _stalled(self) -> bool:
        """Return whether closing slots together stalls shards for too long."""
        limit = LATE * median(self._calm) + GROUP_STALL
        return _share(self._group_answers, limit) > 2 * _share(self._calm, limit) + GROUP_TOLERATED

    def job_slots(self, slot_bytes: float, slot_keys: float, *, fast: bool) -> int:
        """Return how many slots the next native migration job moves, given the average size of a slot."""
        self._in_job = True
        slots = (MAX_JOB_BYTES if fast else self._job) / max(slot_bytes, 1)
        return int(slots if fast or not slot_keys else min(slots, JOB_KEYS / slot_keys))

    def job_pause(self, seconds: float, slots: int, keys: int, size: float) -> float:
        """Return the length of the pause in seconds after a job that took `seconds`. It is long enough to keep the share of late
        replies, including those during pauses, within the tolerated share, but not longer than the numbers of slots, keys and bytes
        (`size`) justify.
        """
        self._in_job = False
        desired = self._excess(self._job_answers) / JOB_TOLERATED - 1 if self._job_answers else INITIAL_JOB_PAUSE_FACTOR
        factor = LARGER if desired < MIN_JOB_PAUSE_FACTOR else SMALLER
        self._job = max(INITIAL_JOB_BYTES, min(MAX_JOB_BYTES, self._job * factor))
        seconds_needed = min(slots / GENTLE_SLOTS, keys / GENTLE_KEYS + size / GENTLE_BYTES) - seconds
        return min(max(seconds * MAX_JOB_PAUSE_FACTOR, seconds_needed), seconds * max(MIN_JOB_PAUSE_FACTOR, desired))

    def batch(self, keys: Sequence[tuple[bytes, int]]) -> Sequence[tuple[bytes, int]]:
        """Return the first of `keys`, given with their sizes, to send together. A large key is sent alone."""
        total = 0
        for count, (_, size) in enumerate(keys):
            total += size
            if count and (count >= self._keys or total > self._bytes):
                return keys[:count]
        return keys

    def adjust(self, seconds: float) -> None:
        """Adjust the batch size to the duration of a batch."""
        factor = 0.8 if seconds > 1.5 * MIGRATE_SECONDS else 1.1 if seconds < MIGRATE_SECONDS else 1.0
        self._keys = min(MAX_KEYS, max(MIN_KEYS, factor * self._keys))
        self._bytes = min(MAX_BYTES, max(MIN_BYTES, factor * self._bytes))

    async def pause(self) -> None:
        """Pause if a pause is due."""
        worked = time.monotonic() - self._paused_at
        if worked < WORK_SECONDS:
            return
        await asyncio.sleep(worked * self._pause_factor)
        self._paused_at = time.monotonic()


def _share(answers: Sequence[float], late: float) -> float:
    return sum(answer > late for answer in answers) / len(answers)


async def _ping(shards: Sequence[Connection]) -> float:
    """Return the seconds until the slowest shard has replied."""
    start = time.monotonic()
    try:
        async with asyncio.timeout(PING_SECONDS):
            await asyncio.gather(*(shard.execute("PING") for shard in shards))
    except TimeoutError:
        raise EngineError(f"a shard did not respond within {PING_SECONDS:g} s") from None
    return time.monotonic() - start
