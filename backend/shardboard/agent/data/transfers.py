"""Transfers of this node: start, adopt, report, stop and remove their processes.

Each runs `shardboard.transfer` in its directory `<state>/transfers/<id>/` and survives the agent. The agent passes the
specification, which contains secrets, through an anonymous file: it is complete before the process starts, and in no argument,
environment or directory.
"""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import ValidationError

from shardboard.agent.data.import_modes import ImportModes
from shardboard.agent.databases import shard_config
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.detached_processes import DetachedProcesses, tail
from shardboard.agent.settings import AgentSettings
from shardboard.contract.transfers import (
    CheckFiles,
    ErrorCode,
    Inspect,
    Record,
    Restore,
    Snapshot,
    StartTransfer,
    Transfer,
    TransferProgress,
    TransferReferences,
    TransferState,
)
from shardboard.kit import resources
from shardboard.transfer.errors import STOPPED
from shardboard.transfer.specification import (
    END,
    IMPORTING,
    MOVER,
    PROGRESS,
    STDERR,
    ShardAccess,
    Specification,
    TransferEnd,
)

PROGRAM = "shardboard.transfer"
PACE_FILE = "snapshot-pace"
COPIES = (Snapshot, Restore, Inspect, CheckFiles)
"""They read or write large files, and yield to processes that serve clients. Recordings would lag behind."""
NORMAL_PRIORITY = "normal-priority"
"""Empty file in the directories of other transfers."""
KEEP_SECONDS = 7 * 86_400
"""How long the result of a transfer is kept that the console does not remove, for example because its store was replaced."""


