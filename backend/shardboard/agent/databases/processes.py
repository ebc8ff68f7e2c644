"""The shards of this node: starting, adopting, watching and removing valkey-server processes.

A shard's working directory is `<state>/shards/<uid>/`. Shards survive the agent: a restarted agent finds them by that directory and
compares pid, start time and run id with `shard.json`. A shard that has run once is never restarted automatically: an empty primary
would make its replicas delete their data.
"""

import asyncio
import errno
import logging
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import psutil

from shardboard.agent.cluster.agent_priority import at_normal_priority
from shardboard.agent.databases import shard_config
from shardboard.agent.databases.engine import engine_path, engine_version
from shardboard.agent.databases.engine_client import EngineError
from shardboard.agent.databases.flash import Flash
from shardboard.agent.databases.keyed_locks import KeyedLocks
from shardboard.agent.databases.persistence_files import delete_data, is_saved_since, saved_at, uses_append_only_file
from shardboard.agent.databases.shard import (
    LocalShard,
    continue_process,
    engines_by_directory,
    exit_description,
    is_alive,
    is_stopped,
    send_signal,
    wait_for_proxies,
    wait_until_ended,
)
from shardboard.agent.databases.shard_record import ShardRecord
from shardboard.agent.settings import AgentSettings
from shardboard.contract import ShardOutcome, ShardSpec, StartShards
from shardboard.valkey.replies import info_fields

log = logging.getLogger(__name__)

READY_SECONDS = 120
"""Seconds until the socket of a new process must reply. Hundreds of processes starting on one machine are slow."""
STARTS_PER_CPU, START_SECONDS = 16, 2.0
"""Number of processes per CPU that start at the same time, and seconds after which a process no longer counts as starting.
Hundreds of starting processes would leave the agent no CPU time to report that its node works."""
ANSWER_SECONDS = 2
"""Seconds within which a living process must report its identity."""
HUNG_SECONDS = 5
"""Seconds within which a shard reported as hung can still reply. A running script does not prevent this: it replies BUSY."""
STOP_SECONDS = 20
PROXIES_LEAVE_SECONDS = 2
"""Seconds that a replica to be removed waits for proxies that have not switched to its successor."""
REMOVED = ".removed"
"""Suffix of directories that are being deleted, so that a remainder without a record does not look like a shard's data."""
Failure = Literal["port_in_use", "binary_missing", "start_failed"]


