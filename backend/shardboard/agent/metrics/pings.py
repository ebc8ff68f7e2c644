"""Responsiveness of local shards: a PING to each up to ten times a second, on the connection that is also used for INFO.

It is called *responsiveness*, not latency, because it includes the time that the agent waits for a CPU. On a saturated machine this
is several times the latency of clients.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable

from shardboard.agent.databases.engine_client import Connection, EngineError, packed
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.shard import LocalShard

PING = packed("PING")
MAX_PINGS = 100
"""PINGs per second of one agent, which has a single thread. Each shard gets at least one per second."""
MAX_WAIT_SECONDS = 0.005
"""Seconds per round for waiting for replies. A reply usually takes less than 0.1 ms, but on an overloaded machine the agent must
not block on its shards.
"""


class PingSampler:
    """Collects PING durations until they are taken."""

    def __init__(self, rate: ProbeRate) -> None:
        self._rate = rate
        self._waits: dict[int, _Wait] = {}

    async def run(self, shards: Callable[[], Collection[LocalShard]]) -> None:
        """Send PINGs to `shards` repeatedly until cancelled."""
        clock = asyncio.get_running_loop().time
        next_due = clock()
        while True:
            # Agents on one machine must not send at the same instants, so this beat is not aligned to the second.
            next_due = max(next_due + self.send(shards()), clock())
            await asyncio.sleep(next_due - clock())

    def send(self, shards: Collection[LocalShard]) -> float:
        """Send one PING to each connected shard that owes no reply. Return the seconds until the next round."""
        interval = min(max(1 / self._rate.per_second, len(shards) / MAX_PINGS), 1.0)
        deadline = time.perf_counter() + MAX_WAIT_SECONDS
        for shard in shards:
            connection = shard.connection
            if connection is not None and connection.idle:
                send = connection.send_and_wait if time.perf_counter() < deadline else connection.send_packed
                send(PING, "ping", self._wait(shard.record.spec.uid).on(connection, interval))
        return interval

    def has_results(self, uid: int) -> bool:
        """Return whether there are durations to take."""
        return uid in self._waits and bool(self._waits[uid].taken)

    def add(self, uid: int, seconds: float) -> None:
        """Add the duration of a PING that was sent elsewhere."""
        self._wait(uid).taken.append(round(seconds * 1e6))

    def take(self, uid: int) -> list[int]:
        """Return the microseconds of each PING that was answered since the last call."""
        wait = self._wait(uid)
        durations, wait.taken = wait.taken, []
        return durations

    def retain(self, uids: Iterable[int]) -> None:
        """Remove all other shards."""
        for uid in self._waits.keys() - set(uids):
            del self._waits[uid]

    def _wait(self, uid: int) -> "_Wait":
        if uid not in self._waits:
            self._waits[uid] = _Wait()
        return self._waits[uid]


class _Wait:
    """The PINGs of one shard; at most one is pending."""

    __slots__ = ("_connection", "_interval", "taken")

    def __init__(self) -> None:
        self.taken: list[int] = []

    def on(self, connection: Connection, interval: float) -> "Callable[[object], None]":
        self._connection, self._interval = connection, interval
        return self._answered

    def _answered(self, reply: object) -> None:
        if isinstance(reply, EngineError):
            return
        seconds = self._connection.last_seconds
        while True:
            self.taken.append(round(seconds * 1e6))
            # PINGs that were due during the stall were not sent and would have waited for the rest of it: a stall is not one slow
            # PING.
            if (seconds := seconds - self._interval) <= 0:
                return
