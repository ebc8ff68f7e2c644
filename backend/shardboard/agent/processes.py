"""The shards of this node: starting, adopting, watching and removing valkey-server processes.

A shard lives in `<state>/shards/<uid>/`, which is also its working directory. Shards outlive the agent: a restarted agent
finds them again by that directory and checks pid, start time and run id against `shard.json`. A shard that was started
once is never started again by itself: an empty primary would make its replica forget the data, too.
"""

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from shardboard.agent import render
from shardboard.agent.contract import ShardOutcome, ShardReport, StartShards
from shardboard.agent.record import ShardRecord
from shardboard.agent.resp import Connection, EngineError, OwnTraffic
from shardboard.agent.settings import AgentSettings

log = logging.getLogger(__name__)

READY_SECONDS = 30
"""How long a new process may take until its socket answers."""
ANSWER_SECONDS = 2
"""How long a living process may take to say who it is."""
STOP_SECONDS = 20


@dataclass
class Shard:
    """One shard in this agent's care."""

    record: ShardRecord
    directory: Path
    state: Literal["starting", "running", "died"] = "starting"
    detail: str = ""
    process: psutil.Process | None = None
    popen: subprocess.Popen[bytes] | None = None
    connection: Connection | None = None
    own: OwnTraffic = field(default_factory=OwnTraffic)
    connecting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def connect(self) -> Connection:
        """The open connection, made anew when it broke. Raises EngineError."""
        async with self.connecting:
            if self.connection is None or self.connection.closed:
                self.connection = await Connection.open(
                    self.directory / render.SOCKET, render.ADMIN, self.record.bdb.admin_password, self.own
                )
            return self.connection

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def report(self) -> ShardReport:
        spec = self.record.spec
        return ShardReport(
            uid=spec.uid,
            bdb_uid=spec.bdb_uid,
            engine_id=spec.engine_id,
            state=self.state,
            pid=self.record.pid if self.state == "running" else None,
            started_at=self.record.started_at,
            run_id=self.record.run_id,
            detail=self.detail,
        )


