"""A shard and its process: whether it is alive, how to connect, how it ended."""

import asyncio
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.engine_client import Connection, EngineError, OwnTraffic
from shardboard.agent.databases.shard_record import ShardRecord
from shardboard.contract import ShardReport

PROXY_NAME = "shardboard-proxy"
PROXY = f" name={PROXY_NAME} "
"""Part of the CLIENT LIST line of a proxy's connection to a shard."""


@dataclass
class LocalShard:
    """A shard supervised by this agent."""

    record: ShardRecord
    directory: Path
    state: Literal["starting", "running", "died"] = "starting"
    detail: str = ""
    process: psutil.Process | None = None
    popen: subprocess.Popen[bytes] | None = None
    connection: Connection | None = None
    own_traffic: OwnTraffic = field(default_factory=OwnTraffic)
    connecting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def connect(self) -> Connection:
        """Return the open connection; reconnect if it failed. Raises EngineError."""
        async with self.connecting:
            if self.connection is None or self.connection.closed:
                self.connection = await Connection.open(
                    self.directory / shard_config.SOCKET,
                    shard_config.ADMIN,
                    self.record.bdb.admin_password,
                    self.own_traffic,
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
    """Return the oldest engine process per directory: younger ones are its children, which save or copy data and then end."""
    engines: dict[Path, psutil.Process] = {}
    for process in psutil.process_iter(["name"]):
        if process.info["name"] in ("valkey-server", "redis-server"):
            try:
                other = engines.setdefault(Path(process.cwd()), process)
                if process.create_time() < other.create_time():
                    engines[Path(process.cwd())] = process
            except psutil.Error:
                continue  # it ended or belongs to another user
    return engines


def is_alive(shard: LocalShard) -> bool:
    if shard.popen is not None:
        # For a child process only wait() is reliable: while its threads end it looks dead before its exit status is known.
        return shard.popen.poll() is None
    try:
        process = shard.process
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def send_signal(shard: LocalShard, sig: signal.Signals) -> None:
    try:
        if shard.process is not None and shard.process.is_running():  # is_running compares start times: pids are reused
            os.kill(shard.process.pid, sig)
    except (psutil.NoSuchProcess, ProcessLookupError):
        pass


def is_stopped(shard: LocalShard) -> bool:
    """Return whether a signal has stopped the process, as in a drill. It continues after SIGCONT."""
    try:
        return shard.process is not None and shard.process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False  # it ended or belongs to another user


def continue_process(process: psutil.Process) -> None:
    """Continue a process that a drill stopped: the agent that would have ended the drill no longer exists."""
    try:
        if process.status() == psutil.STATUS_STOPPED:
            process.resume()
    except psutil.Error:
        pass  # it ended or belongs to another user


async def wait_until_ended(shard: LocalShard, seconds: float) -> None:
    """Wait up to `seconds` until the process has ended."""
    deadline = asyncio.get_running_loop().time() + seconds
    while is_alive(shard) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - a process has no event
        await asyncio.sleep(0.01)


async def wait_for_proxies(shard: LocalShard, seconds: float) -> None:
    """Wait up to `seconds` until no proxy is connected to this replica.

    A replica that was primary until now can still have pending requests of proxies. If it were killed, it would be unknown whether
    they were executed. Proxies close their connections once they know its successor and have received their replies.
    """
    try:
        async with asyncio.timeout(seconds):
            connection = await shard.connect()
            if (await connection.execute("ROLE"))[0] != "slave":
                return
            while PROXY in await connection.execute("CLIENT", "LIST", "TYPE", "normal"):  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.02)
    except (EngineError, TimeoutError):
        return  # it does not respond, so it does not respond to proxies either


def exit_description(shard: LocalShard) -> str:
    """Return how the process ended: killed by a signal, or with an exit status and its last log line, which would mislead for a
    killed one.
    """
    status = shard.popen.poll() if shard.popen is not None else None
    if status is not None and status < 0:
        return f"its process was killed by {signal.Signals(-status).name}"
    if status is None:  # started by an earlier agent process: its exit status is unknown
        return "its process ended"
    try:
        lines = (shard.directory / shard_config.LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    last_line = f"; the engine's last line was: {lines[-1].strip()}" if lines else ""
    return f"its process exited with status {status}{last_line}"
