"""One poll of all shards of an agent: INFO on each shard's connection, and CLUSTER INFO for primaries.

Replies are processed by callbacks: a task, a timeout and a lock per shard would cost more than the exchange itself, and a machine
can run hundreds of shards.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shardboard.agent.databases.engine_client import Connection, EngineError, packed
from shardboard.agent.databases.probe_rate import RATES, ProbeRate
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.metrics.command_classes import CommandClasses
from shardboard.agent.metrics.info import (
    SECTIONS,
    TIER_SECTION,
    InfoReader,
    OwnTrafficCounters,
    shard_values,
    tier_values,
)
from shardboard.agent.metrics.pings import PING, PingSampler
from shardboard.contract import SHARD_FIELDS

INFO = packed("INFO", *SECTIONS)
INFO_ON_FLASH = packed("INFO", *SECTIONS, TIER_SECTION)
CLUSTER_INFO = packed("CLUSTER", "INFO")
CLUSTER_DOWN = SHARD_FIELDS.index("cluster_down")
CLUSTER_INFO_SECONDS = 5
"""Longest time between two CLUSTER INFO requests to a primary. The engine iterates over all 16,384 slots for each reply."""
LOADING = "LOADING"
"""Error prefix with which an engine rejects PING while it loads. It still answers INFO."""


class ShardReading(NamedTuple):
    """Values of one shard."""

    values: list[float | None]
    """In the order of SHARD_FIELDS."""
    pings: list[int]
    """Duration of each PING since the last reading, in microseconds."""
    tier: list[float | None] | None = None
    """In the order of TIER_FIELDS; only for a shard on flash."""


ReadingOrReason = ShardReading | str
"""A reading, or the reason why there is none."""


class ShardPoller:
    """Reads shards once a second."""

    def __init__(self, rate: ProbeRate) -> None:
        self._rate = rate
        self._classes = CommandClasses()
        self._readers: dict[int, InfoReader] = {}
        self._states: dict[int, float] = {}
        """`cluster_down` of each primary in the last round. A shard that has just become primary has no entry."""
        self._round = 0
        self.pings = PingSampler(rate)

    async def poll(self, shards: Sequence[LocalShard], timeout: float) -> list[ReadingOrReason]:
        """Return one outcome per shard, in the same order, after at most `timeout` seconds."""
        reason = f"it did not reply to INFO within {timeout} s"
        self._round += 1
        interval = min(CLUSTER_INFO_SECONDS, RATES[-1] // self._rate.per_second)
        polls = [
            _ShardPoll(
                shard,
                self._readers.setdefault(uid, InfoReader()),
                self.pings,
                self._states.get(uid) if (self._round + uid) % interval else None,
            )
            for shard in shards
            for uid in [shard.record.spec.uid]
        ]
        try:
            async with asyncio.timeout(timeout):
                new_polls = [poll for poll in polls if not self._begin(poll)]
                await asyncio.gather(*(self._prepare(poll) for poll in new_polls))
                for poll in polls:
                    if not poll.outcome.done():
                        await poll.outcome
        except TimeoutError:
            pass
        for uid in self._readers.keys() - {shard.record.spec.uid for shard in shards}:
            del self._readers[uid]
        self.pings.retain(self._readers)
        outcomes = [poll.result(reason) for poll in polls]
        states = {
            shard.record.spec.uid: outcome.values[CLUSTER_DOWN]
            for shard, outcome in zip(shards, outcomes, strict=True)
            if isinstance(outcome, ShardReading)
        }
        self._states = {uid: state for uid, state in states.items() if state is not None}
        return outcomes

    def _begin(self, poll: "_ShardPoll") -> bool:
        """Send INFO immediately if the shard is connected and its command classes are known."""
        connection, classes = poll.shard.connection, self._classes.cached(poll.shard.record.run_id)
        if connection is None or connection.closed or classes is None:
            return False
        poll.begin(connection, classes)
        return True

    async def _prepare(self, poll: "_ShardPoll") -> None:
        try:
            connection = await poll.shard.connect()
            poll.begin(connection, await self._classes.read(connection, poll.shard.record.run_id))
        except EngineError as error:
            poll.outcome.set_result(str(error))


class _ShardPoll:
    """Poll of one shard in one second."""

    def __init__(
        self, shard: LocalShard, reader: InfoReader, pings: PingSampler, cluster_down: float | None = None
    ) -> None:
        """`cluster_down` is the value to use for a primary. None: read it with CLUSTER INFO."""
        self.shard = shard
        self._pings = pings
        self._cluster_down = cluster_down
        self.outcome: asyncio.Future[ReadingOrReason] = asyncio.get_running_loop().create_future()
        self._reader = reader

    def begin(self, connection: Connection, classes: Mapping[str, str]) -> None:
        self._connection, self._classes = connection, classes
        # INFO counts all bytes received so far, and all replies except its own. It is sent alone because the engine may or may not
        # count a concurrent PONG, depending on how it reads the two requests.
        if connection.idle and self._pings.has_results(self.shard.record.spec.uid):
            self._request_info()
        else:
            connection.send_packed(PING, "ping", self._on_pong)

    def result(self, late: str) -> ReadingOrReason:
        if not self.outcome.done():
            self.outcome.cancel()
        return late if self.outcome.cancelled() else self.outcome.result()

    def _on_pong(self, reply: Any) -> None:
        if self.outcome.done():
            return
        if not isinstance(reply, EngineError):
            self._pings.add(self.shard.record.spec.uid, self._connection.last_seconds)
        elif not str(reply).startswith(LOADING):
            self.outcome.set_result(str(reply))
            return
        self._request_info()

    def _request_info(self) -> None:
        on_flash = self.shard.record.bdb.tier is not None
        self._connection.send_packed(INFO_ON_FLASH if on_flash else INFO, "info", self._on_info)
        traffic = self.shard.own_traffic
        self._own = OwnTrafficCounters(dict(traffic.commands), traffic.bytes_sent, traffic.bytes_received)

    def _on_info(self, reply: Any) -> None:
        if self.outcome.done():
            return
        if isinstance(reply, EngineError):
            self.outcome.set_result(str(reply))
            return
        record = self.shard.record
        pings = self._pings.take(record.spec.uid)
        info = self._reader.read(reply)
        values = shard_values(info, self._classes, self._own, record, pings)
        reading = ShardReading(values, pings, tier_values(info))
        if not record.bdb.cluster or info.fields.get("role") != "master":
            self.outcome.set_result(reading)
            return
        if self._cluster_down is not None:
            values[CLUSTER_DOWN] = self._cluster_down
            self.outcome.set_result(reading)
            return
        # Only now: if it were sent together with INFO, its bytes might already be counted.
        self._connection.send_packed(
            CLUSTER_INFO, "cluster", lambda cluster_info: self._on_cluster_info(reading, cluster_info)
        )

    def _on_cluster_info(self, reading: ShardReading, reply: Any) -> None:
        """Store the cluster state. A primary can reply to INFO and PING and still reject all other commands."""
        if self.outcome.done():
            return
        if isinstance(reply, EngineError):
            self.outcome.set_result(str(reply))
            return
        reading.values[CLUSTER_DOWN] = float("cluster_state:ok" not in reply)
        self.outcome.set_result(reading)
