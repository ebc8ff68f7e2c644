"""Tests of failure drills on real shards: killed and frozen processes, simulated outages, and recovery."""

import asyncio
import signal
import time
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
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.agent.failures.drill_record import DrillRecord, DrillRecords
from shardboard.agent.failures.drills import END_PATH, Drills, OutageSimulator
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.metrics.sample_ring import PULSE
from shardboard.agent.metrics.sampler import Sampler
from shardboard.contract import Drill


class DrillSetup:
    """Two shards, their drills, and an HTTP client of the agent."""

    def __init__(self, node: LocalNodes, processes: dict[int, psutil.Process]) -> None:
        self.node = node
        self.processes = processes
        proxy = ProxyProcess(node.settings[1])
        self.sampler = Sampler(node[1], MachineSampler(node.settings[1]), proxy, ProbeRate(), "127.0.0.1")
        self.proxy = proxy
        self.drills = self.new_drills()

        async def end(request: Request) -> PlainTextResponse:
            await self.drills.end((await request.json())["id"])
            return PlainTextResponse("ended")

        routes = [Route("/facts", lambda _: PlainTextResponse("facts")), Route(END_PATH, end, methods=["POST"])]
        app = Starlette(routes=routes)
        app.add_middleware(OutageSimulator, drills=self.drills)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent")

    def new_drills(self) -> Drills:
        settings = self.node.settings[1]
        return Drills(self.node[1], self.sampler, self.proxy, settings.address, settings.port, settings.state_dir)

    def kill_agent(self) -> None:
        """End the drills without their cleanup, as in a killed agent."""
        self.drills = self.new_drills()

    @property
    def records(self) -> list[str]:
        return [path.stem for path in (self.node.settings[1].state_dir / "drills").glob("*")]

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
async def agent(tmp_path: Path) -> AsyncIterator[DrillSetup]:
    async with local_nodes(tmp_path) as node:
        assert all(
            outcome.ok for outcome in await node[1].start(start_request(standalone_shard(1), standalone_shard(2)))
        )
        setup = DrillSetup(node, {uid: psutil.Process(shard.record.pid) for uid, shard in node[1].shards.items()})
        yield setup
        tasks = [task for _, task in setup.drills._drills.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await setup.http.aclose()


async def test_killed_shard_stays_dead_and_others_keep_running(agent: DrillSetup) -> None:
    await agent.begin("kill_shard", 1)
    await wait_until(lambda: agent.dead() == {1})
    assert agent.node[1].shards[1].detail == "its process was killed by SIGKILL"
    assert (await agent.http.get("/facts")).status_code == 200, "the agent stays reachable"
    await agent.drills.end("1")
    assert agent.dead() == {1}


async def test_frozen_shard_continues_with_its_data(agent: DrillSetup) -> None:
    await execute_as_admin(agent.node[1].shards[1], "SET", "key", "value")
    await agent.begin("freeze_shard", 1)
    await wait_until(lambda: agent.stopped() == {1})
    assert (await agent.http.get("/facts")).status_code == 200
    await agent.drills.end("1")
    await wait_until(lambda: not agent.stopped())
    assert await execute_as_admin(agent.node[1].shards[1], "GET", "key") == "value"


async def test_frozen_node_answers_pending_requests_after_the_drill(agent: DrillSetup) -> None:
    samples = agent.sampler.ring.follow(0, "")
    assert await anext(samples) == PULSE
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    pending = asyncio.create_task(agent.http.get("/facts"))
    done, _ = await asyncio.wait((pending,), timeout=0.1)
    assert not done
    await agent.drills.end("1")
    assert (await pending).text == "facts"
    assert await anext(samples) == PULSE, "the stream was not closed"
    assert agent.stopped() == set()
    await samples.aclose()  # type: ignore[attr-defined]


async def test_rebooting_node_refuses_requests_and_ends_streams(agent: DrillSetup) -> None:
    samples = agent.sampler.ring.follow(0, "")
    await anext(samples)
    await agent.begin("reboot")
    assert {line async for line in samples} <= {PULSE}, "the stream ends after at most one more pulse"
    await wait_until(lambda: agent.dead() == {1, 2})
    assert (await agent.http.get("/facts")).status_code == 503
    await agent.drills.end("1")
    assert (await agent.http.get("/facts")).status_code == 200
    assert await anext(agent.sampler.ring.follow(0, "")) == PULSE, "new requests are served"
    assert agent.dead() == {1, 2}, "the agent does not restart shards on its own"


async def test_repeated_request_runs_once_and_another_drill_waits(agent: DrillSetup) -> None:
    await agent.begin("freeze_shard", 1)
    await agent.begin("freeze_shard", 1)
    assert len(agent.drills._drills) == 1
    await agent.begin("freeze_shard", 2, name="2")
    await wait_until(lambda: agent.stopped() == {1})
    await agent.drills.end("1")
    await wait_until(lambda: agent.stopped() == {2})
    await agent.begin("freeze_shard", 1, name="3")
    ending = asyncio.create_task(agent.drills.end("3"))
    await agent.drills.end("2")
    await ending
    assert agent.stopped() == set()
    assert agent.records == []


async def test_drill_on_unknown_shard_changes_nothing(agent: DrillSetup) -> None:
    await agent.begin("kill_shard", 99)
    await agent.drills.end("1")
    assert agent.dead() == set()


async def test_agent_that_stops_during_a_drill_resumes_frozen_shards(agent: DrillSetup) -> None:
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    [(_, task)] = agent.drills._drills.values()
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


async def test_a_drill_that_is_ended_before_it_arrives_does_not_start(agent: DrillSetup) -> None:
    await agent.drills.end("1")
    assert await agent.begin("freeze") == ""
    assert agent.drills._drills == {}
    assert agent.records == []


async def test_ending_a_drill_is_possible_during_the_outage(agent: DrillSetup) -> None:
    """Otherwise, the request would wait for the end of the drill, or be refused."""
    for name, kind in (("1", "freeze"), ("2", "reboot")):
        await agent.begin(kind, name=name)
        await wait_until(lambda: agent.drills.simulated_outage != "")
        assert (await agent.http.post("/drill/end", json={"id": name})).status_code == 200
        assert agent.drills.simulated_outage == ""
        assert (await agent.http.get("/facts")).status_code == 200
    assert agent.records == []


@pytest.mark.slow
async def test_a_killed_agent_continues_the_drill(agent: DrillSetup) -> None:
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    assert agent.records == ["1"]
    agent.kill_agent()
    for shard in agent.processes.values():  # as when the new agent adopts them
        shard.resume()
    await agent.drills.adopt()
    await wait_until(lambda: agent.stopped() == {1, 2})
    assert agent.drills.simulated_outage == "silent", "before the agent serves requests"
    assert await agent.begin("freeze") == "", "the console that does not know of the start repeats the request"
    assert len(agent.drills._drills) == 1
    await agent.drills.end("1")
    assert agent.stopped() == set()
    assert agent.records == []


@pytest.mark.slow
async def test_an_agent_that_starts_after_the_planned_end_removes_the_fault(
    agent: DrillSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    await agent.begin("freeze")
    await wait_until(lambda: agent.stopped() == {1, 2})
    agent.kill_agent()
    now = time.time() + 61
    monkeypatch.setattr("shardboard.agent.failures.drill_record.time.time", lambda: now)
    await agent.drills.adopt()
    await wait_until(lambda: agent.drills._drills == {})
    assert agent.stopped() == set()
    assert agent.records == []


@pytest.mark.slow
async def test_a_continued_reboot_does_not_kill_restarted_shards(agent: DrillSetup) -> None:
    await agent.begin("reboot")
    await wait_until(lambda: agent.dead() == {1, 2})
    agent.kill_agent()
    assert [outcome.ok for outcome in await agent.node[1].restart([1, 2], discard_data=True)] == [True, True]
    await agent.drills.adopt()
    assert agent.drills.simulated_outage == "refusing"
    await agent.drills.end("1")
    assert agent.dead() == set()


async def test_a_drill_without_a_record_does_not_start(agent: DrillSetup) -> None:
    """Otherwise, an agent that is killed would leave its fault behind."""
    directory = agent.node.settings[1].state_dir / "drills"
    directory.write_text("")
    refusal = await agent.begin("freeze_shard", 1)
    assert refusal.startswith(f"the record of the drill cannot be written to {directory}/1.json: ")
    assert (agent.drills._drills, agent.stopped()) == ({}, set())
    directory.unlink()
    assert await agent.begin("freeze_shard", 1) == "", "the request can be repeated"
    assert agent.records == ["1"], "the record is written before the reply"


async def test_a_drill_ends_with_the_machine(
    agent: DrillSetup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await agent.begin("freeze_shard", 1)
    await wait_until(lambda: agent.stopped() == {1})
    agent.processes[1].resume()
    await wait_until(lambda: not agent.stopped())
    agent.kill_agent()
    other_boot = tmp_path / "boot_id"
    other_boot.write_text("other\n")
    monkeypatch.setattr("shardboard.agent.failures.drill_record.BOOT_ID_FILE", other_boot)
    await agent.drills.adopt()
    assert (agent.drills._drills, agent.records, agent.stopped()) == ({}, [], set())
    assert await agent.begin("freeze_shard", 1) == ""
    assert agent.drills._drills == {}, "a repeated request does not start it again"


def test_unreadable_records_are_ignored(tmp_path: Path) -> None:
    records = DrillRecords(tmp_path)
    record = DrillRecord(drill=Drill(id="1", kind="freeze", seconds=60), ends_at=time.time() + 100)
    records.save(record)
    records.path("2").write_text("{")
    assert records.load() == [record]
    assert records.load()[0].seconds_left == 60, "not more than the duration"
    assert records.path("2").exists(), "without it, a watchdog would not remove the fault"


@pytest.mark.parametrize(
    "wrong", [{"kind": "explode"}, {"seconds": 0}, {"seconds": 3601}, {"id": None}, {"id": "../1"}, {"more": 1}]
)
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
    assert agent.drills._drills == {}
