"""Copying gives way: while a shard's data is saved, sent or loaded, what does that runs only when nobody else wants the processor,
among the processes of the agent's service or container.

Two kinds of process copy: the forks of an engine, and a replica that loads what its primary sends and serves nobody meanwhile.
They get the policy SCHED_IDLE (sched(7)): whoever serves clients takes the processor from them at once. Who is starved, because
the machine has nothing left for such processes, is made an ordinary process again: a copy that is never finished protects nobody.

An engine writes a line to its log whenever it forks or begins or ends to copy; so inotify(7) on the logs tells when to look.
"""

import asyncio
import logging
import os
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from errno import EPERM
from pathlib import Path

import psutil
from asyncinotify import Event, Inotify, Mask

from shardboard.agent import render
from shardboard.agent.resp import EngineError
from shardboard.agent.shard import Shard
from shardboard.engine_text import info_fields
from shardboard.tasks import Tasks

log = logging.getLogger(__name__)

CAP_SYS_NICE = 23
"""Its bit among capabilities(7)."""
LISTEN_SECONDS = 0.02
LOOK_SECONDS, LOOK_SECONDS_AT_MOST = 0.05, 0.4
"""Between two looks at a shard, twice as long after each as long as its log goes on: an engine that moves slots says a lot."""
TEND_SECONDS = 1.0
PATIENCE_SECONDS = 5.0
"""For how long who has given way must have got too little before it is ordinary again."""
LEAST_SHARE = 0.02
"""Of the time that it could have run. Among ordinary processes that want all of a processor, SCHED_IDLE gets 0.3 %."""
ANSWER_SECONDS = 5.0


@dataclass
class GivesWay:
    """A process whose priority is lowered, and what it had got when it was looked at last."""

    process: psutil.Process
    ran: int
    waited: int
    """Nanoseconds on a processor, and ready for one: /proc/<pid>/schedstat."""
    since: float


