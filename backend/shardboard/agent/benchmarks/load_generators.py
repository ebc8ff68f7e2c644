"""Load generators of this node: start, adopt, read and remove them.

Each runs in its working directory `<state>/loads/<id>/` and writes its lines to a file there. It therefore survives the agent, as
shards do, and no measurement is lost while no client reads.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from shardboard.agent.benchmarks import memtier
from shardboard.agent.cluster.agent_priority import at_normal_priority
from shardboard.agent.cluster.identity import load as load_identity
from shardboard.agent.settings import AgentSettings
from shardboard.contract import LoadLines, LoadReference, LoadReports, LoadState, ReadLoad, StartLoad
from shardboard.contract.load_generators import MAX_LINES
from shardboard.kit import resources

BINARY = "shardboard-load"
LINES, TEXT, STDERR, JSON = "lines.ndjson", "report.txt", "stderr.log", "report.json"
PASSWORD = "SHARDBOARD_LOAD_PASSWORD"  # noqa: S105 - the name of a variable
POLL_SECONDS = 0.05
END_SECONDS = 10
STDERR_TAIL_BYTES = 2_000
REPORT_BYTES = 32 * 2**20


class LoadGenerators:
    """The load generators of this node."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._root = settings.state_dir / "loads"
        self._processes: dict[str, psutil.Popen | psutil.Process] = {}
        self._positions: dict[str, tuple[int, int]] = {}
        """Read position by id: number of lines and bytes."""
        self._changing = asyncio.Lock()

    async def adopt(self) -> None:
        """Find the processes that an earlier agent started."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        names_by_directory = {directory.resolve(): directory.name for directory in self._root.iterdir()}
        if not names_by_directory:
            return
        for process, directory in _processes_in(names_by_directory):
            with suppress(ProcessLookupError):
                if os.getsid(process.pid) == process.pid:  # not its child processes
                    self._processes[names_by_directory[directory]] = process

    async def start(self, request: StartLoad) -> LoadState:
        async with self._changing:
            directory = self._root / request.id
            if request.id in self._processes or _has_output(directory):
                return self._state(request.id)
            command = _command(request)
            if not command:
                return LoadState(id=request.id, state="absent", error=self._missing(request))
            try:
                self._spawn(command, directory, request)
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
                    stderr_tail=_tail(self._root / request.id / STDERR) if has_ended else "",
                )
            await asyncio.sleep(POLL_SECONDS)

    async def stop(self, request: LoadReference) -> LoadState:
        """Ask the process to end. It still writes what it has measured."""
        process = self._processes.get(request.id)
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGTERM)
        return self._state(request.id)

    async def reports(self, request: LoadReference) -> LoadReports:
        directory = self._root / request.id
        return LoadReports(id=request.id, memtier_json=_text(directory / JSON), text=_text(directory / TEXT))

    async def remove(self, request: LoadReference) -> LoadState:
        """Kill the process if it runs and remove its data. Removing an unknown id succeeds."""
        async with self._changing:
            await asyncio.to_thread(_end_all_in, self._root / request.id)
            process = self._processes.pop(request.id, None)
            if process is not None:
                _runs(process)  # reaps it
            self._positions.pop(request.id, None)
            await asyncio.to_thread(shutil.rmtree, self._root / request.id, ignore_errors=True)
            return self._state(request.id)

    async def park(self) -> None:
        """Stop all load generators, because the node is stopping."""
        running = {identity: process for identity, process in self._processes.items() if _runs(process)}
        for process in running.values():
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        await asyncio.to_thread(psutil.wait_procs, list(running.values()), END_SECONDS)
        for identity in running:
            await asyncio.to_thread(_end_all_in, self._root / identity)

    def _spawn(self, command: list[str], directory: Path, request: StartLoad) -> None:
        shutil.rmtree(directory, ignore_errors=True)  # left by an interrupted start
        directory.mkdir(mode=0o700)
        with (
            (directory / LINES).open("wb") as lines,
            (directory / TEXT).open("wb") as text,
            (directory / STDERR).open("wb") as errors,
        ):
            number = lines.fileno()
            self._processes[request.id] = at_normal_priority(
                psutil.Popen,
                [
                    *command,
                    *request.arguments,
                    *self._trust(request),
                    f"--live-lines={number}",
                    f"--json-out-file={JSON}",
                ],
                cwd=directory,
                env={**os.environ, **({PASSWORD: request.password} if request.password else {})},
                stdin=subprocess.DEVNULL,
                stdout=text,
                stderr=errors,
                pass_fds=(number,),
                start_new_session=True,  # signals to the agent's terminal or group must not reach it
            )

    def _trust(self, request: StartLoad) -> list[str]:
        identity = load_identity(self._settings.state_dir) if request.tls else None
        if identity is None:
            return []
        trusted_ca = identity.bundle if identity.bundle.exists() else identity.ca
        return ["--tls", f"--cacert={trusted_ca.resolve()}"]

    def _state(self, identity: str) -> LoadState:
        process = self._processes.get(identity)
        if process is not None and _runs(process):
            return LoadState(id=identity, state="running")
        return LoadState(id=identity, state="ended" if (self._root / identity).exists() else "absent")

    def _lines(self, identity: str, after: int) -> list[str]:
        """Return complete lines only: the last line can be partial."""
        count, offset = self._positions.get(identity, (0, 0))
        if after < count:
            count, offset = 0, 0
        lines: list[str] = []
        try:
            with (self._root / identity / LINES).open("rb") as file:
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


def _processes_in(directories: Iterable[Path]) -> Iterator[tuple[psutil.Process, Path]]:
    """Yield the processes whose working directory is one of these."""
    directories_searched = set(directories)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if (directory := Path(process.cwd())) in directories_searched:
                yield process, directory


def _end_all_in(directory: Path) -> None:
    """Kill all processes in a directory, including those started by a process that is already dead."""
    processes = [process for process, _ in _processes_in([directory.resolve()])]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, END_SECONDS)


def _runs(process: psutil.Process) -> bool:
    if isinstance(process, psutil.Popen) and process.poll() is not None:  # reaps it
        return False
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _has_output(directory: Path) -> bool:
    with suppress(FileNotFoundError):
        return (directory / LINES).stat().st_size > 0
    return False


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - STDERR_TAIL_BYTES))
            return file.read().decode(errors="replace").replace("\0", "").strip()
    except FileNotFoundError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace") if path.stat().st_size <= REPORT_BYTES else ""
    except FileNotFoundError:
        return ""
