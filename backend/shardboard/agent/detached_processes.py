"""Processes that survive the agent, each in its own directory `<root>/<id>/`, by which the next agent finds them."""

import asyncio
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from shardboard.agent.cluster.agent_priority import at_normal_priority

END_SECONDS = 10
TAIL_BYTES = 2_000


class DetachedProcesses:
    """The processes in the directories below `root`. At most one per directory, which can have child processes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._processes: dict[str, psutil.Popen | psutil.Process] = {}

    async def adopt(self) -> None:
        """Find the processes that an earlier agent started."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        names_by_directory = {directory.resolve(): directory.name for directory in self.root.iterdir()}
        if not names_by_directory:
            return
        for process, directory in _processes_in(names_by_directory):
            with suppress(ProcessLookupError):
                if os.getsid(process.pid) == process.pid:  # not its child processes
                    self._processes[names_by_directory[directory]] = process

    def directory(self, identity: str) -> Path:
        return self.root / identity

    def exists(self, identity: str) -> bool:
        return self.directory(identity).exists()

    def create_directory(self, identity: str) -> Path:
        """Return a new directory for a process. Raises OSError."""
        directory = self.directory(identity)
        shutil.rmtree(directory, ignore_errors=True)  # left by an interrupted start
        directory.mkdir(mode=0o700)
        return directory

    def spawn(self, identity: str, command: Sequence[str], **options: Any) -> int:
        """Start a process in its directory, with options of `subprocess.Popen`, and return its pid. Raises OSError."""
        self._processes[identity] = process = at_normal_priority(
            psutil.Popen,
            command,
            cwd=self.directory(identity),
            start_new_session=True,  # signals to the agent's terminal or group must not reach it
            **options,
        )
        return process.pid

    def is_known(self, identity: str) -> bool:
        """Return whether the process runs, or ran while this agent was running."""
        return identity in self._processes

    def is_running(self, identity: str) -> bool:
        process = self._processes.get(identity)
        return process is not None and _is_running(process)

    def running(self) -> dict[str, psutil.Process]:
        """Return the running processes by id."""
        return {identity: process for identity, process in self._processes.items() if _is_running(process)}

    def terminate(self, identity: str) -> None:
        """Ask a process to end."""
        if (process := self._processes.get(identity)) is not None:
            with suppress(psutil.NoSuchProcess):
                process.terminate()

    def kill(self, identities: Sequence[str]) -> None:
        """Kill the processes that run."""
        _kill_all_in([self.directory(identity) for identity in identities])

    async def remove(self, identities: Sequence[str]) -> None:
        """Kill the processes that run, and delete their directories. Unknown ids are ignored."""
        directories = [self.directory(identity) for identity in identities]
        await asyncio.to_thread(_kill_all_in, directories)
        for identity in identities:
            if (process := self._processes.pop(identity, None)) is not None:
                _is_running(process)  # reaps it
        for directory in directories:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    async def park(self) -> None:
        """Stop all processes, because the node is stopping."""
        running = self.running()
        for process in running.values():
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        await asyncio.to_thread(psutil.wait_procs, list(running.values()), END_SECONDS)
        await asyncio.to_thread(_kill_all_in, [self.directory(identity) for identity in running])


def tail(path: Path) -> str:
    """Return the end of a text file; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").replace("\0", "").strip()
    except FileNotFoundError:
        return ""


def _processes_in(directories: Iterable[Path]) -> Iterator[tuple[psutil.Process, Path]]:
    """Yield the processes whose working directory is one of these."""
    directories_searched = set(directories)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if (directory := Path(process.cwd())) in directories_searched:
                yield process, directory


def _kill_all_in(directories: Iterable[Path]) -> None:
    """Kill all processes in directories, including those started by a process that is already dead."""
    processes = [process for process, _ in _processes_in(directory.resolve() for directory in directories)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, END_SECONDS)


def _is_running(process: psutil.Process) -> bool:
    if isinstance(process, psutil.Popen) and process.poll() is not None:  # reaps it
        return False
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
