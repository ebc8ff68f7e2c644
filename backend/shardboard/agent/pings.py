"""How soon local shards answer: a PING to each of them up to ten times a second, on the connection that INFO is asked on, too.

Called *responsiveness*, not latency: what it measures includes the agent's own waiting for a processor, which on a saturated
machine is several times what clients see.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable

from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.resp import Connection, EngineError, packed
from shardboard.agent.shard import Shard

PING = packed("PING")
MAX_PINGS = 100
"""PINGs per second of one agent, which has a single thread. Each shard still gets at least one per second."""
WAITING = 0.005
"""Seconds in each round that may be spent waiting for replies: usually each takes less than 0.1 ms, but an agent on a starved
machine must not stand still for its shards."""


class Pings:
    """Collects what each PING took, until it is taken."""

    def __init__(self, rate: ProbeRate) -> None:
        self._rate = rate
        self._waits: dict[int, _Wait] = {}

    async def run(self, shards: Callable[[], Collection[Shard]]) -> None:
        """Ask `shards` again and again, until cancelled."""
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            # Agents of one machine must not ask at the same instants: this beat is any, and not that of the second.
            due = max(due + self.ask(shards()), clock())
            await asyncio.sleep(due - clock())

    def ask(self, shards: Collection[Shard]) -> float:
        """One PING to each that is connected and owes no reply; the seconds until the next."""
        interval = min(max(1 / self._rate.per_second, len(shards) / MAX_PINGS), 1.0)
        give_up = time.perf_counter() + WAITING
        for shard in shards:
            connection = shard.connection
            if connection is not None and connection.idle:
                ask = connection.ask_and_wait if time.perf_counter() < give_up else connection.ask
                ask(PING, "ping", self._wait(shard.record.spec.uid).on(connection, interval))
        return interval

    def any(self, uid: int) -> bool:
        """Whether there is something to take."""
        return uid in self._waits and bool(self._waits[uid].taken)

    def add(self, uid: int, seconds: float) -> None:
        """What a PING took that somebody else sent."""
        self._wait(uid).taken.append(round(seconds * 1e6))

    def take(self, uid: int) -> list[int]:
        """Microseconds of every PING that was answered since the last call."""
        wait = self._wait(uid)
        taken, wait.taken = wait.taken, []
        return taken

    def keep(self, uids: Iterable[int]) -> None:
        """Forget all other shards."""
        for uid in self._waits.keys() - set(uids):
            del self._waits[uid]

    def _wait(self, uid: int) -> "_Wait":
        if uid not in self._waits:
            self._waits[uid] = _Wait()
        return self._waits[uid]


class _Wait:
    """One shard's PINGs; at most one is under way."""

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
            # Those that were due meanwhile and not sent would have waited for the rest of it: a stall is not one slow PING.
            if (seconds := seconds - self._interval) <= 0:
                return
