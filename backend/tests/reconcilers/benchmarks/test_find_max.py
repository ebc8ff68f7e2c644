"""Searches for the highest rate from start to end with fake agents, on two load nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.benchmarks.test_benchmark_runs import (
    add_output,
    bdb,
    get_run,
    running,
    short_intervals,
    start_run,
    until,
    wait_for_end,
    wait_for_loads,
    wait_for_run,
)
from backend.tests.reconcilers.loop_helpers import Gate
from backend.tests.support import fake_load_generator
from backend.tests.support.case_sampling import Sampling

from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents

__all__ = ["bdb", "short_intervals"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("nodes")]

CAPACITY, PEAK = 7_000, 10_000
INTERVAL = 21
"""Steps between two kills of a search: enough for progress, because a restarted console first claims the run again."""
SEARCH: dict[str, Any] = {"find_max": {"limit": "average_ms", "ms": 1.0, "confirmations": 2}, "load_nodes": [2, 3]}


def complete(agents: FakeAgents, load: str) -> None:
    """Let one of two generators report three seconds of a database with a known capacity."""
    rates = [word.partition("=")[2] for word in agents.loads[load].arguments if word.startswith("--rate=")]
    rate = 2 * float(rates[0]) if rates else None
    ops = round(min(rate or PEAK, PEAK) / 2)
    micros = 400 if rate is None or rate <= CAPACITY else 5_000
    lines = [
        fake_load_generator.second_line(t, 101.0 + t, ops, micros, service_average_us=float(micros)) for t in range(3)
    ]
    last = fake_load_generator.end_line(103.0, 3.0, 3 * ops)
    add_output(agents, load, fake_load_generator.begin_line(100.0), *lines, last)
    agents.ended_loads.add(load)


@asynccontextmanager
async def completing_loads(agents: FakeAgents, known: set[str]) -> AsyncIterator[None]:
    """Complete all loads that are not in `known` as they start."""

    async def follow() -> None:
        while True:
            for load in agents.loads.keys() - known:
                known.add(load)
                complete(agents, load)
            await asyncio.sleep(0.002)

    task = asyncio.create_task(follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def check_result(run: dict[str, Any]) -> None:
    assert (run["status"], run["detail"], run["progress"]) == ("completed", "", 100.0)
    found = run["summary"]["find_max"]
    assert CAPACITY / 1.03 <= found["rate"] <= CAPACITY
    assert (found["confirmed"], found["confirmations"], found["limited_by"]) == (True, 2, "database")
    assert found["average_ms"] == 0.4
    assert found["ops_per_second"] == pytest.approx(found["rate"], rel=0.001)
    assert len(run["summary"]["results"]) == len(run["search"]) == len(run["loads"]) / 2
    assert [step["purpose"] for step in run["search"]].count("confirmation") == 2
    spread = run["summary"]["spread"]["ops_per_second"]
    assert (spread["least"], spread["most"]) == (spread["mean"], spread["mean"]), "only confirmation runs are compared"
    assert run["summary"]["verdict"]["kept"] is True


async def test_rate_is_found_with_several_load_nodes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, **SEARCH, sla={"min_ops_per_second": 6_500})
    async with running(console), completing_loads(agents, set()):
        check_result(await wait_for_end(console, uid))
    repeated = await start_run(client, **SEARCH, sla={"min_ops_per_second": 6_500})
    async with running(console), completing_loads(agents, set(agents.loads)):
        check_result(await wait_for_end(console, repeated))
    comparison = (await client.get("/v1/benchmarks/compare", params={"uids": f"{uid},{repeated}"})).json()
    assert [run["repetitions"] for run in comparison["runs"]] == [2, 2]
    [difference] = next(each for each in comparison["figures"] if each["name"] == "ops_per_second")["differences"]
    assert (difference["ratio"], difference["stands_out"]) == (1.0, False)


@pytest.mark.parametrize("gated", ["reconciler", "collector"])
async def test_killed_at_every_step_a_search_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, gated: str, sampling: Sampling
) -> None:
    """At every step: no load is started twice, and no step is lost or measured twice.

    Each search is killed again after every `INTERVAL` steps, and each search is first killed at a different step.
    """
    known: set[str] = set()
    for first in sampling.choose(range(1, INTERVAL + 1, 3), 2):
        uid = await start_run(client, **SEARCH, sla={"max_errors": 0})
        closed_at, kills = first, 0
        async with completing_loads(agents, known):
            ending = asyncio.create_task(wait_for_end(console, uid))
            while not ending.done():
                gate = Gate(closed_at)
                async with running(console, gate, gated):
                    killed = asyncio.create_task(gate.reached.wait())
                    await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
                killed.cancel()
                closed_at, kills = INTERVAL, kills + gate.reached.is_set()
            check_result(await ending)
        assert kills >= 5


async def test_a_stopped_search_keeps_its_steps(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, **SEARCH)
    async with running(console):
        for count in (2, 4, 6):
            for load in (await wait_for_loads(agents, count))[-2:]:
                complete(agents, load)
        loads = (await wait_for_loads(agents, 8))[-2:]
        await wait_for_run(console, uid, lambda run: run["loads"][-1]["status"] == "running")
        assert (await client.post(f"/v1/benchmarks/{uid}/stop")).status_code == 200
        await wait_for_run(console, uid, lambda _: agents.loads_stopped >= set(loads))
        for load in loads:
            begin, second = fake_load_generator.begin_line(100.0), fake_load_generator.second_line(0, 101.0)
            add_output(agents, load, begin, second, fake_load_generator.end_line(101.0, 1.0, 1000, stopped=True))
            agents.ended_loads.add(load)
        run = await wait_for_end(console, uid)
    assert run["status"] == "stopped"
    assert [step["met"] for step in run["search"]] == [True, False, True, None]
    found = run["summary"]["find_max"]
    assert (found["rate"], found["confirmed"], len(found["curve"])) == (5_000, False, 2)
    assert run["summary"]["spread"] == {}


async def test_a_failed_step_ends_the_search_and_keeps_the_earlier_ones(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, **SEARCH)
    async with running(console):
        for load in await wait_for_loads(agents, 2):
            complete(agents, load)
        first, second = (await wait_for_loads(agents, 4))[-2:]
        add_output(agents, first, {"kind": "error", "message": "The target does not answer."})
        agents.ended_loads.add(first)
        complete(agents, second)
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"]) == ("failed", "The target does not answer.")
    assert [step["met"] for step in run["search"]] == [True, None]
    assert run["summary"]["find_max"]["rate"] is None
    assert run == await get_run(console, uid)


async def kill_generator(console: Console, agents: FakeAgents, uid: int, count: int) -> list[str]:
    """Let the first of the two newest of `count` generators end without a report, and the other one when it is stopped."""
    killed, other = (await wait_for_loads(agents, count))[-2:]
    begin, second = fake_load_generator.begin_line(100.0), fake_load_generator.second_line(0, 101.0)
    for load in (killed, other):
        add_output(agents, load, begin, second)
    await wait_for_run(console, uid, lambda run: all(load["status"] == "running" for load in run["loads"][-2:]))
    agents.ended_loads.add(killed)
    await until(lambda: other in agents.loads_stopped)
    add_output(agents, other, fake_load_generator.end_line(101.0, 1.0, 1000, stopped=True))
    agents.ended_loads.add(other)
    return [killed, other]


async def test_a_step_whose_generator_was_killed_is_repeated(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, **SEARCH, sla={"min_ops_per_second": 6_500})
    async with running(console):
        for load in await wait_for_loads(agents, 2):
            complete(agents, load)
        await kill_generator(console, agents, uid, 4)
        async with completing_loads(agents, set(list(agents.loads)[:4])):
            run = await wait_for_end(console, uid)
    check_result(run)
    assert [step["met"] for step in run["search"][:4]] == [True, None, False, True]
    assert run["search"][1]["rate"] == run["search"][2]["rate"]
    assert [load["status"] for load in run["loads"]].count("failed") == 1


async def test_a_search_ends_if_generators_are_killed_again_and_again(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, **SEARCH)
    async with running(console):
        for count in (2, 4):
            for load in (await wait_for_loads(agents, count))[-2:]:
                complete(agents, load)
        for count in (6, 8, 10):
            await kill_generator(console, agents, uid, count)
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"]) == ("failed", "The load generator ended without a report.")
    assert [step["met"] for step in run["search"]] == [True, False, None, None, None]
    assert [point[3] for point in run["summary"]["find_max"]["curve"]] == [False], "what was measured is kept"