class ShardSupervisor:
    """The shards of this node."""

    def __init__(
        self,
        settings: AgentSettings,
        on_spawn: Callable[[LocalShard], None] = lambda _: None,
        flash: Flash | None = None,
    ) -> None:
        """`on_spawn` is called for each started process. `flash` is required by databases on flash."""
        self._settings = settings
        self._spawned = on_spawn
        self._flash = flash
        self._root = settings.state_dir / "shards"
        self.shards: dict[int, LocalShard] = {}
        self._unreadable: set[str] = set()
        """Names of directories that contain a shard without a readable record."""
        self._changing = KeyedLocks()
        """One operation at a time per shard. A hung operation does not block other shards."""
        self._starts = asyncio.Semaphore(STARTS_PER_CPU * (os.cpu_count() or 1))

    async def adopt(self) -> None:
        """Adopt the shards of an earlier run of this agent. Start those that were parked."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        engines = engines_by_directory()
        adopted, parked_shards = [], []
        for directory in sorted(self._root.iterdir()):
            if directory.suffix == REMOVED:  # the agent ended while it deleted the files
                shutil.rmtree(directory, ignore_errors=True)
                continue
            record = ShardRecord.load(directory)
            if record is None:
                if (directory / shard_config.LOG).exists():
                    log.error("%s contains a shard without a readable record; not changed", directory)
                    self._unreadable.add(directory.name)
                else:  # an interrupted start before any process ran
                    shutil.rmtree(directory)
                continue
            shard = LocalShard(record, directory)
            self.shards[record.spec.uid] = shard
            process = engines.get(directory.resolve())
            if process is not None:
                continue_process(process)
                adopted.append(self._adopt_process(shard, process))
            elif record.parked_at is not None and not is_saved_since(
                directory, record.parked_at, log=uses_append_only_file(directory)
            ):
                self._mark_died(shard, "its process ended before its data was saved")
            elif record.parked_at is not None or not (directory / shard_config.LOG).exists():
                parked_shards.append(shard)
            else:
                self._mark_died(shard, "its process ended while the agent was not running")
        if self._flash is not None:
            self._flash.remove_others({*map(str, self.shards), *self._unreadable})
        await asyncio.gather(*adopted)
        await asyncio.gather(*map(self._run, parked_shards))

    def engine_id(self, uid: int) -> str | None:
        """Return the engine id of the shard with this uid, or None if there is none."""
        shard = self.shards.get(uid)
        return shard.record.spec.engine_id if shard is not None else None

    def find(self, uid: int, engine_id: str | None = None) -> LocalShard | None:
        """Return the shard with this uid and engine id, or None. Without an engine id only the uid is compared.

        Every request for a shard goes through here: after a store was restored from a backup, its uids can be those of shards
        of another database.
        """
        shard = self.shards.get(uid)
        if shard is None or engine_id not in (None, shard.record.spec.engine_id):
            return None
        return shard

    def list_for_database(self, bdb_uid: int, engine_ids: Collection[str]) -> list[LocalShard]:
        """Return the shards with these engine ids; without any, all shards of the database."""
        return [
            shard
            for shard in self.shards.values()
            if shard.record.spec.bdb_uid == bdb_uid and (not engine_ids or shard.record.spec.engine_id in engine_ids)
        ]

    async def start(self, request: StartShards) -> list[ShardOutcome]:
        """Start new shards. Return one outcome per shard; nothing is left of a shard that failed."""
        binary = engine_path(self._settings.engine)
        version = await asyncio.to_thread(engine_version, self._settings.engine)
        return await asyncio.gather(*(self._start_one(request, spec, binary, version) for spec in request.shards))

    async def _start_one(self, request: StartShards, spec: ShardSpec, binary: str | None, version: str) -> ShardOutcome:
        def refusal(code: Failure, reason: str) -> ShardOutcome:
            return ShardOutcome(uid=spec.uid, ok=False, code=code, reason=reason)

        async with self._changing.hold(spec.uid):
            if (existing := self.shards.get(spec.uid)) is not None:
                return self._outcome_of(existing, spec.engine_id)
            if (self._root / str(spec.uid) / shard_config.LOG).exists():
                reason = f"directory shards/{spec.uid} on node {self._settings.address} contains a shard without a readable record"
                return refusal("start_failed", reason)
            if binary is None:
                reason = f"{self._settings.engine} is not installed on node {self._settings.address}"
                return refusal("binary_missing", reason)
            if request.bdb.tier is not None and self._flash is None:
                return refusal("start_failed", self._without_flash)
            ports = (spec.port, spec.bus_port) if request.bdb.cluster else (spec.port,)
            if unusable := self._unusable_port(ports):
                return refusal("port_in_use", unusable)
            record = ShardRecord(spec=spec, bdb=request.bdb.model_copy(update={"peers": [], "tls": None}))
            try:
                address = self._settings.address
                directory = await asyncio.to_thread(
                    record.create, self._root, request.bdb, address, self._flash, version
                )
                shard = LocalShard(record, directory)
            except OSError as error:  # for example, a full disk
                await asyncio.to_thread(shutil.rmtree, self._root / str(spec.uid), ignore_errors=True)
                reason = f"its files could not be written on node {self._settings.address}: {error.strerror}"
                return refusal("start_failed", reason)
            self.shards[spec.uid] = shard
            await self._run(shard)
            outcome = self._outcome_of(shard, spec.engine_id)
            if shard.state == "died":
                await self._remove(shard)
            return outcome

    async def restart(
        self, uids: list[int], *, discard_data: bool, engine_ids: Mapping[int, str] = MappingProxyType({})
    ) -> list[ShardOutcome]:
        """Restart dead shards in place, from their data on disk or, with `discard_data`, empty. Running shards are not changed."""
        return await asyncio.gather(
            *(self._restart_one(uid, engine_ids.get(uid), discard_data=discard_data) for uid in uids)
        )

    async def _restart_one(self, uid: int, engine_id: str | None, *, discard_data: bool) -> ShardOutcome:
        async with self._changing.hold(uid):
            shard, saved_time = self.find(uid, engine_id), None
            if shard is None:
                return ShardOutcome(uid=uid, ok=False, code="start_failed", reason="its files no longer exist")
            if shard.state == "died":
                if discard_data:
                    await asyncio.to_thread(delete_data, shard.directory)
                saved_time = saved_at(shard.directory, log=uses_append_only_file(shard.directory))
                if saved_time is None and not discard_data:
                    return ShardOutcome(
                        uid=uid, ok=False, code="no_data", reason="it has no data on disk to start from"
                    )
                shard.state, shard.detail, shard.process, shard.popen = "starting", "", None, None
                await self._run(shard)
            return self._outcome_of(shard, shard.record.spec.engine_id).model_copy(update={"saved_at": saved_time})

    async def kill_hung(
        self, uids: list[int], *, engine_ids: Mapping[int, str] = MappingProxyType({})
    ) -> list[ShardOutcome]:
        """Kill processes that still do not reply."""
        return await asyncio.gather(*(self._kill_hung(uid, engine_ids.get(uid)) for uid in uids))

    async def _kill_hung(self, uid: int, engine_id: str | None) -> ShardOutcome:
        def kept(reason: str) -> ShardOutcome:
            return ShardOutcome(uid=uid, ok=False, code="not_removed", reason=reason)

        async with self._changing.hold(uid):
            shard = self.find(uid, engine_id)
            if shard is None or shard.state != "running" or not is_alive(shard):
                return kept("it is not running")
            try:
                async with asyncio.timeout(HUNG_SECONDS):
                    await (await shard.connect()).execute("PING")
                return kept("it responds")
            except EngineError as error:
                return kept(str(error))
            except TimeoutError:
                if is_stopped(shard):  # checked last: a signal can take a moment to stop it
                    return kept("its process is stopped by a signal")
            send_signal(shard, signal.SIGKILL)
            await wait_until_ended(shard, STOP_SECONDS)
            if is_alive(shard):
                return kept(f"process {shard.record.pid} does not end")
            self._mark_died(shard, "it was hung and has been killed")
            return ShardOutcome(uid=uid, ok=True)

    async def remove(
        self, uids: list[int], *, dead_only: bool = False, engine_ids: Mapping[int, str] = MappingProxyType({})
    ) -> list[ShardOutcome]:
        """Kill processes and delete their directories. Removing an unknown shard succeeds.

        With `dead_only` a running shard is not changed and reported as not removed.
        """
        return await asyncio.gather(*(self._remove_one(uid, engine_ids.get(uid), dead_only=dead_only) for uid in uids))

    async def _remove_one(self, uid: int, engine_id: str | None, *, dead_only: bool) -> ShardOutcome:
        if not dead_only and (starting := self.find(uid, engine_id)) is not None and starting.state == "starting":
            # Otherwise the waiting start would hold the lock.
            if starting.process is None:
                self._mark_died(starting, "it was removed before it started")
            else:
                send_signal(starting, signal.SIGKILL)
        async with self._changing.hold(uid):
            shard = self.find(uid, engine_id)
            if shard is None:
                return ShardOutcome(uid=uid, ok=True)
            if dead_only and is_alive(shard):
                return ShardOutcome(uid=uid, ok=False, code="not_removed", reason="it is running")
            if shard.state == "running" and is_alive(shard):
                await wait_for_proxies(shard, PROXIES_LEAVE_SECONDS)
            shard.disconnect()
            send_signal(shard, signal.SIGKILL)  # the data is deleted: no need to save it or to notify replicas
            await wait_until_ended(shard, STOP_SECONDS)
            if is_alive(shard):
                reason = f"process {shard.record.pid} does not end"
                return ShardOutcome(uid=uid, ok=False, code="not_removed", reason=reason)
            await self._remove(shard)
            return ShardOutcome(uid=uid, ok=True)

    async def park(self) -> None:
        """Save each shard to disk and stop it. The next `adopt` starts it again."""
        # Replicas first: a primary waits for its connected replicas.
        for role in ("slave", "master"):
            chosen = [
                shard for shard in self.shards.values() if shard.record.spec.role == role and shard.state == "running"
            ]
            await asyncio.gather(*(self._park_one(shard) for shard in chosen))

    def signal(self, uids: Iterable[int], number: signal.Signals) -> None:
        """Send a signal to shards of this agent, except those that are not running."""
        for uid in uids:
            if uid in self.shards and self.shards[uid].state == "running":
                send_signal(self.shards[uid], number)

    def check(self) -> None:
        """Detect processes that have ended."""
        for shard in self.shards.values():
            if shard.state == "running" and not is_alive(shard):
                self._mark_died(shard, exit_description(shard))

    async def _park_one(self, shard: LocalShard) -> None:
        async with self._changing.hold(shard.record.spec.uid):
            if shard.state == "running":
                await self._park_running(shard)

    async def _park_running(self, shard: LocalShard) -> None:
        shard.record = shard.record.model_copy(update={"parked_at": time.time()})
        shard.record.save(shard.directory)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await (await shard.connect()).execute("SHUTDOWN", "SAVE", "NOW")
        except (EngineError, TimeoutError) as error:
            log.info("shard %s: reply to SHUTDOWN: %s", shard.record.spec.uid, error)
        await wait_until_ended(shard, STOP_SECONDS)
        if is_alive(shard):
            # Nothing was saved: if the process ends later, the shard must not be started from older data on disk.
            shard.record = shard.record.model_copy(update={"parked_at": None})
            shard.record.save(shard.directory)
            log.error("shard %s: did not stop and continues to run", shard.record.spec.uid)

    async def _run(self, shard: LocalShard) -> None:
        async with self._starts:
            if shard.state != "starting":
                return
            self._spawn(shard)
            ready = asyncio.ensure_future(self._until_ready(shard))
            try:
                # A process that hangs must not keep others from starting.
                await asyncio.wait([ready], timeout=START_SECONDS)
            except asyncio.CancelledError:
                ready.cancel()
                raise
        await ready

    def _spawn(self, shard: LocalShard) -> None:
        if shard.record.bdb.tier is not None:
            if self._flash is None:
                self._mark_died(shard, f"it could not be started: {self._without_flash}")
                return
            try:
                self._flash.prepare(shard.record.spec.uid)
            except OSError as error:
                self._mark_died(shard, f"its directory on flash could not be created: {error.strerror}")
                return
        try:
            with (shard.directory / shard_config.LOG).open("ab") as output:
                shard.popen = at_normal_priority(
                    subprocess.Popen,
                    [engine_path(self._settings.engine) or self._settings.engine, "valkey.conf"],
                    cwd=shard.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # signals to the agent's terminal or group must not reach it
                )
            shard.process = psutil.Process(shard.popen.pid)
        except (OSError, psutil.Error) as error:
            self._mark_died(shard, f"it could not be started: {error}")
        else:
            self._spawned(shard)

    async def _until_ready(self, shard: LocalShard) -> None:
        clock = asyncio.get_running_loop().time
        start = clock()
        while shard.process is not None and shard.state == "starting":
            if not is_alive(shard):
                self._mark_died(shard, exit_description(shard))
            elif (shard.directory / shard_config.SOCKET).exists() and await self._adopt_process(shard, shard.process):
                return
            elif clock() - start > READY_SECONDS:
                send_signal(shard, signal.SIGKILL)
                await wait_until_ended(shard, STOP_SECONDS)
                self._mark_died(shard, f"it did not respond within {READY_SECONDS} s")
            else:
                # Poll less often the longer it takes: polling hundreds of processes constantly would slow them down.
                await asyncio.sleep(min(max(0.01, (clock() - start) / 10), 0.5))

    async def _adopt_process(self, shard: LocalShard, process: psutil.Process) -> bool:
        """Adopt a living process. Return False if it does not reply yet."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                info = await (await shard.connect()).execute("INFO", "server")
        except (EngineError, TimeoutError):
            if shard.popen is not None:
                return False
            info = ""  # started by an earlier agent and busy: the sampler will reach it later
        fields = info_fields(info)
        run_id = fields.get("run_id", shard.record.run_id)
        version = fields.get("valkey_version", shard.record.engine_version)
        started_at = process.create_time()
        previous = (shard.record.pid, shard.record.started_at, shard.record.run_id)
        if (
            shard.record.pid is not None
            and shard.record.parked_at is None
            and previous != (process.pid, started_at, run_id)
        ):
            shard.detail = f"process {process.pid} is not the one that this agent started (pid {shard.record.pid})"
            log.warning("shard %s: %s", shard.record.spec.uid, shard.detail)
        shard.process = process
        shard.record = shard.record.model_copy(
            update={
                "pid": process.pid,
                "started_at": started_at,
                "run_id": run_id,
                "engine_version": version,
                "parked_at": None,
            }
        )
        try:
            shard.record.save(shard.directory)
        except OSError as error:  # not fatal: a restarted agent finds it by its directory
            log.error("shard %s: running, but writing its record failed: %s", shard.record.spec.uid, error)
        shard.state = "running"
        return True

    def _mark_died(self, shard: LocalShard, detail: str) -> None:
        shard.state, shard.detail = "died", detail
        shard.disconnect()
        if shard.popen is not None:
            shard.popen.poll()  # reap it
        log.warning("shard %s: %s", shard.record.spec.uid, detail)

    async def _remove(self, shard: LocalShard) -> None:
        """Delete a shard with its files in a thread: they can be many gigabytes, and the agent must stay responsive."""
        uid = shard.record.spec.uid
        self.shards.pop(uid, None)
        await asyncio.to_thread(_delete, shard.directory)
        if self._flash is not None:
            await asyncio.to_thread(self._flash.remove, uid)

    @property
    def _without_flash(self) -> str:
        return f"node {self._settings.address} has no flash: its agent was started without --flash"

    def _outcome_of(self, shard: LocalShard, engine_id: str) -> ShardOutcome:
        uid = shard.record.spec.uid
        if shard.record.spec.engine_id != engine_id:
            return ShardOutcome(
                uid=uid,
                ok=False,
                code="start_failed",
                reason=f"the agent of {self._settings.address} runs another shard {uid}, of database {shard.record.spec.bdb_uid}",
            )
        if shard.state == "running":
            return ShardOutcome(uid=uid, ok=True)
        code = "process_died" if shard.record.pid is not None else "start_failed"
        return ShardOutcome(uid=uid, ok=False, code=code, reason=shard.detail)

    def _unusable_port(self, ports: tuple[int, ...]) -> str:
        """Return why one of the ports cannot be used on the node's address; empty if all can be."""
        address = self._settings.address
        for port in ports:
            try:
                family, kind, protocol, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
                with socket.socket(family, kind, protocol) as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(place)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return f"port {port} is in use on {address} by another process"
                return f"port {port} cannot be used on {address}: {error.strerror or error}"
        return ""


def _delete(directory: Path) -> None:
    removed_directory = directory.with_name(directory.name + REMOVED)
    shutil.rmtree(removed_directory, ignore_errors=True)
    with suppress(FileNotFoundError):
        directory.rename(removed_directory)
    shutil.rmtree(removed_directory, ignore_errors=True)
