"""One shard as its agent keeps it, and its process: whether it lives, how to reach it, how it ended."""

import asyncio
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from shardboard.agent import render
from shardboard.agent.contract import ShardReport
from shardboard.agent.record import ShardRecord
from shardboard.agent.resp import Connection, EngineError, OwnTraffic

PROXY = " name=shardboard-proxy "
"""In the line of a connection that a proxy has to a shard, as CLIENT LIST tells it."""


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
            port=spec.port,
            bus_port=spec.bus_port if self.record.bdb.cluster else None,
            memory=self.record.bdb.maxmemory,
            flash=self.record.bdb.tier.flash_limit if self.record.bdb.tier is not None else 0,
        )


def engines_by_directory() -> dict[Path, psutil.Process]:
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


def alive(shard: Shard) -> bool:
    if shard.popen is not None:
        # Of a child only wait() knows: one whose threads are still ending looks dead before it tells how it ended.
        return shard.popen.poll() is None
    try:
        process = shard.process
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def send(shard: Shard, sig: signal.Signals) -> None:
    try:
        if shard.process is not None and shard.process.is_running():  # is_running compares start times: pids are reused
            os.kill(shard.process.pid, sig)
    except (psutil.NoSuchProcess, ProcessLookupError):
        pass


def stopped(shard: Shard) -> bool:
    """By a signal, as of a drill: it will go on when it is told to."""
    try:
        return shard.process is not None and shard.process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False  # it ended, or is not ours


def thaw(process: psutil.Process) -> None:
    """Let go on what a drill had stopped: the agent that would have ended the drill is no more."""
    try:
        if process.status() == psutil.STATUS_STOPPED:
            process.resume()
    except psutil.Error:
        pass  # it ended, or is not ours


async def gone(shard: Shard, seconds: float) -> None:
    """Wait until its process has ended, but not for ever."""
    deadline = asyncio.get_running_loop().time() + seconds
    while alive(shard) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - a process has no event
        await asyncio.sleep(0.01)


async def left_by_proxies(shard: Shard, seconds: float) -> None:
    """Wait until no proxy has a connection to this replica, but not for ever.

    A replica that was the primary until now may still have requests of proxies to answer: ended with them, nobody would know
    whether they were executed. Proxies close their connections once they know its successor and have their answers.
    """
    try:
        async with asyncio.timeout(seconds):
            connection = await shard.connect()
            if (await connection.execute("ROLE"))[0] != "slave":
                return
            while PROXY in await connection.execute("CLIENT", "LIST", "TYPE", "normal"):  # noqa: ASYNC110 - it tells no event
                await asyncio.sleep(0.02)
    except (EngineError, TimeoutError):
        return  # it does not answer, and so answers no proxy either


def how_it_ended(shard: Shard) -> str:
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
