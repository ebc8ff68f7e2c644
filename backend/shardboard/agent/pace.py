"""How fast slots may move: as fast as it can be done without clients noticing much.

Two things make clients wait. While MIGRATE runs the source serves nobody, so batches are cut until one takes about a
millisecond. And whenever a slot has changed hands every shard is busy with its map for a moment; so it rests again and again.
Source and target are asked PING all the while, and when more than one answer in a hundred is late, more than in the moments
between orders, when nothing moves, the rests grow. What else slows the machines down slows both. They do not grow for long: as
measured, what clients wait for is one slot, however long the rest before it.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median

from shardboard.agent.resp import Connection, EngineError

MIGRATE_SECONDS = 0.001
"""What a batch should take."""
FIRST_KEYS, LEAST_KEYS, MOST_KEYS = 20.0, 2.0, 200.0
FIRST_BYTES, LEAST_BYTES, MOST_BYTES = 32e3, 4e3, 1e6
WORK_SECONDS = 0.004
"""For how long it goes on without a rest."""
LATE, UNNOTICED = 3.0, 0.001
"""An answer is late when it takes so many times the usual time of a calm moment, and so many seconds more."""
TOLERATED = 0.01
"""Share of late answers, beyond twice that of calm moments."""
FIRST_REST, LEAST_REST, MOST_REST = 0.05, 0.05, 0.3
"""In proportion to the time that was worked."""
LONGER, SHORTER = 1.4, 0.8
"""What an order makes of the rests of the one before."""
CALM_PINGS, CALM_EVERY = 16, 0.005
"""How often it asks before it begins, and how many seconds apart."""
PING_EVERY = 0.01
FIRST_JOB, MOST_JOB = 32e6, 64e6
"""Bytes that the engine's own way moves in one job. Each job forks the source and copies with all that a processor gives, and
clients notice that while it lasts. Fewer bytes are no help: as measured, a job of a tenth takes half as long. Rests are."""
JOB_KEYS = 3_000
"""Of one job, at most: the source deletes what has gone in one piece, a microsecond and more for each key, and serves nobody
meanwhile. Of many small keys the jobs are small, therefore."""
SMALLER, LARGER = 0.6, 1.25
"""What one job, or group of slots, makes of the size of the next."""
FIRST_GROUP, MOST_GROUP = 1.0, 64
"""Slots that are open together. Closing one makes every shard of the database go through a slot map, write its view of the
cluster to its disk and wait for that. Those that are closed in the same moment are written once, which is quicker, and make the
moment longer for everybody: so there are more only of slots with few keys, and as long as that moment is short."""
GROUP_KEYS = 64
"""That the slots of one group may have together, when it is of more than one."""
FAST_GROUP = 16
"""Slots with more keys than that which are open together where nobody is there to notice."""
GROUP_STALL, GROUP_TOLERATED = 0.005, 0.1
"""A group is too large when more than this share of answers takes so many seconds longer than usual, beyond twice that of calm
moments. Not as strict as for keys: one slot alone makes everybody wait for the disk, and a group for hardly longer, so smaller
groups would mean more of these moments, not shorter ones."""
GROUP_ANSWERS = 10
"""So many answers decide on the next size. Of one or two there is always one that met the moment of closing."""
GROUP_GROWTH = 2.0
JOB_TOLERATED = 0.004
"""As TOLERATED, of the answers of jobs and rests together; the start of new shards, before that, is noticed, too."""
FIRST_JOB_REST, LEAST_JOB_REST, MOST_JOB_REST = 1.0, 0.2, 2.0
"""In proportion to the time that the job took."""
GENTLE_SLOTS, GENTLE_KEYS, GENTLE_BYTES = 185, 2_000, 3e6
"""A second. Where that many or fewer have gone, it may rest for longer: valkey-cli, which moves slot by slot and key by key, takes
as long."""
REMEMBERED_CALM, REMEMBERED_BUSY, REMEMBERED_JOBS = 10 * CALM_PINGS, 300, 100
PING_SECONDS = 2.0


class TransferPace:
    """Of one source, kept from order to order."""

    def __init__(self) -> None:
        self._keys = FIRST_KEYS
        self._bytes = FIRST_BYTES
        self._rest = FIRST_REST
        self._calm: deque[float] = deque(maxlen=REMEMBERED_CALM)
        self._busy: deque[float] = deque(maxlen=REMEMBERED_BUSY)
        self._rested_at = 0.0
        self._job = FIRST_JOB
        self._in_job = False
        self._job_answers: deque[float] = deque(maxlen=REMEMBERED_JOBS)
        self._group = FIRST_GROUP
        self._group_answers: deque[float] = deque(maxlen=REMEMBERED_BUSY)

    @asynccontextmanager
    async def watched(self, *shards: Connection, fast: bool = False) -> AsyncIterator[None]:
        """Ask the shards all the while, on connections that nothing else waits on: first while nothing moves."""
        if fast:
            self._rest, self._rested_at = LEAST_REST, time.monotonic()
            yield
            return
        for _ in range(CALM_PINGS):
            self._calm.append(await _ping(shards))
            await asyncio.sleep(CALM_EVERY)
        if self._busy:
            slow = self._noticed(self._busy)
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
            if self._in_job:
                # One that was late held up others: as many as would have been asked for meanwhile.
                self._job_answers.extend([self._busy[-1]] * (1 + int(self._busy[-1] / PING_EVERY)))
            self._group_answers.append(self._busy[-1])

    def _noticed(self, answers: Sequence[float]) -> bool:
        """Whether more of them are late than clients put up with."""
        return self._excess(answers) > TOLERATED

    def _excess(self, answers: Sequence[float]) -> float:
        """The share of them that is late, beyond twice that of calm moments; below 0 where fewer are."""
        late = LATE * median(self._calm) + UNNOTICED
        return _share(answers, late) - 2 * _share(self._calm, late)

    def group(self, counts: Sequence[int], *, fast: bool) -> int:
        """How many of the next slots, given by their numbers of keys, are opened together."""
        if not fast and len(self._group_answers) >= GROUP_ANSWERS:
            factor = SMALLER if self._stalled() else GROUP_GROWTH
            self._group = max(FIRST_GROUP, min(MOST_GROUP, self._group * factor))
            self._group_answers.clear()
        taken = keys = 0
        for count in counts[: MOST_GROUP if fast else int(self._group)]:
            keys += count
            if taken >= (FAST_GROUP if fast else 1) and keys > GROUP_KEYS:
                break
            taken += 1
        return max(1, taken)

    def _stalled(self) -> bool:
        """Whether closing slots together makes shards wait for long."""
        late = LATE * median(self._calm) + GROUP_STALL
        return _share(self._group_answers, late) > 2 * _share(self._calm, late) + GROUP_TOLERATED

    def job_slots(self, slot_bytes: float, slot_keys: float, *, fast: bool) -> int:
        """How many slots the next job of the engine's own way moves, of that size on average."""
        self._in_job = True
        slots = (MOST_JOB if fast else self._job) / max(slot_bytes, 1)
        return int(slots if fast or not slot_keys else min(slots, JOB_KEYS / slot_keys))

    def rest_after_job(self, seconds: float, slots: int, keys: int, size: float) -> float:
        """For how many seconds the shards are to be left alone after a job that took `seconds`: for so long that of all answers,
        those of rests included, not more are late than clients put up with; but not longer than slots, keys and bytes of data
        (`size`) are worth."""
        self._in_job = False
        wanted = self._excess(self._job_answers) / JOB_TOLERATED - 1 if self._job_answers else FIRST_JOB_REST
        factor = LARGER if wanted < LEAST_JOB_REST else SMALLER
        self._job = max(FIRST_JOB, min(MOST_JOB, self._job * factor))
        worth = min(slots / GENTLE_SLOTS, keys / GENTLE_KEYS + size / GENTLE_BYTES) - seconds
        return min(max(seconds * MOST_JOB_REST, worth), seconds * max(LEAST_JOB_REST, wanted))

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


def _share(answers: Sequence[float], late: float) -> float:
    return sum(answer > late for answer in answers) / len(answers)


async def _ping(shards: Sequence[Connection]) -> float:
    """Seconds until the slowest has answered."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(PING_SECONDS):
            await asyncio.gather(*(shard.execute("PING") for shard in shards))
    except TimeoutError:
        raise EngineError(f"a shard does not answer within {PING_SECONDS:g} s") from None
    return time.monotonic() - began
