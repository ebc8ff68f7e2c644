"""Tests of failure drills on real shards: killed and frozen processes, simulated outages, and recovery."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest
from backend.tests.support.real_shards import (
    LocalNodes,
    execute_as_admin,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.failures.drills import Drills, OutageSimulator
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.sampler import PULSE, Sampler
from shardboard.contract import Drill


class DrillSetup:
    """Two shards, their drills, and an HTTP client of the agent."""

    def __init__(self, node: LocalNodes, processes: dict[int, psutil.Process]) -> None:
        self.node = node
        self.processes = processes
        proxy = ProxyProcess(node.settings[1])
        self.sampler = Sampler(node[1], MachineSampler(node.settings[1]), proxy, ProbeRate(), "127.0.0.1")
        self.drills = Drills(node[1], self.sampler, proxy, node.settings[1].address)
        app = Starlette(routes=[Route("/facts", lambda _: PlainTextResponse("facts"))])
        app.add_middleware(OutageSimulator, drills=self.drills)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent")

    async def begin(self, kind: str, uid: int | None = None, name: str = "1") -> str:
        return await self.drills.start(Drill(id=name, kind=kind, seconds=60, uid=uid))  # type: ignore[arg-type]

    def status(self) -> dict[int, str]:
        return {uid: process.status() if process.is_running() else "gone" for uid, process in self.processes.items()}

    def stopped(self) -> set[int]:
        return {uid for uid, status in self.status().items() if status == psutil.STATUS_STOPPED}

    def dead(self) -> set[int]:
        self.node[1].check()
        return {uid for uid, shard in self.node[1].shards.items() if shard.state == "died"}


@pytest.fixture
async def drill_end(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return an event that the test sets when the drill is to end."""
    event, sleep = asyncio.Event(), asyncio.sleep

    async def wait(seconds: float) -> None:
        await (event.wait() if seconds == 60 else sleep(seconds))

    monkeypatch.setattr("shardboard.agent.failures.drills.asyncio.sleep", wait)
    return event


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[DrillSetup]:
    async with local_nodes(tmp_path) as node:
        assert all(
            outcome.ok for outcome in await node[1].start(start_request(standalone_shard(1), standalone_shard(2)))
        )
        setup = DrillSetup(node, {uid: psutil.Process(shard.record.pid) for uid, shard in node[1].shards.items()})
        yield setup
        for task in setup.drills._tasks:
            task.cancel()
        await asyncio.gather(*setup.drills._tasks, return_exceptions=True)
        await setup.http.aclose()


async def test_killed_shard_stays_dead_and_others_keep_running(agent: DrillSetup, drill_end: asyncio.Event) -> None:
    await agent.begin("kill_shard", 1)
    await wait_until(lambda: agent.dead() == {1})
    assert agent.node[1].shards[1].detail == "its process was killed by SIGKILL"
    assert (await agent.http.get("/facts")).status_code == 200, "the agent stays reachable"
    drill_end.set()
    await wait_until(lambda: not agent.drills._tasks)
    assert agent.dead() == {1}


async def test_frozen_shard_continues_with_its_data(agent: DrillSetup, drill_end: asyncio.Event) -> None:
    await execute_as_admin(agent.node[1].shards[1], "SET", "key", "value")
    await agent.begin("freeze_shard", 1)
    await wait_until(lambda: agent.stopped() == {1})
    assert (await agent.http.get("/facts")).status_code == 200
    drill_end.set()
    await wait_until(lambda: not agent.stopped())
    assert await execute_as_admin(agent.node[1].shards[1], "GET", "key") == "value"


async def test_frozen_node_answers_pending_requests_after_the_drill(
    agent: DrillSetup, drill_end: asyncio.Event
) -> None:
    samples = agent.sampler.follow(0, "")
    assert await anext(samples) == PULSE
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    pending = asyncio.create_task(agent.http.get("/facts"))
    done, _ = await asyncio.wait((pending,), timeout=0.1)
    assert not done
    drill_end.set()
    assert (await pending).text == "facts"
    assert await anext(samples) == PULSE, "the stream was not closed"
    assert agent.stopped() == set()
    await samples.aclose()  # type: ignore[attr-defined]


