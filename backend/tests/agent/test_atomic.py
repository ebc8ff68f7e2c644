"""Moving slots in the engine's own way, against engines that answer as the documentation of Valkey 9 has it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hiredis
import pytest
from backend.tests.shards import own_address

from shardboard.agent import atomic, render, slot_transfer
from shardboard.agent.contract import MoveSlots
from shardboard.agent.moving import Movers
from shardboard.agent.pace import JOB_KEYS
from shardboard.agent.processes import Supervisor
from shardboard.agent.resp import OwnTraffic

SOURCE, TARGET = "a" * 40, "b" * 40


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """These engines share one thread with who asks them, on a machine that may have much else to do."""
    monkeypatch.setattr(slot_transfer, "ANSWER_SECONDS", 60.0)


class Engine:
    """A primary with slots; a job takes some looks, then its slots belong to the other one."""

    def __init__(self, engine_id: str, slots: set[int], version: str = "9.0.1") -> None:
        self.engine_id = engine_id
        self.slots = slots
        self.version = version
        self.open = ""
        self.keys = 0
        self.jobs: list[dict[str, str]] = []
        self.ordered: list[list[int]] = []
        self.fails = ""
        self.never = False
        self.other: Engine | None = None
        self.serving: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser = hiredis.Reader(encoding="utf-8")
        self.serving.add(cast("asyncio.Task[Any]", asyncio.current_task()))
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
                held = " ".join(f"{first}-{last}" for first, last in atomic._runs(sorted(self.slots)))
                return f"{self.engine_id} 1.2.3.4:1@2 myself,master - 0 0 1 connected {held}{self.open}\n"
            case ["CLUSTER", "GETSLOTMIGRATIONS"]:
                return [[word for pair in job.items() for word in pair] for job in self._look()]
            case ["CLUSTER", "CANCELSLOTMIGRATIONS"]:
                for job in self.jobs:
                    job["state"] = "cancelled" if job["state"] not in atomic.ENDED else job["state"]
                return "OK"
            case ["CLUSTER", "MIGRATESLOTS"]:
                return self._begin(command)
        return "OK"

    def _begin(self, command: list[str]) -> Any:
        assert (command[2], command[-2:]) == ("SLOTSRANGE", ["NODE", TARGET])
        numbers = [int(word) for word in command[3:-2]]
        slots = [
            slot for first, last in zip(numbers[::2], numbers[1::2], strict=True) for slot in range(first, last + 1)
        ]
        if not set(slots) <= self.slots:
            return ValueError("ERR Slots are not served by this node")
        self.ordered.append(slots)
        self.jobs.append({"name": "n", "operation": "EXPORT", "state": "snapshotting", "message": ""})
        return "OK"

    def _look(self) -> list[dict[str, str]]:
        shown = [dict(job) for job in self.jobs]
        for job in self.jobs:
            if job["state"] not in atomic.ENDED and not self.never:
                job["state"], job["message"] = ("failed", self.fails) if self.fails else ("success", "")
                if not self.fails and self.other is not None:
                    self.slots -= set(self.ordered[-1])
                    self.other.slots |= set(self.ordered[-1])
        return shown


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
async def ends(directory: Path, source: Engine, target: Engine) -> AsyncIterator[tuple[Movers, MoveSlots]]:
    source.other = target
    near = await asyncio.start_unix_server(source.serve, directory / render.SOCKET)
    address = own_address()
    far = await asyncio.start_server(target.serve, address, 20001)
    record = SimpleNamespace(
        spec=SimpleNamespace(engine_id=source.engine_id),
        bdb=SimpleNamespace(admin_password="secret", maxclients=1000, tier=None),
    )
    shard = SimpleNamespace(state="running", directory=directory, record=record, own=OwnTraffic())
    supervisor = SimpleNamespace(find=lambda uid, _: {1: shard}.get(uid))
    order = MoveSlots(
        uid=1, target_engine_id=TARGET, address=address, port=20001, slots=[(0, 99), (200, 1299)], seconds=20
    )
    try:
        yield Movers(cast(Supervisor, supervisor)), order
    finally:
        near.close()
        far.close()
        await asyncio.gather(*source.serving, *target.serving)


async def test_slots_go_in_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "MOST_SLOTS", 512)
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set(range(1300, 16384)))
    async with ends(tmp_path, source, target) as (movers, order):
        moved = await movers.move(order)
    assert (moved.count, moved.keys, moved.reason) == (1200, 0, "")
    assert moved.rest > 0, "who has noticed it is left alone for a while"
    assert [len(slots) for slots in source.ordered] == [512, 512, 176]
    assert source.slots == set(range(100, 200))
    assert target.slots == set(range(16384)) - source.slots


async def test_jobs_have_few_keys(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set(range(1300, 16384)))
    source.keys = 1300 * JOB_KEYS // 400
    async with ends(tmp_path, source, target) as (movers, order):
        await movers.move(order)
    assert [len(slots) for slots in source.ordered] == [400, 400, 400]


async def test_what_has_gone_before_counts_and_is_not_asked_for_again(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(50, 1300))), Engine(TARGET, set(range(50)))
    async with ends(tmp_path, source, target) as (movers, order):
        assert (await movers.move(order)).count == 1200
    assert source.ordered[0][0] == 50


async def test_a_job_that_fails_is_told(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set())
    source.fails = "Connection lost to target"
    async with ends(tmp_path, source, target) as (movers, order):
        moved = await movers.move(order)
    assert (moved.count, moved.reason) == (0, "slot 0 did not move: Connection lost to target")


async def test_a_job_that_was_left_is_waited_for_and_withdrawn_when_it_does_not_end(tmp_path: Path) -> None:
    source, target = Engine(SOURCE, set(range(1300))), Engine(TARGET, set())
    source.jobs = [{"name": "old", "operation": "EXPORT", "state": "connecting", "message": ""}]
    source.never = True
    async with ends(tmp_path, source, target) as (movers, order):
        moved = await movers.move(order.model_copy(update={"seconds": 0.05}))
    assert source.jobs[0]["state"] == "cancelled"
    assert moved.count == 0


@pytest.mark.parametrize(("version", "open_"), [("8.1.3", ""), ("9.0.0", f" [5->-{TARGET}]")])
async def test_older_engines_and_open_slots_go_the_old_way(tmp_path: Path, version: str, open_: str) -> None:
    source, target = Engine(SOURCE, set(range(1300)), version), Engine(TARGET, set())
    source.open = open_
    async with ends(tmp_path, source, target) as (movers, order):
        await movers.move(order)
    assert source.ordered == []
