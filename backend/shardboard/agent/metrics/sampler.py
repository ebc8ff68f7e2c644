"""Sampling: once per second, read all local shards and the machine into a ring of numbered samples."""

import asyncio
import logging
import math
import time
import zlib
from collections import defaultdict

from shardboard.agent.databases.connection_guard import ConnectionGuard
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.databases.shard import LocalShard
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.polling import ShardPoller
from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.contract import Sample

log = logging.getLogger(__name__)

TIMEOUT = 0.8
"""Seconds. A shard that needs longer leaves a gap in this second, so that sampling stays on time."""
PROXY_TIMEOUT = 0.4
"""Seconds that the proxy may take to report the previous second. It reports at the start of each second."""

SPREAD_PER_ENGINE, MAX_SPREAD = 0.0008, 0.4
"""Seconds over which the agents of one machine spread their readings."""


class Sampler:
    """The loop that fills the ring."""

    def __init__(
        self, supervisor: ShardSupervisor, machine: MachineSampler, proxy: ProxyProcess, rate: ProbeRate, address: str
    ) -> None:
        self._supervisor = supervisor
        self._proxy = proxy
        self._machine = machine
        self._rate = rate
        self._phase = zlib.crc32(address.encode()) / 2**32
        """Position of this agent among those of its machine, from 0 to 1."""
        self._readings = ShardPoller(rate)
        self._guard = ConnectionGuard()
        self.ring = SampleRing(lambda: proxy.outages.since(0)[1])
        self._outages = 0
        """Report number of the newest outage that a sample has included."""

    async def run(self) -> None:
        """Sample until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._readings.pings.run(self._running))
            tasks.create_task(self._sample_loop())

    def _running(self) -> list[LocalShard]:
        return [shard for shard in self._supervisor.shards.values() if shard.state == "running"]

    async def _sample_loop(self) -> None:
        last = 0
        while True:
            offset, now = self._offset(), time.time()
            second = next_second(now, offset, last)
            await asyncio.sleep(second + offset - now)
            last = second
            try:
                await self._beat(second)
            except Exception:  # an error in one second must not end sampling
                log.exception("sampler: sampling a second failed")

    def _offset(self) -> float:
        """Seconds after the full second at which shards are read.

        Hundreds of engines on a few cores that reply at the same instant delay everything else. With few engines the offset is
        a few milliseconds, so that offsets of primaries and replicas on different nodes are comparable.
        """
        return min(self._rate.engines * SPREAD_PER_ENGINE, MAX_SPREAD) * self._phase

    async def _beat(self, second: int) -> None:
        self._supervisor.check()
        running_shards = {shard.record.spec.uid: shard for shard in self._running()}
        results, proxy = await asyncio.gather(
            self._readings.poll(list(running_shards.values()), TIMEOUT), self._proxy.reading(second, PROXY_TIMEOUT)
        )
        values: dict[int, list[float | None]] = {}
        pings: dict[int, list[int]] = defaultdict(list)
        tiers: dict[int, list[float | None]] = {}
        missing: dict[int, str] = {}
        died = {uid: shard.detail for uid, shard in self._supervisor.shards.items() if shard.state == "died"}
        for uid, result in zip(running_shards, results, strict=True):
            if isinstance(result, str):
                missing[uid] = result
            else:
                values[uid] = result.values
                pings[running_shards[uid].record.spec.bdb_uid] += result.pings
                if result.tier is not None:
                    tiers[uid] = result.tier
        machine = self._machine.sample()
        newest, outages = self._proxy.outages.since(self._outages)
        sample = Sample(
            seq=self.ring.seq + 1,
            boot=self.ring.boot,
            t=second,
            at=time.time(),
            node=machine,
            shards=values,
            tiers=tiers,
            missing=missing,
            died=died,
            proxy=proxy,
            proxy_missing="" if proxy is not None else self._proxy.missing_reason(PROXY_TIMEOUT),
            late_proxy=self._proxy.late_reading(second),
            pings=pings,
            outages=outages,
        )
        self.ring.append(sample)
        self._outages = newest
        for uid, row in values.items():
            self._guard.check(running_shards[uid], row)


def next_second(now: float, offset: float, last: int) -> int:
    """Return the first second whose start plus `offset` is after `now`; the next one if it equals `last` because the offset has
    grown.
    """
    second = math.floor(now - offset) + 1
    return second + 1 if second == last else second
