"""Pins the processes of shards and the proxy to cores (sched_setaffinity(2)), all threads and child processes included.

The setting is in `cpu_pinning.json` in the state directory, so an agent that was restarted or killed continues with it before a
console connects. The file exists until pinning has been undone. Without it, the agent changes no affinity, so that processes that
were pinned by hand stay so.

The memory policy of processes does not change: the kernel allocates memory on the NUMA node of the core that a thread runs on, and
on another one if that is full. A strict binding would make the kernel kill a shard although the machine has free memory. Memory
that a running shard has allocated before stays where it is until the kernel's NUMA balancing moves it.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from shardboard.agent.cluster import cpu_topology
from shardboard.agent.databases.process_threads import child_processes, threads
from shardboard.agent.databases.shard import LocalShard
from shardboard.contract import CpuPinning, CpuTopology, PinningReport
from shardboard.contract.cpu_pinning import ShardCores, core_sets, format_cores, pinning_error, proxy_cores
from shardboard.pki.key_files import write_private

log = logging.getLogger(__name__)

CHECK_SECONDS = 5.0
"""Seconds between two checks of all processes: a proxy can be replaced, and cores can go offline."""
MAX_ROUNDS = 5
"""How often the threads of a process are listed again because new ones were found."""
Cores = frozenset[int]


class ProcessPinning:
    """The pinning of this node's processes."""

    def __init__(
        self,
        state_dir: Path,
        read_topology: Callable[[], CpuTopology] = cpu_topology.read,
        allowed: Cores | None = None,
    ) -> None:
        """`allowed` are the cores of processes that are not pinned. None: those of the agent."""
        self._file = state_dir / "cpu_pinning.json"
        self._read_topology = read_topology
        self._allowed = allowed if allowed is not None else cpu_topology.allowed_cores()
        self._shards: Mapping[int, LocalShard] = {}
        self._proxy_pid: Callable[[], int | None] = lambda: None
        self._pinning = self._load()
        self._sets: Sequence[Cores] = self._initial_sets()
        self._used: Counter[Cores] = Counter()
        """Number of shards with each set of cores."""
        self._changing = asyncio.Lock()
        self.report = PinningReport()

    @property
    def is_active(self) -> bool:
        return self._pinning.mode != "off"

    def attach(self, shards: Mapping[int, LocalShard], proxy_pid: Callable[[], int | None]) -> None:
        """Set the shards and the proxy of this node. `shards` is read whenever the setting is applied."""
        self._shards, self._proxy_pid = shards, proxy_pid

    async def set(self, pinning: CpuPinning) -> PinningReport:
        """Apply a setting from now on, also to running processes. Return what was applied."""
        async with self._changing:
            if pinning != self._pinning:
                try:
                    await asyncio.to_thread(write_private, self._file, pinning.model_dump_json().encode())
                except OSError as error:
                    log.error("CPU pinning: %s cannot be written: %s", self._file, error)
                    reason = f"the setting could not be stored on the node: {error.strerror or error}"
                    return self.report.model_copy(update={"state": "failed", "detail": reason[:1000]})
                self._pinning = pinning
            await self._apply()
            return self.report

    async def run(self) -> None:
        """Apply the setting to adopted and new processes until cancelled."""
        while True:
            try:
                async with self._changing:
                    await self._apply()
            except Exception:  # one error must not end the checks
                log.exception("CPU pinning: checking processes failed")
            await asyncio.sleep(CHECK_SECONDS)

    def pin_new(self, shard: LocalShard) -> None:
        """Pin a shard whose process has just started, before it starts threads and allocates memory."""
        if shard.process is None or not self._sets:
            return
        cores = assign_cores(self._sets, {shard.record.spec.uid: frozenset()}, self._used)[shard.record.spec.uid]
        self._used[cores] += 1
        with suppress(OSError):  # it has ended, or the next check reports why
            pin_process(shard.process.pid, cores)

    async def _apply(self) -> None:
        if not self._file.exists():
            self.report = PinningReport()
            return
        pids = {
            uid: shard.process.pid
            for uid, shard in list(self._shards.items())
            if shard.process is not None and shard.state != "died"
        }
        proxy = self._proxy_pid()
        report = await asyncio.to_thread(self._applied, self._pinning, pids, proxy)
        if report.detail and report.detail != self.report.detail:
            log.warning("CPU pinning: %s", report.detail)
        self.report = report
        # A proxy that does not run now, or that this agent has not adopted yet, can still be pinned.
        if report.state == "off" and proxy is not None:
            self._file.unlink(missing_ok=True)

    def _applied(self, pinning: CpuPinning, pids: Mapping[int, int], proxy: int | None) -> PinningReport:
        try:
            topology = self._read_topology()
            field, reason = pinning_error(pinning, topology)
            if field:
                self._sets = ()
                return PinningReport(state="failed", detail=f"{field}: {reason}"[:1000])
            self._sets = core_sets(pinning, topology)
            current = {uid: cores for uid, pid in pids.items() if (cores := affinity(pid))}
            assigned = assign_cores(self._sets or [self._allowed], current)
            for uid, cores in assigned.items():
                pin_process(pids[uid], cores)
            self._used = Counter(assigned.values())
            if proxy is not None:
                pin_process(proxy, proxy_cores(pinning) or self._allowed)
        except OSError as error:
            reason = f"the affinity of a process could not be changed: {error.strerror or error}"
            return PinningReport(state="failed", detail=reason[:1000])
        return PinningReport(
            state="active" if self.is_active else "off",
            shards={uid: _shard_cores(cores, topology) for uid, cores in assigned.items()} if self._sets else {},
            proxy=format_cores(proxy_cores(pinning)) if proxy is not None else "",
        )

    def _initial_sets(self) -> Sequence[Cores]:
        """Return the cores for shards that the agent starts again before the first check."""
        if not self.is_active:
            return ()
        topology = self._read_topology()
        return () if pinning_error(self._pinning, topology)[0] else core_sets(self._pinning, topology)

    def _load(self) -> CpuPinning:
        try:
            return CpuPinning.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return CpuPinning()
        except (OSError, ValidationError) as error:  # the console sends the setting again
            log.error("CPU pinning: %s cannot be read: %s", self._file, error)
            return CpuPinning()