class StartRefused(Exception):
    """A transfer cannot start on this node."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Transfers:
    """The transfers of this node."""

    def __init__(
        self, settings: AgentSettings, supervisor: ShardSupervisor, on_start: Callable[[int], None] = lambda _: None
    ) -> None:
        """`on_start` is called with the pid of each new process that copies data."""
        self._settings = settings
        self._supervisor = supervisor
        self._on_start = on_start
        self._processes = DetachedProcesses(settings.state_dir / "transfers")
        self._stopped: set[str] = set()
        """Ids of processes that were asked to end."""
        self._changing = asyncio.Lock()
        self._import_modes = ImportModes(self._processes, supervisor)

    async def adopt(self) -> None:
        """Find the processes that an earlier agent started."""
        await self._processes.adopt()

    async def start(self, request: StartTransfer) -> TransferState:
        async with self._changing:
            state = await asyncio.to_thread(self._state, request.id)
            if state.state != "absent":
                return state
            try:
                await self._remove_expired()
                specification = self._specification(request.transfer)
                pid = await asyncio.to_thread(self._spawn, request.id, specification)
                if isinstance(request.transfer, COPIES):
                    self._on_start(pid)
            except StartRefused as error:
                return TransferState(id=request.id, state="absent", error=str(error), error_code=error.code)
            except OSError as error:
                await self._processes.remove([request.id])
                reason = f"Starting the transfer failed on node {self._settings.address}: {error.strerror}."
                return TransferState(id=request.id, state="absent", error=reason, error_code="general-error")
            return TransferState(id=request.id, state="running")

    async def states(self, request: TransferReferences) -> list[TransferState]:
        await self._import_modes.end(request.ids)
        return await asyncio.to_thread(self._states, request)

    async def stop(self, request: TransferReferences) -> list[TransferState]:
        """Ask the processes to end. They abort what they have not completed."""
        for identity in request.ids:
            if self._processes.is_running(identity):
                self._stopped.add(identity)
                self._processes.terminate(identity)
        return await self.states(request)

    async def remove(self, request: TransferReferences) -> list[TransferState]:
        """Kill the processes that run, and delete their directories. Unknown ids are ignored.

        Directories of transfers that left a shard in import mode are kept until it has ended. The console repeats the request.
        """
        async with self._changing:
            await asyncio.to_thread(self._processes.kill, request.ids)
            failed = await self._import_modes.end(request.ids)
            removable = [identity for identity in request.ids if identity not in failed]
            await self._processes.remove(removable)
            self._stopped.difference_update(removable)
            return await asyncio.to_thread(self._states, request)

    async def park(self) -> None:
        """Stop all transfers, because the node is stopping."""
        await self._processes.park()

    def pids(self) -> Iterable[int]:
        """Return the ids of the running processes that copy data, which yield to others."""
        running = self._processes.running().items()
        return [process.pid for identity, process in running if not self._has_normal_priority(identity)]

    def _has_normal_priority(self, identity: str) -> bool:
        return (self._processes.directory(identity) / NORMAL_PRIORITY).exists()

    def _states(self, request: TransferReferences) -> list[TransferState]:
        return [self._state(identity) for identity in request.ids]

    def _state(self, identity: str) -> TransferState:
        running = self._processes.is_running(identity)  # read first: an ended process writes nothing further
        directory = self._processes.directory(identity)
        if (end := _read(directory / END)) is not None:
            return _ended(identity, end)
        progress = _read(directory / PROGRESS)
        if running:
            done = TransferProgress.model_validate_json(progress) if progress is not None else TransferProgress()
            return TransferState(id=identity, state="running", progress=done)
        is_importing = (directory / IMPORTING).exists()
        if progress is None and not is_importing and not self._processes.is_known(identity):
            # The agent was killed while it started it.
            return TransferState(id=identity, state="absent")
        if identity in self._stopped:  # it ended before it handled signals
            return TransferState(id=identity, state="ended", error=STOPPED, error_code="stopped")
        return final_state(self._processes, identity, self._settings.address)

    def _specification(self, transfer: Transfer) -> Specification:
        """Return the transfer with what its process needs. Raises StartRefused."""
        shards: dict[int, str] = {}
        mover = ""
        if isinstance(transfer, Snapshot | Record):
            shards = {transfer.shard_uid: transfer.engine_id}
        elif isinstance(transfer, Restore):
            shards = {target.shard_uid: target.engine_id for target in transfer.targets}
        if isinstance(transfer, Snapshot | Record | Restore | Inspect | CheckFiles):
            mover = self._mover()
        return Specification(
            transfer=transfer,
            shards={uid: self._access(uid, engine_id) for uid, engine_id in shards.items()},
            mover=mover,
            pace_file=(self._settings.state_dir / PACE_FILE).absolute(),
            backup_roots=list(self._settings.backup_roots),
            private_folders=[self._settings.state_dir.absolute()],
        )

    def _access(self, uid: int, engine_id: str) -> ShardAccess:
        shard = self._supervisor.find(uid, engine_id)
        if shard is None or shard.state != "running":
            reason = f"Shard {uid} does not run on node {self._settings.address}."
            raise StartRefused("shard-unavailable", reason)
        return ShardAccess(
            socket=(shard.directory / shard_config.SOCKET).absolute(),
            user=shard_config.ADMIN,
            password=shard.record.bdb.admin_password,
        )

    def _mover(self) -> str:
        mover = resources.program(MOVER)
        if mover is None:
            reason = (
                f"{MOVER} is not installed on node {self._settings.address}; "
                "build it with `cargo build --release` in engine/ or add it to the agent's PATH."
            )
            raise StartRefused("general-error", reason)
        return mover

    def _spawn(self, identity: str, specification: Specification) -> int:
        """Start the process and return its pid."""
        pid = spawn(self._processes, identity, specification)
        if not isinstance(specification.transfer, COPIES):
            (self._processes.directory(identity) / NORMAL_PRIORITY).touch()
        return pid

    async def _remove_expired(self) -> None:
        expired = await asyncio.to_thread(self._expired)
        failed = await self._import_modes.end(expired)
        for identity in set(expired) - failed:
            await asyncio.to_thread(shutil.rmtree, self._processes.directory(identity), ignore_errors=True)

    def _expired(self) -> list[str]:
        oldest = time.time() - KEEP_SECONDS
        return [
            directory.name
            for directory in self._processes.root.iterdir()
            if not self._processes.is_running(directory.name) and directory.stat().st_mtime < oldest
        ]


def spawn(processes: DetachedProcesses, identity: str, specification: Specification, *descriptors: int) -> int:
    """Start a process that inherits these descriptors, and return its pid. Raises OSError."""
    directory = processes.create_directory(identity)
    descriptor = os.memfd_create("specification")
    with open(descriptor, "w+b") as content, (directory / STDERR).open("wb") as errors:  # noqa: PTH123 - a descriptor
        content.write(_serialize(specification))
        content.seek(0)
        # -P keeps the working directory off the module path, so that this agent's code is imported.
        command = [sys.executable, "-P", "-m", PROGRAM]
        return processes.spawn(identity, command, stdin=content, stdout=errors, stderr=errors, pass_fds=descriptors)


def final_state(processes: DetachedProcesses, identity: str, address: str) -> TransferState:
    """Return the state of a process that has ended."""
    directory = processes.directory(identity)
    if (end := _read(directory / END)) is not None:
        return _ended(identity, end)
    output = tail(directory / STDERR)
    reason = f"The transfer ended unexpectedly on node {address}"
    error = f"{reason}. Its last output was: {output}" if output else f"{reason}."
    return TransferState(id=identity, state="ended", error=error, error_code="general-error")


def _serialize(specification: Specification) -> bytes:
    return specification.model_dump_json().encode()


def _ended(identity: str, content: bytes) -> TransferState:
    try:
        end = TransferEnd.model_validate_json(content)
        return TransferState(id=identity, state="ended", **end.model_dump())
    except ValidationError as error:
        reason = f"The result of the transfer is not valid: {error.error_count()} errors."
        return TransferState(id=identity, state="ended", error=reason, error_code="general-error")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
