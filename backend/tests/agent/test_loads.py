"""The agent's load generators: told once, found again, read from any line, ended and forgotten."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests import load_double, memtier_double

from shardboard.agent.contract import LoadLines, NamedLoad, ReadLoad, StartLoad
from shardboard.agent.loads import Loads
from shardboard.agent.settings import AgentSettings

ID = "0" * 31 + "1"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentSettings:
    monkeypatch.setenv("PATH", load_double.install(tmp_path / "bin"), prepend=":")
    memtier_double.install(tmp_path / "bin")
    return AgentSettings(address="127.0.0.1", state_dir=tmp_path / "agent")


@pytest.fixture
async def loads(settings: AgentSettings) -> AsyncIterator[Loads]:
    made = Loads(settings)
    await made.adopt()
    yield made
    last = Loads(settings)
    await last.adopt()
    await last.remove(NamedLoad(id=ID))


def order(seconds: int, *more: str, password: str = "") -> StartLoad:
    return StartLoad(id=ID, arguments=[f"--test-time={seconds}", *more], password=password)


async def read(loads: Loads, after: int = 0) -> LoadLines:
    return await loads.read(ReadLoad(id=ID, after=after, wait=5))


async def told(loads: Loads, after: int = 0) -> list[dict[str, Any]]:
    """Everything from there to its end."""
    lines: list[str] = []
    while (found := await read(loads, after + len(lines))).state == "running" or found.lines:
        lines += found.lines
    return [json.loads(line) for line in lines]


async def test_every_line_is_told_and_can_be_told_again(loads: Loads) -> None:
    assert (await loads.start(order(4))).state == "running"
    lines = await told(loads)
    assert [line["kind"] for line in lines] == ["begin", *["second"] * 4, "end"]
    assert await told(loads, 3) == lines[3:]
    assert await told(loads) == lines
    assert (await loads.start(order(4))).state == "ended", "an id is never started twice"
    assert await told(loads) == lines


async def test_it_outlives_the_agent(loads: Loads, settings: AgentSettings) -> None:
    await loads.start(order(1000))
    first = await read(loads)
    successor = Loads(settings)
    await successor.adopt()
    again = await read(successor, len(first.lines))
    assert (again.state, bool(again.lines)) == ("running", True)
    assert (await successor.start(order(1000))).state == "running"
    assert (await successor.stop(NamedLoad(id=ID))).id == ID
    last = (await told(successor, len(first.lines)))[-1]
    assert (last["kind"], last["stopped"]) == ("end", True)


async def test_the_password_is_in_no_argument(loads: Loads) -> None:
    await loads.start(order(1000, password="correct-horse"))
    await read(loads)
    running = loads._processes[ID]
    assert "correct-horse" not in " ".join(running.cmdline())
    await loads.stop(NamedLoad(id=ID))
    await told(loads)
    assert json.loads((await loads.reports(NamedLoad(id=ID))).memtier_json) == {"password": "correct-horse"}
    for file in (loads._root / ID).iterdir():
        assert file.name == "report.json" or b"correct-horse" not in file.read_bytes()


async def test_removed_at_once(loads: Loads) -> None:
    await loads.start(order(1000))
    process = loads._processes[ID]
    assert (await loads.remove(NamedLoad(id=ID))).state == "absent"
    assert not psutil.pid_exists(process.pid)
    assert (await loads.remove(NamedLoad(id=ID))).state == "absent"
    assert (await read(loads)).state == "absent"
    assert list(loads._root.iterdir()) == []


async def test_what_it_says_at_the_end_is_kept(loads: Loads, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "shardboard-load"
    script.write_text("#!/bin/sh\necho 'it broke' >&2\nexit 1\n")
    await loads.start(order(1))
    async with asyncio.timeout(60):
        while (found := await read(loads)).state == "running":
            pass
    assert (found.state, found.lines, found.said) == ("ended", [], "it broke")


async def test_without_the_binary(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.agent.loads.find", lambda: None)
    state = await loads.start(order(1))
    assert (state.state, "is not installed on node 127.0.0.1" in state.refused) == ("absent", True)
    assert list(loads._root.iterdir()) == []


def memtier_order(seconds: int, *more: str, password: str = "") -> StartLoad:
    return order(seconds, *more, password=password).model_copy(update={"tool": "memtier_benchmark"})


async def test_memtier_benchmark_is_told_in_the_same_way(loads: Loads, settings: AgentSettings) -> None:
    await loads.start(memtier_order(1000))
    first = await read(loads)
    while not any('"second"' in line for line in first.lines):
        first = await read(loads)
    successor = Loads(settings)
    await successor.adopt()
    assert (await successor.start(memtier_order(1000))).state == "running"
    assert (await successor.stop(NamedLoad(id=ID))).id == ID
    last = (await told(successor, len(first.lines)))[-1]
    assert (last["kind"], last["stopped"]) == ("end", True)
    reports = await successor.reports(NamedLoad(id=ID))
    assert json.loads(reports.memtier_json)["ALL STATS"]["Totals"]["Count"] == last["ops"]
    assert reports.text.startswith("ALL STATS")


async def test_removing_ends_memtier_benchmark_with_what_runs_it(loads: Loads) -> None:
    await loads.start(memtier_order(1000))
    await read(loads)
    outer = loads._processes[ID]
    (inner,) = outer.children()
    outer.kill()
    await loads.remove(NamedLoad(id=ID))
    assert not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE
    assert list(loads._root.iterdir()) == []


async def test_a_node_without_memtier_benchmark(loads: Loads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    state = await loads.start(memtier_order(1))
    assert (state.state, "memtier_benchmark is not on the PATH" in state.refused) == ("absent", True)
    assert list(loads._root.iterdir()) == []


async def test_half_a_line_waits_for_its_end(loads: Loads) -> None:
    directory = loads._root / ID
    directory.mkdir()
    (directory / "lines.ndjson").write_bytes(b'{"a":1}\n{"b"')
    assert (await read(loads)).lines == ['{"a":1}']
    (directory / "lines.ndjson").write_bytes(b'{"a":1}\n{"b":2}\n')
    assert (await read(loads, 1)).lines == ['{"b":2}']
