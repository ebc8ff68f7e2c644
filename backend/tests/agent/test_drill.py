"""Rehearsed faults on real shards: what is killed, what is frozen, who seems gone, and that it ends."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
import pytest
from backend.tests.shards import Farm, ask, farm, lone, request, until
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from shardboard.agent.contract import Drill
from shardboard.agent.drill import Absence, Drills
from shardboard.agent.machine import MachineSampler
from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.proxy import Proxy
from shardboard.agent.sampler import PULSE, Sampler


class Drilled:
    """Two shards, drills on them, and the agent as seen over HTTP."""

    def __init__(self, node: Farm, processes: dict[int, psutil.Process]) -> None:
        self.node = node
        self.processes = processes
        proxy = Proxy(node.settings[1])
        self.sampler = Sampler(node[1], MachineSampler(node.settings[1]), proxy, ProbeRate(), "127.0.0.1")
        self.drills = Drills(node[1], self.sampler, proxy, node.settings[1].address)
        app = Starlette(routes=[Route("/facts", lambda _: PlainTextResponse("facts"))])
        app.add_middleware(Absence, drills=self.drills)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent")

    async def begin(self, kind: str, uid: int | None = None, name: str = "1") -> str:
        return await self.drills.begin(Drill(id=name, kind=kind, seconds=60, uid=uid))  # type: ignore[arg-type]

    def status(self) -> dict[int, str]:
        return {uid: process.status() if process.is_running() else "gone" for uid, process in self.processes.items()}

    def stopped(self) -> set[int]:
        return {uid for uid, status in self.status().items() if status == psutil.STATUS_STOPPED}

    def dead(self) -> set[int]:
        self.node[1].check()
        return {uid for uid, shard in self.node[1].shards.items() if shard.state == "died"}


@pytest.fixture
async def over(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set by the test when the time of a drill is over."""
    event, sleep = asyncio.Event(), asyncio.sleep

    async def wait(seconds: float) -> None:
        await (event.wait() if seconds == 60 else sleep(seconds))

    monkeypatch.setattr("shardboard.agent.drill.asyncio.sleep", wait)
    return event


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Drilled]:
    async with farm(tmp_path) as node:
        assert all(outcome.ok for outcome in await node[1].start(request(lone(1), lone(2))))
        made = Drilled(node, {uid: psutil.Process(shard.record.pid) for uid, shard in node[1].shards.items()})
        yield made
        for task in made.drills._tasks:
            task.cancel()
        await asyncio.gather(*made.drills._tasks, return_exceptions=True)
        await made.http.aclose()


async def test_a_killed_shard_stays_dead_and_the_others_live(agent: Drilled, over: asyncio.Event) -> None:
    await agent.begin("kill_shard", 1)
    await until(lambda: agent.dead() == {1})
    assert agent.node[1].shards[1].detail == "its process was killed by SIGKILL"
    assert (await agent.http.get("/facts")).status_code == 200, "the agent does not hide"
    over.set()
    await until(lambda: not agent.drills._tasks)
    assert agent.dead() == {1}


async def test_a_frozen_shard_goes_on_with_its_data(agent: Drilled, over: asyncio.Event) -> None:
    await ask(agent.node[1].shards[1], "SET", "key", "value")
    await agent.begin("freeze_shard", 1)
    await until(lambda: agent.stopped() == {1})
    assert (await agent.http.get("/facts")).status_code == 200
    over.set()
    await until(lambda: not agent.stopped())
    assert await ask(agent.node[1].shards[1], "GET", "key") == "value"


async def test_a_frozen_node_is_silent_and_then_answers_what_it_was_asked(agent: Drilled, over: asyncio.Event) -> None:
    samples = agent.sampler.follow(0, "")
    assert await anext(samples) == PULSE
    await agent.begin("freeze")
    await until(lambda: agent.stopped() == {1, 2})
    asked = asyncio.create_task(agent.http.get("/facts"))
    done, _ = await asyncio.wait((asked,), timeout=0.1)
    assert not done
    over.set()
    assert (await asked).text == "facts"
    assert await anext(samples) == PULSE, "the stream was never cut"
    assert agent.stopped() == set()
    await samples.aclose()  # type: ignore[attr-defined]


async def test_a_rebooting_node_refuses_and_ends_its_streams(agent: Drilled, over: asyncio.Event) -> None:
    samples = agent.sampler.follow(0, "")
    await anext(samples)
    await agent.begin("reboot")
    assert {line async for line in samples} <= {PULSE}, "it ends, after a last pulse at most"
    await until(lambda: agent.dead() == {1, 2})
    assert (await agent.http.get("/facts")).status_code == 503
    over.set()
    await until(lambda: not agent.drills._tasks)
    assert (await agent.http.get("/facts")).status_code == 200
    assert await anext(agent.sampler.follow(0, "")) == PULSE, "who asks anew is served"
    assert agent.dead() == {1, 2}, "an agent starts nothing by itself"


async def test_the_same_order_is_carried_out_once_and_another_waits_for_its_turn(
    agent: Drilled, over: asyncio.Event
) -> None:
    await agent.begin("freeze_shard", 1)
    await agent.begin("freeze_shard", 1)
    assert len(agent.drills._tasks) == 1
    await agent.begin("freeze_shard", 2, name="2")
    await until(lambda: agent.stopped() == {1})
    over.set()
    await until(lambda: not agent.drills._tasks)
    assert agent.stopped() == set()


async def test_shards_of_others_are_not_touched(agent: Drilled, over: asyncio.Event) -> None:
    await agent.begin("kill_shard", 99)
    over.set()
    await until(lambda: not agent.drills._tasks)
    assert agent.dead() == set()


async def test_an_agent_that_stops_in_the_middle_thaws_what_it_froze(agent: Drilled, over: asyncio.Event) -> None:
    await agent.begin("freeze")
    await until(lambda: agent.stopped() == {1, 2})
    [task] = agent.drills._tasks
    task.cancel()
    await until(lambda: not agent.stopped())


async def test_after_a_killed_agent_the_next_one_thaws(agent: Drilled) -> None:
    await ask(agent.node[1].shards[1], "SET", "key", "value")
    agent.node[1].signal([1, 2], signal.SIGSTOP)
    await until(lambda: agent.stopped() == {1, 2})
    adopted = await agent.node.restart_agent()
    assert agent.stopped() == set()
    assert {uid: shard.record.pid for uid, shard in adopted.shards.items()} == {
        uid: process.pid for uid, process in agent.processes.items()
    }
    assert await ask(adopted.shards[1], "GET", "key") == "value"


@pytest.mark.parametrize("wrong", [{"kind": "explode"}, {"seconds": 0}, {"seconds": 121}, {"id": None}, {"more": 1}])
def test_orders_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Drill(**{"id": "1", "kind": "reboot", "seconds": 5} | wrong)  # type: ignore[arg-type]


async def test_a_node_that_nobody_would_start_again_is_not_killed(
    agent: Drilled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INVOCATION_ID", raising=False)
    assert (await agent.begin("kill")).startswith("the agent does not run under systemd")
    assert agent.dead() == set()


async def test_a_kill_takes_the_agent_along(agent: Drilled, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setenv("INVOCATION_ID", "1")
    monkeypatch.setattr("shardboard.agent.drill.os._exit", ended.append)
    assert await agent.begin("kill") == ""
    await until(lambda: ended == [137] and agent.dead() == {1, 2})


async def test_what_the_machine_does_not_allow_is_refused_with_its_reason(
    agent: Drilled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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
