"""Lowers the CPU priority of processes that copy data, so that they do not slow down processes that serve clients.

While a shard's data is saved, sent or loaded, the process that does this only runs when no other process of the agent's service or
container needs the CPU. Three kinds of processes copy: forks of an engine, replicas that load the data of their primary and serve
no clients at that time, and transfers with their child processes.

They get the scheduling policy SCHED_IDLE (sched(7)), so that processes that serve clients preempt them immediately. A process that
starves, because the machine has no CPU time left for it, gets the normal policy again: a copy that never completes protects no
data.

An engine logs each fork and the start and end of each copy, so inotify(7) on the logs shows when to check.
"""

import asyncio
import logging
import os
import resource
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from errno import EPERM
from pathlib import Path

import psutil
from asyncinotify import Event, Inotify, Mask

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.process_threads import child_processes, threads
from shardboard.agent.databases.shard import LocalShard
from shardboard.kit.tasks import Tasks
from shardboard.valkey.replies import info_fields

log = logging.getLogger(__name__)

CAP_SYS_NICE = 23
"""Its bit in capabilities(7)."""
LISTEN_SECONDS = 0.02
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 0.4
"""Seconds between two checks of a shard. The interval doubles while its log grows: an engine that moves slots logs a lot."""
CHECK_SECONDS = 1.0
STARVATION_SECONDS = 5.0
"""How long a lowered process may starve before it gets the normal policy again."""
MIN_CPU_SHARE = 0.02
"""Minimum share of the CPU time that it could have used. Next to normal processes that use a full CPU, SCHED_IDLE gets 0.3%."""
ANSWER_SECONDS = 5.0


@dataclass
class LoweredProcess:
    """A process with lowered priority, and its CPU times at the last check."""

    process: psutil.Process
    ran: int
    waited: int
    """Nanoseconds on a CPU, and runnable but waiting: /proc/<pid>/schedstat."""
    since: float