def assign_cores(
    sets: Sequence[Cores], current: Mapping[int, Cores], used: Mapping[Cores, int] = MappingProxyType({})
) -> dict[int, Cores]:
    """Return the cores of each shard. A shard keeps its set, because its memory is there; others get the set with the fewest
    shards. `used` are the numbers of further shards with each set.
    """
    assigned = {uid: cores for uid, cores in current.items() if cores in sets}
    counts = Counter(used) + Counter(assigned.values())
    for uid in sorted(current.keys() - assigned.keys()):
        assigned[uid] = min(sets, key=lambda cores: counts[cores])
        counts[assigned[uid]] += 1
    return assigned


def affinity(pid: int) -> Cores:
    """Return the cores of the main thread; empty if the process has ended."""
    with suppress(ProcessLookupError):
        return frozenset(os.sched_getaffinity(pid))
    return frozenset()


def pin_process(pid: int, cores: Collection[int]) -> None:
    """Set the cores of all threads and child processes. Raises OSError if that is impossible, and nothing if it has ended."""
    for process in (pid, *child_processes(pid)):
        _pin_threads(process, cores)


def _pin_threads(pid: int, cores: Collection[int]) -> None:
    pinned: set[int] = set()
    for _ in range(MAX_ROUNDS):
        # A thread inherits the cores of the thread that starts it, which may not have been pinned yet.
        new = set(threads(pid)) - pinned
        if not new:
            return
        for thread in new:
            with suppress(ProcessLookupError):
                if os.sched_getaffinity(thread) != cores:
                    os.sched_setaffinity(thread, cores)
        pinned |= new


def _shard_cores(cores: Cores, topology: CpuTopology) -> ShardCores:
    return ShardCores(cores=format_cores(cores), numa_nodes=topology.numa_nodes_of(cores))
