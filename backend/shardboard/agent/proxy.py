"""The proxy of this node: one `shardboard-proxy` process in front of every database that has an endpoint here.

It lives in `<state>/proxy/`, obeys over a Unix socket there (the messages: `engine/proxy/src/control.rs`) and outlives the
agent as shards do: a restarted agent finds it again by that socket. A proxy that ended by itself is started again with the
state it was given last, without waiting for the console.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from shardboard import resources
from shardboard.agent import render
from shardboard.agent.contract import (
    CommandCounts,
    ProxyDatabase,
    ProxyReading,
    ProxyReport,
    ProxyState,
    ReadCommands,
)
from shardboard.agent.identity import load as load_identity
from shardboard.agent.outages import Outages
from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.proxy_counts import ProxyCounts
from shardboard.agent.settings import AgentSettings

log = logging.getLogger(__name__)

CONTROL = "control.sock"
STATE = "state.json"
LOG = "proxy.log"
BINARY = "shardboard-proxy"
READY_SECONDS = 10
ANSWER_SECONDS = 5
RETRY_SECONDS = 0.2
SEALS = "shard_tls"
"""What a proxy that speaks TLS to shards says of itself: any other would pass over the order, and speak in clear."""
LINE_LIMIT = 64 * 2**20
"""Bytes of one report: histograms of many databases."""

_ROLES = {"master": "primary", "slave": "replica"}


class ProxyError(Exception):
    """A sentence on why the proxy does not do as told."""


class Proxy:
    """Starts, adopts, instructs and listens to the process."""

    def __init__(
        self,
        settings: AgentSettings,
        engine_id: Callable[[int], str | None] = lambda _: None,
        rate: ProbeRate | None = None,
    ) -> None:
        """`engine_id` returns that of the local shard with this uid; `rate` limits canary writes."""
        self._settings = settings
        self._rate = rate or ProbeRate()
        self._engine_id = engine_id
        self._directory = settings.state_dir / "proxy"
        self._state = ProxyState(threads=1, databases=[])
        self._popen: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._commands: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._answered: frozenset[str] = frozenset()
        """Orders beyond the first ones, and fields of theirs, that the process knows."""
        self._changing = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._lost = asyncio.Event()
        self._counts = ProxyCounts()
        self.outages = Outages()
        self._report = ProxyReport(state="absent")
        self._refused: dict[int, str] = {}
        """Databases that were not taken because a kept one has their uid or port, and why."""
        self._present = asyncio.Event()
        self._present.set()

    async def run(self) -> None:
        """Find the process of an earlier run, and keep one running as long as there are databases to serve."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError, ValidationError):
            self._state = ProxyState.model_validate_json((self._directory / STATE).read_bytes())
        while True:
            await self._present.wait()
            async with self._changing:
                if self._should_try():
                    await self._try()
            self._lost.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS if self._should_try() else None):
                    await self._lost.wait()

    async def apply(self, state: ProxyState) -> ProxyReport:
        """Do exactly this from now on; the report tells what could not be done."""
        async with self._changing:
            kept = [database for database in self._state.databases if database.served in state.keep]
            self._state = state.model_copy(update={"databases": _beside(kept, state.databases), "keep": []})
            self._refused = _refusals(kept, state.databases)
            self._save()
            if self._state.databases:
                await self._try()
            else:
                await self._end()
            return self.report()

    async def reapply(self) -> None:
        """Send the state again, because the certificate or the probe rate has changed."""
        async with self._changing:
            if self._writer is not None and self._state.databases:
                await self._try()

    def report(self) -> ProxyReport:
        serving = [database.served for database in self._state.databases]
        return self._report.model_copy(
            update={"serving": serving, "failures": {**self._report.failures, **self._refused}}
        )

    async def reading(self, second: int, timeout: float) -> ProxyReading | None:
        """What it did in the second before `second`; None when it does not tell in time."""
        return await self._counts.of(second, timeout) if self._writer is not None else None

    async def commands(self, order: ReadCommands) -> CommandCounts:
        """What it counted of single commands in the last minute."""
        async with self._asking:
            if self._writer is None:
                return CommandCounts(reason="its proxy does not run")
            if "commands" not in self._answered:
                return CommandCounts(reason="its proxy is of a release that does not count commands")
            self._commands = asyncio.Queue()
            self._writer.write(json.dumps({"type": "commands", "uids": order.uids}).encode() + b"\n")
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    # One that comes late is about what was asked for before.
                    while not set(order.uids) <= (answer := _counted(await self._commands.get())).databases.keys():
                        pass
            except TimeoutError:
                return CommandCounts(reason=f"its proxy did not answer within {ANSWER_SECONDS} s")
            except (KeyError, ValueError) as error:
                log.warning("proxy: its counts of commands cannot be read: %s", error)
                return CommandCounts(reason="what its proxy says of commands cannot be read")
            return answer

    async def park(self) -> None:
        """Stop the process, also one that has only just been started; the next agent's `run` starts it again."""
        self.leave()
        async with self._changing:
            await self._end()

    def signal(self, number: signal.Signals) -> None:
        if self._report.state == "running" and self._report.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._report.pid, number)

    def leave(self) -> None:
        """Start nothing until `come_back`: the node is to seem gone."""
        self._present.clear()

    def come_back(self) -> None:
        self._present.set()
        self._lost.set()

    def _should_try(self) -> bool:
        return bool(self._state.databases) and self._writer is None and self._present.is_set()

    async def _try(self) -> None:
        try:
            if self._writer is None:
                await self._connect()
            await self._instruct()
        except (ProxyError, OSError, TimeoutError) as error:
            reason = str(error) or f"it did not answer within {ANSWER_SECONDS} s"
            if reason != self._report.detail:
                log.warning("proxy: %s", reason)
            self._hang_up()
            self._report = ProxyReport(state="died", detail=reason)
            self._lost.set()

    async def _connect(self) -> None:
        """To the process that runs, or to a new one."""
        try:
            await self._greet(self._open())
        except OSError:
            self._spawn()
            await self._greet(self._until_open())
            return
        binary = find(self._settings)
        if binary is None:
            return
        is_behind = await asyncio.to_thread(version_of, binary) not in ("", self._report.version)
        if is_behind or SEALS not in self._answered:
            await self._succeed()

    async def _greet(self, opening: Coroutine[Any, Any, None]) -> None:
        self._answers = asyncio.Queue()
        await opening
        async with asyncio.timeout(ANSWER_SECONDS):
            hello = await self._answers.get()
        self._answered = frozenset(hello.get("answers", ()))
        self._report = ProxyReport(state="running", pid=hello.get("pid"), version=str(hello.get("version", "")))

    async def _succeed(self) -> None:
        """Let a process of the installed version take over. It is handed the listening sockets; the old one says that it is
        draining, finishes its clients and ends."""
        log.info("proxy: version %s is replaced", self._report.version)
        self._spawn()
        if self._listening is not None:
            async with asyncio.timeout(READY_SECONDS):
                await asyncio.shield(self._listening)
        await self._greet(self._until_open())

    async def _until_open(self) -> None:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    return await self._open()
                except OSError:
                    if self._popen is not None and (status := self._popen.poll()) is not None:
                        raise ProxyError(f"the proxy ended with status {status}; see {LOG} in its directory") from None
                    await asyncio.sleep(0.01)

    async def _open(self) -> None:
        # As with shards: socket paths end at 107 bytes, state directories may not.
        directory = os.open(self._directory, os.O_PATH | os.O_DIRECTORY)
        try:
            path = f"/proc/self/fd/{directory}/{CONTROL}"
            reader, self._writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT)
        finally:
            os.close(directory)
        self._listening = asyncio.create_task(self._listen(reader, self._writer))

    def _spawn(self) -> None:
        binary = find(self._settings)
        if binary is None:
            raise ProxyError(
                f"{BINARY} is not installed on node {self._settings.address}; "
                "build it with `cargo build --release` in engine/, or put it on the agent's PATH"
            )
        if self._popen is not None:
            self._popen.poll()  # reap the one before
        with os.fdopen(os.open(self._directory / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
            self._popen = subprocess.Popen(
                [binary, "--control", CONTROL],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # signals to the agent's terminal or group must not reach it
            )

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                said = json.loads(line)
                if said["type"] == "metrics":
                    self._counts.add(said)
                elif said["type"] == "outage":
                    self.outages.add(said)
                elif said["type"] == "commands":
                    self._commands.put_nowait(said)
                elif said["type"] in ("hello", "applied", "error"):
                    self._answers.put_nowait(said)
                elif said["type"] == "draining":
                    break
        except (OSError, ValueError) as error:
            log.warning("proxy: its reports broke off: %s", error)
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
                self._report = ProxyReport(state="died", detail=self._how_it_ended())
                self._lost.set()

    async def _instruct(self) -> None:
        if self._writer is None:
            raise ProxyError("the proxy closed the connection")
        left = {
            database.uid: "the proxy that runs is of a release that cannot speak to the shards of an encrypted database"
            for database in self._state.databases
            if database.shard_tls is not None and SEALS not in self._answered
        }
        databases = [self._database(database) for database in self._state.databases if database.uid not in left]
        order = {"type": "apply", "threads": self._state.threads, "databases": databases}
        self._writer.write(json.dumps(order).encode() + b"\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            while (answer := await self._answers.get())["type"] != "applied":
                if answer["type"] == "error":
                    raise ProxyError(f"the proxy refused what it was told: {answer['message']}")
        ports = {database.uid: database.port for database in self._state.databases}
        failures = {
            failure["uid"]: self._sentence(failure["message"], ports.get(failure["uid"], 0))
            for failure in answer["failures"]
        } | left
        self._report = self._report.model_copy(update={"threads": answer["threads"], "failures": failures})

    def _sentence(self, message: str, port: int) -> str:
        if "Address already in use" in message:
            return f"port {port} is in use on {self._settings.address} by a process that is not ours"
        return message

    def _database(self, database: ProxyDatabase) -> dict[str, Any]:
        """In the proxy's words. Shards of this node are reached by their Unix sockets, relative to the proxy's directory."""
        own = self._settings.address
        told: dict[str, Any] = {
            "uid": database.uid,
            "address": own,
            "port": database.port,
            "mode": "hidden" if database.hides_cluster else "oss_cluster",
            "sharded": database.cluster,
            "version": database.version,
            "shards": [
                {
                    "id": shard.engine_id,
                    "role": _ROLES[shard.role],
                    "address": shard.address,
                    "port": shard.port,
                    "unix_socket": f"../shards/{shard.uid}/{render.SOCKET}" if shard.address == own else None,
                    "slots": shard.slots,
                    "proxy": shard.endpoint_id,
                }
                for shard in database.shards
                if shard.address != own or self._engine_id(shard.uid) in (None, shard.engine_id)
            ],
            "proxies": [{**endpoint.model_dump(), "local": endpoint.address == own} for endpoint in database.endpoints],
        }
        if database.shard_tls is not None:
            told["shard_tls"] = database.shard_tls.model_dump()
        if database.canary is not None:
            interval = max(database.canary.interval_ms, 1000 // self._rate.per_second)
            told["canary"] = {**database.canary.model_dump(), "interval_ms": interval}
        if database.access:
            told["access"] = database.access
        if database.max_connections:
            told["max_connections"] = database.max_connections
        identity = load_identity(self._settings.state_dir) if database.tls else None
        if identity is not None:
            told["tls"] = {"certificate": str(identity.certificate.resolve()), "key": str(identity.key.resolve())}
        return told

    async def _end(self) -> None:
        """Close the endpoints now: the databases are gone, or everything stops."""
        if self._writer is None:
            with suppress(OSError, ProxyError):
                await (self._until_open() if self._popen is not None else self._open())
        if self._writer is not None:
            self._writer.write(b'{"type":"drain","seconds":0}\n')
            if self._listening is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        await asyncio.shield(self._listening)
        self._hang_up()
        self._report = ProxyReport(state="absent")

    def _hang_up(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _how_it_ended(self) -> str:
        status = self._popen.poll() if self._popen is not None else None
        if status is None:
            return "its process ended"
        return f"its process was killed by {signal.Signals(-status).name}" if status < 0 else f"it ended with {status}"

    def _save(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._directory / f"{STATE}.new"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self._state.model_dump_json())
        beside.replace(self._directory / STATE)


def _beside(kept: Sequence[ProxyDatabase], requested: Sequence[ProxyDatabase]) -> list[ProxyDatabase]:
    refused = _refusals(kept, requested)
    return [*(database for database in requested if database.uid not in refused), *kept]


def _refusals(kept: Sequence[ProxyDatabase], requested: Sequence[ProxyDatabase]) -> dict[int, str]:
    """Requested databases whose uid or port a kept one has, and why they are not served."""
    uids, ports = {database.uid for database in kept}, {database.port for database in kept}
    return {
        database.uid: f"{'port ' + str(database.port) if database.port in ports else 'its number'} "
        "is in use by a database that the store of the console does not contain"
        for database in requested
        if database.uid in uids or database.port in ports
    }


def _counted(said: dict[str, Any]) -> CommandCounts:
    """Raises KeyError or ValueError."""
    databases = {database["uid"]: database["commands"] for database in said["databases"]}
    return CommandCounts.model_validate({"seconds": said["seconds"], "databases": databases})


def version_of(binary: str) -> str:
    """What `shardboard-proxy --version` says; empty when it says nothing."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.split()[-1] if said.split() else ""


def find(settings: AgentSettings) -> str | None:
    """The proxy's binary: the one that the agent was given, else the one of this installation."""
    return resources.program(settings.proxy or BINARY)