async def test_rebooting_node_refuses_requests_and_ends_streams(agent: DrillSetup, drill_end: asyncio.Event) -> None:
    samples = agent.sampler.follow(0, "")
    await anext(samples)
    await agent.begin("reboot")
    assert {line async for line in samples} <= {PULSE}, "the stream ends after at most one more pulse"
    await wait_until(lambda: agent.dead() == {1, 2})
    assert (await agent.http.get("/facts")).status_code == 503
    drill_end.set()
    await wait_until(lambda: not agent.drills._tasks)
    assert (await agent.http.get("/facts")).status_code == 200
    assert await anext(agent.sampler.follow(0, "")) == PULSE, "new requests are served"
    assert agent.dead() == {1, 2}, "the agent does not restart shards on its own"


async def test_repeated_request_runs_once_and_another_drill_waits(agent: DrillSetup, drill_end: asyncio.Event) -> None:
    await agent.begin("freeze_shard", 1)
    await agent.begin("freeze_shard", 1)
    assert len(agent.drills._tasks) == 1
    await agent.begin("freeze_shard", 2, name="2")
    await wait_until(lambda: agent.stopped() == {1})
    drill_end.set()
    await wait_until(lambda: not agent.drills._tasks)
    assert agent.stopped() == set()


async def test_drill_on_unknown_shard_changes_nothing(agent: DrillSetup, drill_end: asyncio.Event) -> None:
    await agent.begin("kill_shard", 99)
    drill_end.set()
    await wait_until(lambda: not agent.drills._tasks)
    assert agent.dead() == set()


async def test_agent_that_stops_during_a_drill_resumes_frozen_shards(
    agent: DrillSetup, drill_end: asyncio.Event
) -> None:
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    [task] = agent.drills._tasks
    task.cancel()
    await wait_until(lambda: not agent.stopped())


async def test_new_agent_resumes_shards_frozen_by_a_killed_agent(agent: DrillSetup) -> None:
    await execute_as_admin(agent.node[1].shards[1], "SET", "key", "value")
    agent.node[1].signal([1, 2], signal.SIGSTOP)
    await wait_until(lambda: agent.stopped() == {1, 2})
    adopted = await agent.node.restart_agent()
    assert agent.stopped() == set()
    assert {uid: shard.record.pid for uid, shard in adopted.shards.items()} == {
        uid: process.pid for uid, process in agent.processes.items()
    }
    assert await execute_as_admin(adopted.shards[1], "GET", "key") == "value"


@pytest.mark.parametrize("wrong", [{"kind": "explode"}, {"seconds": 0}, {"seconds": 121}, {"id": None}, {"more": 1}])
def test_invalid_drill_requests_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Drill(**{"id": "1", "kind": "reboot", "seconds": 5} | wrong)  # type: ignore[arg-type]


async def test_agent_without_service_manager_is_not_killed(agent: DrillSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INVOCATION_ID", raising=False)
    assert (await agent.begin("kill")).startswith("the agent does not run under systemd")
    assert agent.dead() == set()


async def test_kill_drill_ends_agent_and_shards(agent: DrillSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setenv("INVOCATION_ID", "1")
    monkeypatch.setattr("shardboard.agent.failures.drills.os._exit", ended.append)
    assert await agent.begin("kill") == ""
    await wait_until(lambda: ended == [137] and agent.dead() == {1, 2})


async def test_drill_without_required_permission_is_refused_with_reason(
    agent: DrillSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await agent.begin("cut_off") == "the program ip (Debian package iproute2) is not installed on this node"
    (tmp_path / "ip").write_text("#!/bin/sh\necho RTNETLINK answers: Operation not permitted >&2\nexit 2\n")
    (tmp_path / "ip").chmod(0o755)
    assert (
        await agent.begin("cut_off")
        == "the agent is not permitted to change routes: RTNETLINK answers: Operation not permitted"
    )
    assert (
        await agent.begin("slow_network") == "the program nft (Debian package nftables) is not installed on this node"
    )
    (tmp_path / "nft").write_text("#!/bin/sh\necho Error: Operation not permitted >&2\nexit 1\n")
    (tmp_path / "nft").chmod(0o755)
    assert (
        await agent.begin("slow_network")
        == "the agent is not permitted to filter packets: Error: Operation not permitted"
    )
    assert agent.drills._tasks == set()
