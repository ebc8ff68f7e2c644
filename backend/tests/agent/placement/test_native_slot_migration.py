"""Tests of native slot migration against simulated engines that answer as documented for Valkey 9."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hiredis
import pytest
from backend.tests.support.real_shards import unused_loopback_address

from shardboard.agent.databases import shard_config
from shardboard.agent.databases.engine_client import OwnTraffic
from shardboard.agent.databases.processes import ShardSupervisor
from shardboard.agent.placement import native_slot_migration, slot_transfer
from shardboard.agent.placement.slot_moves import SlotMovers
from shardboard.agent.placement.throttle import JOB_KEYS
from shardboard.contract import MoveSlots

SOURCE, TARGET = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def long_answer_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the answer timeout, because the simulated engines share one thread with the tested code on a busy machine."""
    monkeypatch.setattr(slot_transfer, "ANSWER_SECONDS", 60.0)


class Engine:
    """Simulated primary. After some polls a job succeeds and the target owns its slots."""

    def __init__(self, engine_id: str, slots: set[int], version: str = "9.0.1") -> None:
        self.engine_id = engine_id
        self.slots = slots
        self.version = version
        self.open = ""
        self.keys = 0
        self.jobs: list[dict[str, str]] = []
        self.requested: list[list[int]] = []
        self.failure = ""
        self.never_ends = False
        self.other: Engine | None = None
        self.connections: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser = hiredis.Reader(encoding="utf-8")
        self.connections.add(cast("asyncio.Task[Any]", asyncio.current_task()))
        try:
            while data := await reader.read(65536):
                parser.feed(data)
                while (command := parser.gets()) is not False:
                    writer.write(_packed(self.answer(command)))
        finally:
            writer.close()

    def answer(self, command: list[str]) -> Any:
        words = [command[0].upper(), *(word.upper() for word in command[1:2])]
        match words:
            case ["INFO", "SERVER"]:
                return f"redis_version:7.2.4\r\nvalkey_version:{self.version}\r\n"
            case ["INFO", "MEMORY"]:
                return "used_memory_dataset:1000000\r\n"
            case ["DBSIZE"] | ["CLUSTER", "COUNTKEYSINSLOT"]:
                return self.keys if words == ["DBSIZE"] else 0
            case ["FUNCTION", _]:
                return []
            case ["CLUSTER", "NODES"]:
                ranges = " ".join(f"{first}-{last}" for first, last in native_slot_migration._runs(sorted(self.slots)))
                return f"{self.engine_id} 1.2.3.4:1@2 myself,master - 0 0 1 connected {ranges}{self.open}\n"
            case ["CLUSTER", "GETSLOTMIGRATIONS"]:
                return [[word for pair in job.items() for word in pair] for job in self._poll_jobs()]
            case ["CLUSTER", "CANCELSLOTMIGRATIONS"]:
                for job in self.jobs:
                    job["state"] = (
                        "cancelled" if job["state"] not in native_slot_migration.FINAL_STATES else job["state"]
                    )
                return "OK"
            case ["CLUSTER", "MIGRATESLOTS"]:
                return self._start_job(command)
        return "OK"

    def _start_job(self, command: list[str]) -> Any:
        assert (command[2], command[-2:]) == ("SLOTSRANGE", ["NODE", TARGET])
        numbers = [int(word) for word in command[3:-2]]
        slots = [
            slot for first, last in zip(numbers[::2], numbers[1::2], strict=True) for slot in range(first, last + 1)
        ]
        if not set(slots) <= self.slots:
            return ValueError("ERR Slots are not served by this node")
        self.requested.append(slots)
        self.jobs.append({"name": "n", "operation": "EXPORT", "state": "snapshotting", "message": ""})
        return "OK"

    def _poll_jobs(self) -> list[dict[str, str]]:
        job_list = [dict(job) for job in self.jobs]
        for job in self.jobs:
            if job["state"] not in native_slot_migration.FINAL_STATES and not self.never_ends:
                job["state"], job["message"] = ("failed", self.failure) if self.failure else ("success", "")
                if not self.failure and self.other is not None:
                    self.slots -= set(self.requested[-1])
                    self.other.slots |= set(self.requested[-1])
        return job_list


