"""Agents get the pinning of their node, and their reports are stored."""

from typing import Any

import pytest
from sqlalchemy import select

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import CpuPinning, PinningReport
from shardboard.errors import AgentOutdated
from shardboard.reconcilers.cluster import cpu_pinning
from shardboard.reconcilers.cluster.cpu_pinning import CpuPinningLoop
from shardboard.state.alerting.events import Event
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.shards import Shard

pytestmark = [pytest.mark.store, pytest.mark.usefixtures("nodes")]
ON = {"mode": "cores", "shards": "0-1", "proxy": "", "cores_per_shard": 0}


@pytest.fixture
def loop(console: Console) -> CpuPinningLoop:
    return CpuPinningLoop(console.store, console.bus, console.agents)


async def configure(console: Console, uid: int, pinning: dict[str, Any]) -> None:
    async with console.store.begin() as session:
        (await session.get_one(Node, uid)).config = {"cpu_pinning": pinning}


async def stored(console: Console, uid: int) -> dict[str, Any]:
    async with console.store.read() as session:
        return (await session.get_one(Node, uid)).pinning


def calls(agents: FakeAgents, uid: int) -> int:
    return agents.calls.count(("pin_processes", uid))


async def test_settings_are_sent_once_and_reports_stored(
    console: Console, agents: FakeAgents, loop: CpuPinningLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await configure(console, 1, ON)
    await loop.update()
    assert agents.pinning == {1: CpuPinning(**ON), 2: CpuPinning(), 3: CpuPinning()}
    assert ((await stored(console, 1))["state"], await stored(console, 2)) == ("active", {})
    await loop.update()
    assert (calls(agents, 1), calls(agents, 2)) == (1, 1), "nothing has changed"
    monkeypatch.setattr(cpu_pinning, "REPEAT_SECONDS", 0.0)
    await loop.update()
    assert (calls(agents, 1), calls(agents, 2)) == (2, 1), "only a node with pinning has a report to update"


async def test_new_processes_cause_a_new_report(console: Console, agents: FakeAgents, loop: CpuPinningLoop) -> None:
    await configure(console, 1, ON)
    await loop.update()
    async with console.store.begin() as session:
        shard = Shard.planned(1, 1, 1, 0, "master", "0-16383", 20000)
        shard.observed_pid = 4711
        session.add(shard)
    await loop.update()
    assert (calls(agents, 1), calls(agents, 2)) == (2, 1)


async def test_setting_is_sent_again_after_the_agent_was_lost(
    console: Console, agents: FakeAgents, loop: CpuPinningLoop
) -> None:
    await loop.update()
    for status in ("lost", "connected"):
        async with console.store.begin() as session:
            (await session.get_one(Node, 3)).agent_status = status
        await loop.update()
    assert (calls(agents, 1), calls(agents, 3)) == (1, 2)


async def test_failures_are_recorded_once(console: Console, agents: FakeAgents, loop: CpuPinningLoop) -> None:
    await configure(console, 1, ON)
    agents.pinning_reports[1] = PinningReport(state="failed", detail="shards: cores 1 do not exist or are offline")
    await loop.update()
    await loop.update()
    assert (await stored(console, 1))["state"] == "failed"
    async with console.store.read() as session:
        found = await session.scalars(select(Event).where(Event.type == "cpu_pinning_failed"))
        assert [(each.node_uid, each.severity) for each in found] == [(1, "WARNING")]
    agents.pinning_reports.clear()
    await configure(console, 1, {"mode": "off"})
    await loop.update()
    assert (await stored(console, 1))["state"] == "off"


async def test_end_of_pinning_is_repeated_until_it_succeeds(
    console: Console, agents: FakeAgents, loop: CpuPinningLoop
) -> None:
    agents.pinning_reports[1] = PinningReport(state="failed", detail="the disk is full")
    await loop.update()
    await loop.update()
    agents.pinning_reports.clear()
    await loop.update()
    await loop.update()
    assert (calls(agents, 1), calls(agents, 2)) == (3, 1)


async def test_agents_of_the_previous_release_are_reported(
    console: Console, agents: FakeAgents, loop: CpuPinningLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> PinningReport:
        raise AgentOutdated("unknown call")

    monkeypatch.setattr(agents, "pin_processes", refuse)
    await configure(console, 1, ON)
    await loop.update()
    assert "Upgrade the agent" in (await stored(console, 1))["detail"]
    assert await stored(console, 2) == {}
