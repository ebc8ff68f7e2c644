"""Tests of the load generators of an agent: start, adoption by a new agent, reading, stop and removal."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.support import fake_load_generator, fake_memtier

from shardboard.agent.benchmarks.load_generators import LoadGenerators
from shardboard.agent.settings import AgentSettings
from shardboard.contract import LoadLines, LoadReference, ReadLoad, StartLoad

ID = "0" * 31 + "1"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentSettings:
    monkeypatch.setenv("PATH", fake_load_generator.install(tmp_path / "bin"), prepend=":")
    fake_memtier.install(tmp_path / "bin")
    return AgentSettings(address="127.0.0.1", state_dir=tmp_path / "agent")


@pytest.fixture
async def loads(settings: AgentSettings) -> AsyncIterator[LoadGenerators]:
    adopted = LoadGenerators(settings)
    await adopted.adopt()
    yield adopted
    last = LoadGenerators(settings)
    await last.adopt()
    await last.remove(LoadReference(id=ID))


def load_request(seconds: int, *more: str, password: str = "") -> StartLoad:
    return StartLoad(id=ID, arguments=[f"--test-time={seconds}", *more], password=password)


async def read(loads: LoadGenerators, after: int = 0) -> LoadLines:
    return await loads.read(ReadLoad(id=ID, after=after, wait=5))


async def read_to_end(loads: LoadGenerators, after: int = 0) -> list[dict[str, Any]]:
    """Read all lines after this number until the load ends."""
    lines: list[str] = []
    while (reply := await read(loads, after + len(lines))).state == "running" or reply.lines:
        lines += reply.lines
    return [json.loads(line) for line in lines]


async def test_every_line_is_returned_and_can_be_read_again(loads: LoadGenerators) -> None:
    assert (await loads.start(load_request(4))).state == "running"
    lines = await read_to_end(loads)
    assert [line["kind"] for line in lines] == ["begin", *["second"] * 4, "end"]
    assert await read_to_end(loads, 3) == lines[3:]
    assert await read_to_end(loads) == lines
    assert (await loads.start(load_request(4))).state == "ended", "an ID is never started twice"
    assert await read_to_end(loads) == lines


async def test_load_keeps_running_when_the_agent_restarts(loads: LoadGenerators, settings: AgentSettings) -> None:
    await loads.start(load_request(1000))
    first = await read(loads)
    restarted = LoadGenerators(settings)
    await restarted.adopt()
    again = await read(restarted, len(first.lines))
    assert (again.state, bool(again.lines)) == ("running", True)
    assert (await restarted.start(load_request(1000))).state == "running"
    assert (await restarted.stop(LoadReference(id=ID))).id == ID
    last = (await read_to_end(restarted, len(first.lines)))[-1]
    assert (last["kind"], last["stopped"]) == ("end", True)


async def test_password_is_not_in_the_arguments(loads: LoadGenerators) -> None:
    await loads.start(load_request(1000, password="correct-horse"))
    await read(loads)
    process = loads._processes.running()[ID]
    assert "correct-horse" not in " ".join(process.cmdline())
    await loads.stop(LoadReference(id=ID))
    await read_to_end(loads)
    assert json.loads((await loads.reports(LoadReference(id=ID))).memtier_json) == {"password": "correct-horse"}
    for file in (loads._processes.root / ID).iterdir():
        assert file.name == "report.json" or b"correct-horse" not in file.read_bytes()


async def test_remove_ends_the_process_and_deletes_its_files(loads: LoadGenerators) -> None:
    await loads.start(load_request(1000))
    process = loads._processes.running()[ID]
    assert (await loads.remove(LoadReference(id=ID))).state == "absent"
    assert not psutil.pid_exists(process.pid)
    assert (await loads.remove(LoadReference(id=ID))).state == "absent"
    assert (await read(loads)).state == "absent"
    assert list(loads._processes.root.iterdir()) == []


async def test_error_output_is_reported_after_the_end(loads: LoadGenerators, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "shardboard-load"
    script.write_text("#!/bin/sh\necho 'it broke' >&2\nexit 1\n")
    await loads.start(load_request(1))
    async with asyncio.timeout(60):
        while (reply := await read(loads)).state == "running":
            pass
    assert (reply.state, reply.lines, reply.stderr_tail) == ("ended", [], "it broke")


async def test_missing_binary_is_reported(loads: LoadGenerators, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.agent.benchmarks.load_generators.find", lambda: None)
    state = await loads.start(load_request(1))
    assert (state.state, "is not installed on node 127.0.0.1" in state.error) == ("absent", True)
    assert list(loads._processes.root.iterdir()) == []


def memtier_request(seconds: int, *more: str, password: str = "") -> StartLoad:
    return load_request(seconds, *more, password=password).model_copy(update={"tool": "memtier_benchmark"})


async def test_memtier_benchmark_uses_the_same_protocol(loads: LoadGenerators, settings: AgentSettings) -> None:
    await loads.start(memtier_request(1000))
    first = await read(loads)
    while not any('"second"' in line for line in first.lines):
        first = await read(loads)
    restarted = LoadGenerators(settings)
    await restarted.adopt()
    assert (await restarted.start(memtier_request(1000))).state == "running"
    assert (await restarted.stop(LoadReference(id=ID))).id == ID
    last = (await read_to_end(restarted, len(first.lines)))[-1]
    assert (last["kind"], last["stopped"]) == ("end", True)
    reports = await restarted.reports(LoadReference(id=ID))
    assert json.loads(reports.memtier_json)["ALL STATS"]["Totals"]["Count"] == last["ops"]
    assert reports.text.startswith("ALL STATS")


async def test_remove_ends_memtier_benchmark_and_its_wrapper(loads: LoadGenerators) -> None:
    await loads.start(memtier_request(1000))
    await read(loads)
    outer = loads._processes.running()[ID]
    (inner,) = outer.children()
    outer.kill()
    await loads.remove(LoadReference(id=ID))
    assert not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE
    assert list(loads._processes.root.iterdir()) == []


async def test_missing_memtier_benchmark_is_reported(loads: LoadGenerators, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    state = await loads.start(memtier_request(1))
    assert (state.state, "memtier_benchmark is not on the PATH" in state.error) == ("absent", True)
    assert list(loads._processes.root.iterdir()) == []


async def test_incomplete_line_is_not_returned(loads: LoadGenerators) -> None:
    directory = loads._processes.root / ID
    directory.mkdir()
    (directory / "lines.ndjson").write_bytes(b'{"a":1}\n{"b"')
    assert (await read(loads)).lines == ['{"a":1}']
    (directory / "lines.ndjson").write_bytes(b'{"a":1}\n{"b":2}\n')
    assert (await read(loads, 1)).lines == ['{"b":2}']