def _packed(reply: Any) -> bytes:
    if isinstance(reply, ValueError):
        return f"-{reply}\r\n".encode()
    if isinstance(reply, list):
        return f"*{len(reply)}\r\n".encode() + b"".join(map(_packed, reply))
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    data = str(reply).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


@asynccontextmanager
async def run_migration(directory: Path, source: Engine, target: Engine) -> AsyncIterator[tuple[SlotMovers, MoveSlots]]:
    source.other = target
    source_server = await asyncio.start_unix_server(source.serve, directory / shard_config.SOCKET)
    address = unused_loopback_address()
    target_server = await asyncio.start_server(target.serve, address, 20001)
    record = SimpleNamespace(
        spec=SimpleNamespace(engine_id=source.engine_id),
        bdb=SimpleNamespace(admin_password="secret", maxclients=1000, tier=None),
    )
    shard = SimpleNamespace(state="running", directory=directory, record=record, own_traffic=OwnTraffic())
    supervisor = SimpleNamespace(find=lambda uid, _: {1: shard}.get(uid))
    request = MoveSlots(
        uid=1, target_engine_id=TARGET, address=address, port=20001, slots=[(0, 99), (200, 1299)], seconds=20
    )
    try:
        yield SlotMovers(cast(ShardSupervisor, supervisor)), request
    finally:
        source_server.close()
        target_server.close()
        await asyncio.gather(*source.connections, *target.connections)


async def test_slots_move_in_jobs_of_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_slot_migration, "MAX_SLOTS_PER_JOB", 512)
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set(range(1300, 16384)))
    async with run_migration(tmp_path, source, target) as (jobs, request):
        result = await jobs.move(request)
    assert (result.count, result.keys, result.reason) == (1200, 0, "")
    assert result.pause > 0, "clients that noticed the job get a pause"
    assert [len(slots) for slots in source.requested] == [512, 512, 176]
    assert source.slots == set(range(100, 200))
    assert target.slots == set(range(16384)) - source.slots


async def test_jobs_have_a_limited_number_of_keys(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set(range(1300, 16384)))
    source.keys = 1300 * JOB_KEYS // 400
    async with run_migration(tmp_path, source, target) as (jobs, request):
        await jobs.move(request)
    assert [len(slots) for slots in source.requested] == [400, 400, 400]


async def test_slots_moved_before_are_counted_and_not_requested_again(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(50, 1300))), Engine(TARGET, set(range(50)))
    async with run_migration(tmp_path, source, target) as (jobs, request):
        assert (await jobs.move(request)).count == 1200
    assert source.requested[0][0] == 50


async def test_failed_job_is_reported(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set())
    source.failure = "Connection lost to target"
    async with run_migration(tmp_path, source, target) as (jobs, request):
        result = await jobs.move(request)
    assert (result.count, result.reason) == (0, "slot 0 did not move: Connection lost to target")


async def test_leftover_job_that_does_not_end_is_cancelled(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set())
    source.jobs = [{"name": "old", "operation": "EXPORT", "state": "connecting", "message": ""}]
    source.never_ends = True
    async with run_migration(tmp_path, source, target) as (jobs, request):
        result = await jobs.move(request.model_copy(update={"seconds": 0.05}))
    assert source.jobs[0]["state"] == "cancelled"
    assert result.count == 0


@pytest.mark.parametrize(("version", "open_"), [("8.1.3", ""), ("9.0.0", f" [5->-{TARGET}]")])
async def test_older_engines_and_open_slots_do_not_use_native_migration(
    tmp_path: Path, version: str, open_: str
) -> None:
    source, target = Engine(SOURCE, set(range(1300)), version), Engine(TARGET, set())
    source.open = open_
    async with run_migration(tmp_path, source, target) as (jobs, request):
        await jobs.move(request)
    assert source.requested == []