class Supervisor:
    """All shards of this node."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._root = settings.state_dir / "shards"
        self.shards: dict[int, Shard] = {}
        self._changing = asyncio.Lock()

    async def adopt(self) -> None:
        """Find the shards of an earlier run of this agent; start those that were parked."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        alive = _engines_by_directory()
        living, parked = [], []
        for directory in sorted(self._root.iterdir()):
            record = ShardRecord.load(directory)
            if record is None:
                if (directory / render.LOG).exists():
                    log.error("%s holds a shard without a readable record; left alone", directory)
                else:  # a start that was killed before anything ran
                    shutil.rmtree(directory)
                continue
            shard = Shard(record, directory)
            self.shards[record.spec.uid] = shard
            process = alive.get(directory.resolve())
            if process is not None:
                _thaw(process)
                living.append(self._settle(shard, process))
            elif record.parked_at is not None and not _saved_since(shard, record.parked_at):
                self._mark_died(shard, "its process ended before it had saved its data")
            elif record.parked_at is not None or not (directory / render.LOG).exists():
                parked.append(shard)
            else:
                self._mark_died(shard, "its process ended while the agent was away")
        await asyncio.gather(*living)
        await self._run(parked)

    async def start(self, request: StartShards) -> list[ShardOutcome]:
        """Start new shards; the outcome of each tells what happened, nothing is left of those that failed."""
        async with self._changing:
            binary = shutil.which(self._settings.engine)
            outcomes: dict[int, ShardOutcome] = {}
            fresh = []
            for spec in request.shards:
                known = self.shards.get(spec.uid)
                if known is not None:
                    outcomes[spec.uid] = self._outcome_of(known, spec.engine_id)
                elif binary is None:
                    reason = f"{self._settings.engine} is not installed on node {self._settings.address}"
                    outcomes[spec.uid] = ShardOutcome(uid=spec.uid, ok=False, code="binary_missing", reason=reason)
                elif (
                    busy := self._busy_port((spec.port, spec.bus_port) if request.bdb.cluster else (spec.port,))
                ) is not None:
                    reason = f"port {busy} is in use on {self._settings.address} by a process that is not ours"
                    outcomes[spec.uid] = ShardOutcome(uid=spec.uid, ok=False, code="port_in_use", reason=reason)
                else:
                    record = ShardRecord(spec=spec, bdb=request.bdb.model_copy(update={"peers": []}))
                    fresh.append(Shard(record, record.create(self._root, request.bdb, self._settings.address)))
                    self.shards[spec.uid] = fresh[-1]
            await self._run(fresh)
            for shard in fresh:
                outcomes[shard.record.spec.uid] = self._outcome_of(shard, shard.record.spec.engine_id)
                if shard.state == "died":
                    self._forget(shard)
            return [outcomes[spec.uid] for spec in request.shards]

    async def remove(self, uids: list[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        """End processes and delete directories. Removing what does not exist is fine.

        With `dead_only` a shard that runs is left alone, and said so.
        """
        async with self._changing:
            living = {uid for uid in uids if dead_only and uid in self.shards and _alive(self.shards[uid])}
            outcomes = [ShardOutcome(uid=uid, ok=False, code="not_removed", reason="it is running") for uid in living]
            uids = [uid for uid in uids if uid not in living]
            doomed = [self.shards[uid] for uid in uids if uid in self.shards]
            for shard in doomed:
                shard.disconnect()
                _send(shard, signal.SIGKILL)  # the data is to go: saving it or telling replicas would be waste
            await asyncio.gather(*(_gone(shard) for shard in doomed))
            for uid in uids:
                left = self.shards.get(uid)
                if left is not None and _alive(left):
                    reason = f"process {left.record.pid} does not end"
                    outcomes.append(ShardOutcome(uid=uid, ok=False, code="not_removed", reason=reason))
                    continue
                if left is not None:
                    self._forget(left)
                outcomes.append(ShardOutcome(uid=uid, ok=True))
            return outcomes

    async def park(self) -> None:
        """Save every shard to disk and stop it, to be started again by the next `adopt`."""
        async with self._changing:
            running = [shard for shard in self.shards.values() if shard.state == "running"]
            # Replicas first: a primary waits for the replicas it still has.
            for role in ("slave", "master"):
                await asyncio.gather(*(self._park_one(shard) for shard in running if shard.record.spec.role == role))

    def signal(self, uids: Iterable[int], number: signal.Signals) -> None:
        """Send a signal to shards of this agent; those that are not running are left out."""
        for uid in uids:
            if uid in self.shards and self.shards[uid].state == "running":
                _send(self.shards[uid], number)

    def check(self) -> None:
        """Notice processes that ended by themselves."""
        for shard in self.shards.values():
            if shard.state == "running" and not _alive(shard):
                self._mark_died(shard, _how_it_ended(shard))

    async def _park_one(self, shard: Shard) -> None:
        shard.record = shard.record.model_copy(update={"parked_at": time.time()})
        shard.record.save(shard.directory)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await (await shard.connect()).execute("SHUTDOWN", "SAVE", "NOW")
        except (EngineError, TimeoutError) as error:
            log.info("shard %s answered its shutdown with: %s", shard.record.spec.uid, error)
        await _gone(shard)
        if _alive(shard):
            # Nothing was saved: should it end later, it must not be started again from whatever is on the disk.
            shard.record = shard.record.model_copy(update={"parked_at": None})
            shard.record.save(shard.directory)
            log.error("shard %s did not stop; it stays running", shard.record.spec.uid)

    async def _run(self, shards: list[Shard]) -> None:
        for shard in shards:
            self._spawn(shard)
        await asyncio.gather(*(self._until_ready(shard) for shard in shards))

    def _spawn(self, shard: Shard) -> None:
        try:
            with (shard.directory / render.LOG).open("ab") as output:
                shard.popen = subprocess.Popen(
                    [self._settings.engine, "valkey.conf"],
                    cwd=shard.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # signals to the agent's terminal or group must not reach it
                )
            shard.process = psutil.Process(shard.popen.pid)
        except (OSError, psutil.Error) as error:
            self._mark_died(shard, f"it could not be started: {error}")

    async def _until_ready(self, shard: Shard) -> None:
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        while shard.process is not None and shard.state == "starting":
            if not _alive(shard):
                self._mark_died(shard, _how_it_ended(shard))
            elif (shard.directory / render.SOCKET).exists() and await self._settle(shard, shard.process):
                return
            elif asyncio.get_running_loop().time() > deadline:
                _send(shard, signal.SIGKILL)
                await _gone(shard)
                self._mark_died(shard, f"it did not answer within {READY_SECONDS} s")
            else:
                await asyncio.sleep(0.01)

    async def _settle(self, shard: Shard, process: psutil.Process) -> bool:
        """Take a living process into care; False while it does not answer yet."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                info = await (await shard.connect()).execute("INFO", "server")
        except (EngineError, TimeoutError):
            if shard.popen is not None:
                return False
            info = ""  # started by an earlier agent, busy now: the sampler will reach it later
        run_id = next((line[7:] for line in info.splitlines() if line.startswith("run_id:")), shard.record.run_id)
        started_at = process.create_time()
        before = (shard.record.pid, shard.record.started_at, shard.record.run_id)
        if (
            shard.record.pid is not None
            and shard.record.parked_at is None
            and before != (process.pid, started_at, run_id)
        ):
            shard.detail = f"process {process.pid} is not the one that this agent started (pid {shard.record.pid})"
            log.warning("shard %s: %s", shard.record.spec.uid, shard.detail)
        shard.process = process
        shard.record = shard.record.model_copy(
            update={"pid": process.pid, "started_at": started_at, "run_id": run_id, "parked_at": None}
        )
        shard.record.save(shard.directory)
        shard.state = "running"
        return True

    def _mark_died(self, shard: Shard, detail: str) -> None:
        shard.state, shard.detail = "died", detail
        shard.disconnect()
        if shard.popen is not None:
            shard.popen.poll()  # reap it
        log.warning("shard %s: %s", shard.record.spec.uid, detail)

    def _forget(self, shard: Shard) -> None:
        self.shards.pop(shard.record.spec.uid, None)
        shutil.rmtree(shard.directory, ignore_errors=True)

    def _outcome_of(self, shard: Shard, engine_id: str) -> ShardOutcome:
        uid = shard.record.spec.uid
        if shard.record.spec.engine_id != engine_id:
            return ShardOutcome(
                uid=uid, ok=False, code="start_failed", reason=f"shard {uid} exists already as another one"
            )
        if shard.state == "running":
            return ShardOutcome(uid=uid, ok=True)
        code = "process_died" if shard.record.pid is not None else "start_failed"
        return ShardOutcome(uid=uid, ok=False, code=code, reason=shard.detail)

    def _busy_port(self, ports: tuple[int, ...]) -> int | None:
        for port in ports:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((self._settings.address, port))
                except OSError:
                    return port
        return None


def _engines_by_directory() -> dict[Path, psutil.Process]:
    """The oldest engine process in each directory: younger ones are its children, which save or copy and then end."""
    found: dict[Path, psutil.Process] = {}
    for process in psutil.process_iter(["name"]):
        if process.info["name"] in ("valkey-server", "redis-server"):
            try:
                other = found.setdefault(Path(process.cwd()), process)
                if process.create_time() < other.create_time():
                    found[Path(process.cwd())] = process
            except psutil.Error:
                continue  # it ended, or is not ours to look at
    return found


def _alive(shard: Shard) -> bool:
    if shard.popen is not None:
        # Of a child only wait() knows: one whose threads are still ending looks dead before it tells how it ended.
        return shard.popen.poll() is None
    try:
        process = shard.process
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _send(shard: Shard, sig: signal.Signals) -> None:
    try:
        if shard.process is not None and shard.process.is_running():  # is_running compares start times: pids are reused
            os.kill(shard.process.pid, sig)
    except (psutil.NoSuchProcess, ProcessLookupError):
        pass


def _thaw(process: psutil.Process) -> None:
    """Let go on what a drill had stopped: the agent that would have ended the drill is no more."""
    try:
        if process.status() == psutil.STATUS_STOPPED:
            process.resume()
    except psutil.Error:
        pass  # it ended, or is not ours


async def _gone(shard: Shard) -> None:
    deadline = asyncio.get_running_loop().time() + STOP_SECONDS
    while _alive(shard) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - a process has no event
        await asyncio.sleep(0.01)


def _saved_since(shard: Shard, moment: float) -> bool:
    """Whether the data on disk are those of the last stop. Started from older ones, or none, a primary would make its
    replicas forget what they still have."""
    if shard.record.bdb.appendonly:
        return True  # the log is written as it goes, not at the end
    try:
        # File systems round times down to their own ticks.
        return (shard.directory / "dump.rdb").stat().st_mtime >= moment - 0.1
    except OSError:
        return False


def _how_it_ended(shard: Shard) -> str:
    """Killed from outside, or ended by itself, with its last words: those of a killed process would mislead."""
    status = shard.popen.poll() if shard.popen is not None else None
    if status is not None and status < 0:
        return f"its process was killed by {signal.Signals(-status).name}"
    if status is None:  # started by an earlier process of this agent: the kernel told nobody
        return "its process ended"
    try:
        lines = (shard.directory / render.LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    said = f"; the engine's last line was: {lines[-1].strip()}" if lines else ""
    return f"its process ended with status {status}{said}"