class Priorities:
    """Of the shards of this node. Needs the right to make a process ordinary again; without it all stay as they are."""

    def __init__(self) -> None:
        self._shards: Mapping[int, Shard] = {}
        self._lowered: dict[int, GivesWay] = {}
        """By pid."""
        self._starved: dict[int, psutil.Process] = {}
        """Those that are left alone from now on, by pid."""
        self._looks: Tasks[int] = Tasks()
        """By uid of the shard. Whether it copies is asked of the engine, which may take long while it loads."""
        self._again: set[int] = set()
        """Uids of shards that have said more since they were looked at."""
        self._inotify: Inotify | None = None

    async def run(self, shards: Mapping[int, Shard]) -> None:
        """Look after `shards`, whatever there is at any time, until cancelled."""
        self._shards = shards
        try:
            self._inotify = _inotify()
        except OSError as error:
            log.info("copying does not give way to clients: %s", error.strerror or error)
            return
        try:
            with self._inotify as inotify:
                for shard in shards.values():
                    self.watch(shard)
                async with self._looks.ending():
                    try:
                        async with asyncio.TaskGroup() as tasks:
                            tasks.create_task(self._listen(inotify))
                            tasks.create_task(self._tend_all())
                    finally:
                        self._inotify = None
        except Exception:
            log.exception("copying gives way to clients no longer")
        finally:
            for pid in list(self._lowered):  # shards run on when the agent stops, and nobody would see to them
                self._restore(pid)

    def watch(self, shard: Shard) -> None:
        """Call it for a new shard as soon as its log exists; the watch ends with the log."""
        if self._inotify is None:
            return
        try:
            self._inotify.add_watch(shard.directory / render.LOG, Mask.MODIFY)
        except OSError as error:
            log.warning("shard %s will not give way to clients while it copies: %s", shard.record.spec.uid, error)
        self._look(shard)

    async def _listen(self, inotify: Inotify) -> None:
        while True:
            event: Event | None = await inotify.get()
            while event is not None:
                path = event.path
                shard = self._shards.get(_uid(path)) if path is not None else None
                if shard is not None:
                    self._look(shard)
                event = inotify.sync_get()
            await asyncio.sleep(LISTEN_SECONDS)

    async def _tend_all(self) -> None:
        while True:
            await asyncio.sleep(TEND_SECONDS)
            try:
                self._tend_once(asyncio.get_running_loop().time())
            except Exception:  # one bad second must not leave somebody lowered for ever
                log.exception("who gives way could not be looked after in this second")

    def _tend_once(self, now: float) -> None:
        for pid, lowered in list(self._lowered.items()):
            if not lowered.process.is_running():
                del self._lowered[pid]
            else:
                self._tend(lowered, now)
        for pid, process in list(self._starved.items()):
            if not process.is_running():
                del self._starved[pid]
        unseen = self._again - set(self._looks)
        self._again -= unseen
        for uid, shard in list(self._shards.items()):
            if uid in unseen or (shard.process is not None and shard.process.pid in {*self._lowered, *self._starved}):
                self._look(shard)

    def _tend(self, lowered: GivesWay, now: float) -> None:
        """Make it ordinary when it has got too little of what it wanted, for a whole stretch of time."""
        if now - lowered.since < PATIENCE_SECONDS:
            return
        pid = lowered.process.pid
        try:
            ran, waited = _schedstat(pid)
        except OSError:
            return  # it has ended
        got, wanted = ran - lowered.ran, ran - lowered.ran + waited - lowered.waited
        if wanted > PATIENCE_SECONDS * 1e9 / 2 and got < LEAST_SHARE * wanted:
            log.info("process %d copies data and has hardly got a processor; it gives way no longer", pid)
            self._starved[pid] = lowered.process
            self._restore(pid)
        else:
            lowered.ran, lowered.waited, lowered.since = ran, waited, now

    def _look(self, shard: Shard) -> None:
        """Now, or soon when it was just looked at."""
        uid = shard.record.spec.uid
        if self._inotify is None:
            return
        if uid in self._looks:
            self._again.add(uid)
        else:
            self._looks.start(uid, self._keep_looking(shard))

    async def _keep_looking(self, shard: Shard) -> None:
        uid, pause = shard.record.spec.uid, LOOK_SECONDS
        while (process := shard.process) is not None:
            self._again.discard(uid)
            if _is_lowered(process.pid):  # by an agent that was killed
                self._lower(process.pid)
            for child in _children(process.pid):
                self._lower(child)
            await self._ask(shard, process.pid)
            await asyncio.sleep(pause)
            if uid not in self._again:
                return
            pause = min(2 * pause, LOOK_SECONDS_AT_MOST)

    async def _ask(self, shard: Shard, pid: int) -> None:
        """Whether it copies itself. Who does not answer must not give way: it may serve by now."""
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
        if info.get("role") == "master" or info.get("master_link_status") == "up":  # not only between two attempts
            self._starved.pop(pid, None)
        self._restore(pid)

    def _lower(self, pid: int) -> None:
        if pid in self._lowered or pid in self._starved:
            return
        try:
            if not may_restore(pid):
                return  # started by an agent with less rights
            process, (ran, waited) = psutil.Process(pid), _schedstat(pid)
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        except (OSError, psutil.Error):
            return  # it has ended
        self._lowered[pid] = GivesWay(process, ran, waited, asyncio.get_running_loop().time())

    def _restore(self, pid: int) -> None:
        self._lowered.pop(pid, None)
        try:
            if _is_lowered(pid):
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        except PermissionError:
            log.error("process %d stays at low priority: this agent may not raise it", pid)
        except OSError:
            pass  # it has ended


def may_restore(pid: int) -> bool:
    """Whether that process, once lowered, can be made ordinary again: with CAP_SYS_NICE, or when its own RLIMIT_NICE allows it
    (sched(7)). Shards keep the limits of the agent that started them. Raises OSError when it has ended."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    if capabilities >> CAP_SYS_NICE & 1:
        return True
    allowed, _ = resource.prlimit(pid, resource.RLIMIT_NICE)
    return allowed == resource.RLIM_INFINITY or allowed >= 20 - os.getpriority(os.PRIO_PROCESS, pid)


def _inotify() -> Inotify:
    """Raises OSError when anything that is needed is missing."""
    if not may_restore(os.getpid()):
        raise PermissionError(EPERM, "the agent may not raise a priority again (LimitNICE= of systemd, ulimit -e)")
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


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []  # it has ended


def _schedstat(pid: int) -> tuple[int, int]:
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(ran), int(waited)


def _copies(info: Mapping[str, str]) -> bool:
    """Whether it is a replica that serves nobody, because its primary's data is on the way or being loaded."""
    return info.get("role") == "slave" and "1" in (info.get("master_sync_in_progress"), info.get("loading"))
