"""The proxy of this node: one `shardboard-proxy` process that serves the endpoints of all databases on this node.

Its directory is `<state>/proxy/`. The agent controls it over a Unix socket there (messages: `engine/proxy/src/control.rs`). The
proxy survives the agent, as shards do: a restarted agent finds it by that socket. If the process ends unexpectedly, the agent
restarts it with the last state, without waiting for the console.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from pydantic import ValidationError

from shardboard.agent.cluster.agent_priority import at_normal_priority
from shardboard.agent.cluster.identity import load as load_identity
from shardboard.agent.databases import shard_config
from shardboard.agent.databases.outages import Outages
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy_counts import ProxyCounts
from shardboard.agent.settings import AgentSettings
from shardboard.contract import (
    CommandCounts,
    LateProxyReading,
    ProxyDatabase,
    ProxyReading,
    ProxyReport,
    ProxyState,
    ReadCommands,
)
from shardboard.kit import resources

log = logging.getLogger(__name__)

CONTROL = "control.sock"
STATE = "state.json"
LOG = "proxy.log"
BINARY = "shardboard-proxy"
READY_SECONDS = 10
ANSWER_SECONDS = 5
RETRY_SECONDS = 0.2
SHARD_TLS_FEATURE = "shard_tls"
"""Feature reported by proxies that support TLS to shards. Others would ignore the field and use unencrypted connections."""
LINE_LIMIT = 64 * 2**20
"""Maximum size of a report in bytes, with histograms of many databases."""

_ROLES = {"master": "primary", "slave": "replica"}


class ProxyError(Exception):
    """The proxy cannot do what was requested. The message is one sentence."""


class ProxyProcess:
    """Starts, adopts and controls the proxy process and reads its reports."""

    def __init__(
        self,
        settings: AgentSettings,
        engine_id: Callable[[int], str | None] = lambda _: None,
        rate: ProbeRate | None = None,
    ) -> None:
        """`engine_id` returns the engine id of the local shard with this uid. `rate` limits canary writes."""
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
        """Requests and fields beyond the basic ones that the process supports."""
        self._changing = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._lost = asyncio.Event()
        self._counts = ProxyCounts()
        self.outages = Outages()
        self._report = ProxyReport(state="absent")
        self._refused: dict[int, str] = {}
        """Databases that are not served because a kept one has the same uid or port, with the reason."""
        self._present = asyncio.Event()
        self._present.set()

    async def run(self) -> None:
        """Adopt the process of an earlier run, and keep a process running while there are databases to serve."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError, ValidationError):
            self._state = ProxyState.model_validate_json((self._directory / STATE).read_bytes())
        while True:
            await self._present.wait()
            async with self._changing:
                if self._should_try():
                    await self._try_apply()
            self._lost.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY_SECONDS if self._should_try() else None):
                    await self._lost.wait()

    async def apply(self, state: ProxyState) -> ProxyReport:
        """Apply this state from now on. The report contains what could not be done."""
        async with self._changing:
            kept_databases = [database for database in self._state.databases if database.served in state.keep]
            self._state = state.model_copy(
                update={"databases": _merged_databases(kept_databases, state.databases), "keep": []}
            )
            self._refused = _refusals(kept_databases, state.databases)
            self._save()
            if self._state.databases:
                await self._try_apply()
            else:
                await self._end()
            return self.report()

    async def reapply(self) -> None:
        """Send the state again after a change of the probe rate."""
        async with self._changing:
            if self._writer is not None and self._state.databases:
                await self._try_apply()

    async def reload_certificate(self) -> str:
        """Make the proxy read the certificate of the agent again. Return why it did not confirm that; empty if it did, or if no
        endpoint uses the certificate.
        """
        async with self._changing:
            if not self._present.is_set() or not any(database.tls for database in self._state.databases):
                return ""
            await self._try_apply()
            return self._report.detail and f"its proxy does not use the new certificate: {self._report.detail}"

    def report(self) -> ProxyReport:
        databases = [database.served for database in self._state.databases]
        return self._report.model_copy(
            update={"serving": databases, "failures": {**self._report.failures, **self._refused}}
        )

    async def reading(self, second: int, timeout: float) -> ProxyReading | None:
        """Return the activity in the second before `second`; None if the proxy does not report it in time."""
        return await self._counts.reading_at(second, timeout) if self._writer is not None else None

    def late_reading(self, second: int) -> LateProxyReading | None:
        """Return the activity of an earlier second that the proxy reported too late for `reading`."""
        return self._counts.take_late(second)

    def missing_reason(self, timeout: float) -> str:
        """Return why `reading` returned nothing; empty if no proxy is running."""
        # Before a restarted agent has found the proxy of the previous one, the proxy serves and its counts are unknown.
        is_down = self._report.state == "died" or not self._present.is_set()
        return f"it did not report its counts within {timeout} s" if self._state.databases and not is_down else ""

    async def commands(self, request: ReadCommands) -> CommandCounts:
        """Return the proxy's counts of single commands in the last minute."""
        async with self._asking:
            if self._writer is None:
                return CommandCounts(reason="its proxy is not running")
            if "commands" not in self._answered:
                return CommandCounts(reason="its proxy is from a release that does not count commands")
            self._commands = asyncio.Queue()
            self._writer.write(json.dumps({"type": "commands", "uids": request.uids}).encode() + b"\n")
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    # Skip late replies, which belong to an earlier request.
                    while not set(request.uids) <= (answer := _counted(await self._commands.get())).databases.keys():
                        pass
            except TimeoutError:
                return CommandCounts(reason=f"its proxy did not respond within {ANSWER_SECONDS} s")
            except (KeyError, ValueError) as error:
                log.warning("proxy: invalid command counts: %s", error)
                return CommandCounts(reason="its proxy returned invalid command counts")
            return answer

    async def park(self) -> None:
        """Stop the process, including one that is still starting. `run` of the next agent starts it again."""
        self.suspend()
        async with self._changing:
            await self._end()

    @property
    def pid(self) -> int | None:
        """Process ID; None if the proxy is not running."""
        return self._report.pid if self._report.state == "running" else None

    def signal(self, number: signal.Signals, pid: int | None) -> None:
        """Send a signal to this proxy process, which can be one that this agent has not adopted yet."""
        if pid is not None:
            # The process can have ended, and its number can be that of another one, for example after a restart of the machine.
            with suppress(psutil.Error, ProcessLookupError, PermissionError):
                if Path(psutil.Process(pid).cwd()) == self._directory.resolve():
                    os.kill(pid, number)

    def suspend(self) -> None:
        """Start no process until `resume`, to simulate an outage of the node."""
        self._present.clear()

    def resume(self) -> None:
        self._present.set()
        self._lost.set()

    def _should_try(self) -> bool:
        return bool(self._state.databases) and self._writer is None and self._present.is_set()

    async def _try_apply(self) -> None:
        try:
            if self._writer is None:
                await self._connect()
            await self._send_state()
        except (ProxyError, OSError, TimeoutError) as error:
            reason = str(error) or f"it did not respond within {ANSWER_SECONDS} s"
            if reason != self._report.detail:
                log.warning("proxy: %s", reason)
            self._hang_up()
            self._report = ProxyReport(state="died", detail=reason)
            self._lost.set()

    async def _connect(self) -> None:
        """Connect to the running process or start one."""
        try:
            await self._handshake(self._open())
        except OSError:
            self._spawn()
            await self._handshake(self._until_open())
            return
        binary = find(self._settings)
        if binary is None:
            return
        is_behind = await asyncio.to_thread(version_of, binary) not in ("", self._report.version)
        if is_behind or SHARD_TLS_FEATURE not in self._answered:
            await self._replace_process()

    async def _handshake(self, opening: Coroutine[Any, Any, None]) -> None:
        self._answers = asyncio.Queue()
        await opening
        async with asyncio.timeout(ANSWER_SECONDS):
            hello = await self._answers.get()
        self._answered = frozenset(hello.get("answers", ()))
        self._report = ProxyReport(state="running", pid=hello.get("pid"), version=str(hello.get("version", "")))

    async def _replace_process(self) -> None:
        """Start a process of the installed version, which takes over the listening sockets. The old process reports that it is
        draining, finishes its client connections and ends.
        """
        log.info("proxy: replacing version %s", self._report.version)
        self._spawn()
        if self._listening is not None:
            async with asyncio.timeout(READY_SECONDS):
                await asyncio.shield(self._listening)
        await self._handshake(self._until_open())

    async def _until_open(self) -> None:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    return await self._open()
                except OSError:
                    if self._popen is not None and (status := self._popen.poll()) is not None:
                        raise ProxyError(f"the proxy exited with status {status}; see {LOG} in its directory") from None
                    await asyncio.sleep(0.01)

    async def _open(self) -> None:
        # As with shards: socket paths are limited to 107 bytes, so open the socket via a descriptor of the directory.
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
                "build it with `cargo build --release` in engine/ or add it to the agent's PATH"
            )
        if self._popen is not None:
            self._popen.poll()  # reap the previous process
        with os.fdopen(os.open(self._directory / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
            self._popen = at_normal_priority(
                subprocess.Popen,
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
                message = json.loads(line)
                if message["type"] == "metrics":
                    self._counts.add(message)
                elif message["type"] == "outage":
                    self.outages.add(message)
                elif message["type"] == "commands":
                    self._commands.put_nowait(message)
                elif message["type"] in ("hello", "applied", "error"):
                    self._answers.put_nowait(message)
                elif message["type"] == "draining":
                    break
        except (OSError, ValueError) as error:
            log.warning("proxy: reading its reports failed: %s", error)
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
                self._report = ProxyReport(state="died", detail=self._exit_description())
                self._lost.set()

    async def _send_state(self) -> None:
        if self._writer is None:
            raise ProxyError("the proxy closed the connection")
        unencrypted_reasons = {
            database.uid: "the running proxy is from a release that cannot connect to the shards of an encrypted database"
            for database in self._state.databases
            if database.shard_tls is not None and SHARD_TLS_FEATURE not in self._answered
        }
        databases = [
            self._database(database) for database in self._state.databases if database.uid not in unencrypted_reasons
        ]
        request = {"type": "apply", "threads": self._state.threads, "databases": databases}
        self._writer.write(json.dumps(request).encode() + b"\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            while (answer := await self._answers.get())["type"] != "applied":
                if answer["type"] == "error":
                    raise ProxyError(f"the proxy rejected its configuration: {answer['message']}")
        ports = {database.uid: database.port for database in self._state.databases}
        failures = {
            failure["uid"]: self._message(failure["message"], ports.get(failure["uid"], 0))
            for failure in answer["failures"]
        } | unencrypted_reasons
        self._report = self._report.model_copy(update={"threads": answer["threads"], "failures": failures})

    def _message(self, message: str, port: int) -> str:
        if "Address already in use" in message:
            return f"port {port} is in use on {self._settings.address} by another process"
        return message

    def _database(self, database: ProxyDatabase) -> dict[str, Any]:
        """Return the proxy's configuration of a database. Local shards are reached by Unix sockets relative to the proxy's
        directory.
        """
        own_address = self._settings.address
        config: dict[str, Any] = {
            "uid": database.uid,
            "address": own_address,
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
                    "unix_socket": f"../shards/{shard.uid}/{shard_config.SOCKET}"
                    if shard.address == own_address
                    else None,
                    "slots": shard.slots,
                    "proxy": shard.endpoint_id,
                }
                for shard in database.shards
                if shard.address != own_address or self._engine_id(shard.uid) in (None, shard.engine_id)
            ],
            "proxies": [
                {**endpoint.model_dump(), "local": endpoint.address == own_address} for endpoint in database.endpoints
            ],
        }
        if database.shard_tls is not None:
            config["shard_tls"] = database.shard_tls.model_dump()
        if database.canary is not None:
            interval = max(database.canary.interval_ms, 1000 // self._rate.per_second)
            config["canary"] = {**database.canary.model_dump(), "interval_ms": interval}
        if database.access:
            config["access"] = database.access
        # Without the key, the proxy applies its default: all databases of a node share the file descriptors of one process.
        if database.max_connections:
            config["max_connections"] = database.max_connections
        identity = load_identity(self._settings.state_dir) if database.tls else None
        if identity is not None:
            config["tls"] = {"certificate": str(identity.certificate.resolve()), "key": str(identity.key.resolve())}
        return config

    async def _end(self) -> None:
        """Close all endpoints immediately: no databases are left, or the node is stopping."""
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

    def _exit_description(self) -> str:
        status = self._popen.poll() if self._popen is not None else None
        if status is None:
            return "its process ended"
        return (
            f"its process was killed by {signal.Signals(-status).name}"
            if status < 0
            else f"it exited with status {status}"
        )

    def _save(self) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._directory / f"{STATE}.new"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self._state.model_dump_json())
        temporary.replace(self._directory / STATE)


def _merged_databases(kept: Sequence[ProxyDatabase], requested: Sequence[ProxyDatabase]) -> list[ProxyDatabase]:
    refusals = _refusals(kept, requested)
    return [*(database for database in requested if database.uid not in refusals), *kept]


def _refusals(kept: Sequence[ProxyDatabase], requested: Sequence[ProxyDatabase]) -> dict[int, str]:
    """Return the requested databases that have the uid or port of a kept one, with the reason why they are not served."""
    uids, ports = {database.uid for database in kept}, {database.port for database in kept}
    return {
        database.uid: f"{'port ' + str(database.port) if database.port in ports else 'its uid'} "
        "is in use by a database that the console's store does not contain"
        for database in requested
        if database.uid in uids or database.port in ports
    }


def _counted(reply: dict[str, Any]) -> CommandCounts:
    """Parse the proxy's command counts. Raises KeyError or ValueError."""
    databases = {database["uid"]: database["commands"] for database in reply["databases"]}
    return CommandCounts.model_validate({"seconds": reply["seconds"], "databases": databases})


def version_of(binary: str) -> str:
    """Return the version that `shardboard-proxy --version` prints; empty if it cannot be determined."""
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return output.split()[-1] if output.split() else ""


def find(settings: AgentSettings) -> str | None:
    """Return the path of the proxy binary: the configured one, or that of this installation; None if it does not exist."""
    return resources.program(settings.proxy or BINARY)
