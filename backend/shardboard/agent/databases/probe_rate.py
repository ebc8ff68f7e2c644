"""Limit the CPU time that probing costs: the PINGs of agents and the canary writes of proxies."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

log = logging.getLogger(__name__)

CPU_SHARE = 0.05
"""Share of the machine's cores for the probes of all shards on it."""
SECONDS_PER_PROBE = 200e-6
"""CPU time that engine, agent and proxies need for one PING and two canary writes (docs/benchmarks/collection.md)."""
RATES = (1, 2, 5, 10)
"""Probes per shard and second. The lowest rate is kept on any machine, so that failures are detected."""
CHECK_SECONDS = 10
ENGINES = frozenset({"valkey-server", "redis-server"})


def affordable_rate(engines: int, cores: int) -> int:
    """Return the highest rate that keeps the probes of `engines` shards within their share of `cores`."""
    limit = CPU_SHARE * cores / (SECONDS_PER_PROBE * max(engines, 1))
    return max((rate for rate in RATES if rate <= limit), default=RATES[0])


class ProbeRate:
    """Follows the number of engine processes on the machine, including those of other agents."""

    def __init__(self) -> None:
        self.engines = 0
        self.per_second = RATES[-1]

    async def run(self, on_change: Callable[[], Awaitable[None]]) -> None:
        """Check the number of processes until cancelled, and call `on_change` after the rate has changed."""
        while True:
            try:
                await self.check(on_change)
            except Exception:  # one failed check must not end the loop
                log.exception("probe rate: check failed")
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self, on_change: Callable[[], Awaitable[None]]) -> None:
        self.engines = await asyncio.to_thread(count_engines)
        rate = affordable_rate(self.engines, os.cpu_count() or 1)
        if rate != self.per_second:
            log.info(
                "probe rate: %s engine processes on this machine, %s probes per second and shard", self.engines, rate
            )
            self.per_second = rate
            await on_change()


def count_engines(processes: Path = Path("/proc")) -> int:
    """Return the number of engine processes. This reads one short file per process; psutil needs ten times as long."""
    count = 0
    for entry in os.scandir(processes):
        if entry.name.isdecimal():
            try:
                with open(f"{entry.path}/comm") as file:  # noqa: PTH123 - Path.open costs as much as the reading
                    count += file.readline().rstrip("\n") in ENGINES
            except OSError:
                continue  # it ended
    return count
