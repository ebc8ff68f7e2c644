"""Load generators of this node: start, adopt, read and remove them.

Each runs in its working directory `<state>/loads/<id>/` and writes its lines to a file there. It therefore survives the agent, as
shards do, and no measurement is lost while no client reads.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from shardboard.agent.benchmarks import memtier
from shardboard.agent.cluster.identity import load as load_identity
from shardboard.agent.detached_processes import DetachedProcesses, tail
from shardboard.agent.settings import AgentSettings
from shardboard.contract import LoadLines, LoadReference, LoadReports, LoadState, ReadLoad, StartLoad
from shardboard.contract.load_generators import MAX_LINES
from shardboard.kit import resources

BINARY = "shardboard-load"
LINES, TEXT, STDERR, JSON = "lines.ndjson", "report.txt", "stderr.log", "report.json"
PASSWORD = "SHARDBOARD_LOAD_PASSWORD"  # noqa: S105 - the name of a variable
POLL_SECONDS = 0.05
REPORT_BYTES = 32 * 2**20


class LoadGenerators:
    """The load generators of this node."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._processes = DetachedProcesses(settings.state_dir / "loads")
        self._positions: dict[str, tuple[int, int]] = {}
        """Read position by id: number of lines and bytes."""
        self._changing = asyncio.Lock()

    async def adopt(self) -> None:
        """Find the processes that an earlier agent started."""
        await self._processes.adopt()

    async def start(self, request: StartLoad) -> LoadState:
        async with self._changing:
            directory = self._processes.directory(request.id)
            if self._processes.is_known(request.id) or _has_output(directory):
                return self._state(request.id)
            command = _command(request)
            if not command:
                return LoadState(id=request.id, state="absent", error=self._missing(request))
            try:
                self._spawn(command, request)
            except OSError as error:
                shutil.rmtree(directory, ignore_errors=True)
                reason = f"starting the load generator failed on node {self._settings.address}: {error.strerror}"
                return LoadState(id=request.id, state="absent", error=reason)
            return self._state(request.id)

    async def read(self, request: ReadLoad) -> LoadLines:
        """Return new lines. Wait for a line for at most `wait` seconds; the caller polls."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.wait
        while True:
            state = self._state(request.id).state  # read before the lines: an ended process writes no further lines
            lines = self._lines(request.id, request.after)
            if lines or state != "running" or loop.time() >= deadline:
                has_ended = state == "ended" and len(lines) < MAX_LINES
                return LoadLines(
                    id=request.id,
                    state=state if state != "ended" or has_ended else "running",
                    lines=lines,
                    stderr_tail=tail(self._processes.directory(request.id) / STDERR) if has_ended else "",
                )
            await asyncio.sleep(POLL_SECONDS)

    async def stop(self, request: LoadReference) -> LoadState:
        """Ask the process to end. It still writes what it has measured."""
        self._processes.terminate(request.id)
        return self._state(request.id)

    async def reports(self, request: LoadReference) -> LoadReports:
        directory = self._processes.directory(request.id)
        return LoadReports(id=request.id, memtier_json=_text(directory / JSON), text=_text(directory / TEXT))

    async def remove(self, request: LoadReference) -> LoadState:
        """Kill the process if it runs and remove its data. Removing an unknown id succeeds."""
        async with self._changing:
            await self._processes.remove([request.id])
            self._positions.pop(request.id, None)
            return self._state(request.id)

    async def park(self) -> None:
        """Stop all load generators, because the node is stopping."""
        await self._processes.park()

    def _spawn(self, command: list[str], request: StartLoad) -> None:
        directory = self._processes.create_directory(request.id)
        with (
            (directory / LINES).open("wb") as lines,
            (directory / TEXT).open("wb") as text,
            (directory / STDERR).open("wb") as errors,
        ):
            number = lines.fileno()
            self._processes.spawn(
                request.id,
                [
                    *command,
                    *request.arguments,
                    *self._trust(request),
                    f"--live-lines={number}",
                    f"--json-out-file={JSON}",
                ],
                env={**os.environ, **({PASSWORD: request.password} if request.password else {})},
                stdin=subprocess.DEVNULL,
                stdout=text,
                stderr=errors,
                pass_fds=(number,),
            )

    def _trust(self, request: StartLoad) -> list[str]:
        identity = load_identity(self._settings.state_dir) if request.tls else None
        if identity is None:
            return []
        trusted_ca = identity.bundle if identity.bundle.exists() else identity.ca
        return ["--tls", f"--cacert={trusted_ca.resolve()}"]

    def _state(self, identity: str) -> LoadState:
        if self._processes.is_running(identity):
            return LoadState(id=identity, state="running")
        return LoadState(id=identity, state="ended" if self._processes.exists(identity) else "absent")

    def _lines(self, identity: str, after: int) -> list[str]:
        """Return complete lines only: the last line can be partial."""
        count, offset = self._positions.get(identity, (0, 0))
        if after < count:
            count, offset = 0, 0
        lines: list[str] = []
        try:
            with (self._processes.directory(identity) / LINES).open("rb") as file:
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n") or len(lines) == MAX_LINES:
                        break
                    if count >= after:
                        lines.append(line.decode(errors="replace").rstrip())
                    else:
                        offset += len(line)
                        self._positions[identity] = (count + 1, offset)
                    count += 1
        except FileNotFoundError:
            return []
        return lines

    def _missing(self, request: StartLoad) -> str:
        if request.tool == memtier.BINARY:
            return f"{memtier.BINARY} is not on the PATH of the agent of node {self._settings.address}"
        return (
            f"{BINARY} is not installed on node {self._settings.address}; "
            "build it with `cargo build --release` in engine/ or add it to the agent's PATH"
        )


def find() -> str | None:
    """Return the path of the load generator's binary; None if it is not installed."""
    return resources.program(BINARY)


def _command(request: StartLoad) -> list[str]:
    """Return the program that the request names, without options; empty if it is not installed."""
    if request.tool == memtier.BINARY:
        # -P keeps the working directory off the module path, so that this agent's code is imported.
        return [sys.executable, "-P", "-m", memtier.__name__] if shutil.which(memtier.BINARY) else []
    binary = find()
    return [binary] if binary is not None else []


def _has_output(directory: Path) -> bool:
    with suppress(FileNotFoundError):
        return (directory / LINES).stat().st_size > 0
    return False


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace") if path.stat().st_size <= REPORT_BYTES else ""
    except FileNotFoundError:
        return ""