class ShardPriorities:
    """CPU priorities of this node's shards. Restoring the normal policy needs a privilege; without it no process is lowered."""

    def __init__(self) -> None:
        self._shards: Mapping[int, LocalShard] = {}
        self._copies: Callable[[], Iterable[int]] = tuple
        self._lowered: dict[int, LoweredProcess] = {}
        """By pid."""
        self._starved: dict[int, psutil.Process] = {}
        """Processes that stay at normal priority from now on, by pid."""
        self._polls: Tasks[int] = Tasks()
        """Running checks by uid of the shard. A check asks the engine, which can take long while it loads."""
        self._again: set[int] = set()
        """Uids of shards that have logged more since their last check."""
        self._inotify: Inotify | None = None

    async def run(self, shards: Mapping[int, LocalShard], copies: Callable[[], Iterable[int]] = tuple) -> None:
        """Watch the current content of `shards` until cancelled. `copies` returns the pids of processes that only copy."""
        self._shards, self._copies = shards, copies
        try:
            self._inotify = _inotify()
        except OSError as error:
            log.info("priority: copying processes keep their priority: %s", error.strerror or error)
            return
        try:
            with self._inotify as inotify:
                for shard in shards.values():
                    self.watch(shard)
                async with self._polls.cancelled_at_exit():
                    try:
                        async with asyncio.TaskGroup() as tasks:
                            tasks.create_task(self._listen(inotify))
                            tasks.create_task(self._watch_lowered())
                    finally:
                        self._inotify = None
        except Exception:
            log.exception("priority: watching ended after an error; copying processes keep their priority")
        finally:
            for pid in list(self._lowered):  # shards continue to run without the agent
                self._restore(pid)

    def watch(self, shard: LocalShard) -> None:
        """Watch a new shard. Call this as soon as its log exists; the watch ends with the log."""
        if self._inotify is None:
            return
        try:
            self._inotify.add_watch(shard.directory / shard_config.LOG, Mask.MODIFY)
        except OSError as error:
            log.warning("priority: watching the log of shard %s failed: %s", shard.record.spec.uid, error)
        self._schedule_check(shard)

    def lower_new(self, pid: int) -> None:
        """Lower a process that only copies, before it starts threads and child processes, which inherit this."""
        if self._inotify is not None:
            self._lower(pid)

    async def _listen(self, inotify: Inotify) -> None:
        while True:
            event: Event | None = await inotify.get()
            while event is not None:
                path = event.path
                shard = self._shards.get(_uid(path)) if path is not None else None
                if shard is not None:
                    self._schedule_check(shard)
                event = inotify.sync_get()
            await asyncio.sleep(LISTEN_SECONDS)

    async def _watch_lowered(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                self._check_lowered(asyncio.get_running_loop().time())
            except Exception:  # one error must not leave a process lowered forever
                log.exception("priority: checking lowered processes failed")

    def _check_lowered(self, now: float) -> None:
        for pid, lowered_process in list(self._lowered.items()):
            if not lowered_process.process.is_running():
                del self._lowered[pid]
            else:
                self._restore_if_starved(lowered_process, now)
        for pid, process in list(self._starved.items()):
            if not process.is_running():
                del self._starved[pid]
        for pid in self._copies():
            for process_id in (pid, *child_processes(pid)):
                self._lower(process_id)
        unpolled = self._again - set(self._polls)
        self._again -= unpolled
        for uid, shard in list(self._shards.items()):
            if uid in unpolled or (shard.process is not None and shard.process.pid in {*self._lowered, *self._starved}):
                self._schedule_check(shard)

    def _restore_if_starved(self, lowered: LoweredProcess, now: float) -> None:
        """Restore a process that has got too little CPU time for a full interval."""
        if now - lowered.since < STARVATION_SECONDS:
            return
        pid = lowered.process.pid
        try:
            run_time, wait_time = _schedstat(pid)
        except OSError:
            return  # it has ended
        run_time_since, runnable = run_time - lowered.ran, run_time - lowered.ran + wait_time - lowered.waited
        if runnable > STARVATION_SECONDS * 1e9 / 2 and run_time_since < MIN_CPU_SHARE * runnable:
            log.info("priority: process %d copies data but gets too little CPU time; normal priority restored", pid)
            self._starved[pid] = lowered.process
            self._restore(pid)
        else:
            lowered.ran, lowered.waited, lowered.since = run_time, wait_time, now

    def _schedule_check(self, shard: LocalShard) -> None:
        """Check a shard now, or soon if a check is running."""
        uid = shard.record.spec.uid
        if self._inotify is None:
            return
        if uid in self._polls:
            self._again.add(uid)
        else:
            self._polls.start(uid, self._check_repeatedly(shard))

    async def _check_repeatedly(self, shard: LocalShard) -> None:
        uid, pause = shard.record.spec.uid, MIN_POLL_SECONDS
        while (process := shard.process) is not None:
            self._again.discard(uid)
            if _is_lowered(process.pid):  # lowered by a killed agent
                self._lower(process.pid)
            for child in child_processes(process.pid):
                self._lower(child)
            await self._check_engine(shard, process.pid)
            await asyncio.sleep(pause)
            if uid not in self._again:
                return
            pause = min(2 * pause, MAX_POLL_SECONDS)

    async def _check_engine(self, shard: LocalShard, pid: int) -> None:
        """Lower the process if it copies. A process that does not reply is restored, because it may serve clients by now."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                info = info_fields(await (await shard.connect()).execute("INFO", "replication", "persistence"))
        except (EngineError, TimeoutError):
            info = {}
        if shard.process is None or shard.process.pid != pid:
            return
        if _copies(info):
            self._lower(pid)
            return
        # Really done, not just between two attempts
        if info.get("role") == "master" or info.get("master_link_status") == "up":
            self._starved.pop(pid, None)
        self._restore(pid)

    def _lower(self, pid: int) -> None:
        if pid in self._lowered or pid in self._starved:
            return
        try:
            if not can_restore_priority(pid):
                return  # started by an agent with fewer privileges
            process, (run_time, wait_time) = psutil.Process(pid), _schedstat(pid)
            _set_policy(pid, os.SCHED_IDLE)
        except (OSError, psutil.Error):
            return  # it has ended
        self._lowered[pid] = LoweredProcess(process, run_time, wait_time, asyncio.get_running_loop().time())

    def _restore(self, pid: int) -> None:
        self._lowered.pop(pid, None)
        try:
            if _is_lowered(pid):
                _set_policy(pid, os.SCHED_OTHER)
        except PermissionError:
            log.error("priority: process %d stays at low priority because the agent is not permitted to raise it", pid)


def can_restore_priority(pid: int) -> bool:
    """Return whether a lowered process can be restored: with CAP_SYS_NICE, or if its own RLIMIT_NICE allows it (sched(7)). Shards
    keep the limits of the agent that started them. Raises OSError if the process has ended.
    """
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    if capabilities >> CAP_SYS_NICE & 1:
        return True
    limit, _ = resource.prlimit(pid, resource.RLIMIT_NICE)
    return limit == resource.RLIM_INFINITY or limit >= 20 - os.getpriority(os.PRIO_PROCESS, pid)


def _inotify() -> Inotify:
    """Return an inotify instance. Raises OSError if a requirement is missing."""
    if not can_restore_priority(os.getpid()):
        raise PermissionError(
            EPERM, "the agent is not permitted to raise priorities (set LimitNICE= in systemd or ulimit -e)"
        )
    _schedstat(os.getpid())
    return Inotify(sync_timeout=0)


def _uid(log_file: Path) -> int:
    name = log_file.parent.name
    return int(name) if name.isdecimal() else -1


def _is_lowered(pid: int) -> bool:
    try:
        return os.sched_getscheduler(pid) == os.SCHED_IDLE
    except OSError:
        return False  # it has ended


def _set_policy(pid: int, policy: int) -> None:
    """Set the policy of all threads, each of which has its own."""
    for thread in threads(pid):
        with suppress(ProcessLookupError):
            os.sched_setscheduler(thread, policy, os.sched_param(0))


def _schedstat(pid: int) -> tuple[int, int]:
    """Return the sums over all threads. Raises FileNotFoundError if the process has ended."""
    ran, waited = 0, 0
    for thread in threads(pid):
        with suppress(ProcessLookupError, FileNotFoundError):
            run_time, wait_time, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
            ran, waited = ran + int(run_time), waited + int(wait_time)
    if not Path(f"/proc/{pid}").exists():
        raise FileNotFoundError(pid)
    return ran, waited


def _copies(info: Mapping[str, str]) -> bool:
    """Return whether this is a replica that serves no clients because it receives or loads its primary's data."""
    return info.get("role") == "slave" and "1" in (info.get("master_sync_in_progress"), info.get("loading"))
