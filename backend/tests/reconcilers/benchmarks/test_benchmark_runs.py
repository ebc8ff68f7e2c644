"""Benchmark runs from start to end with fake agents: steps, collection of output, stops, failures, and killed consoles."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.loop_helpers import Gate, GatedAgents, GatedStore
from backend.tests.support import fake_load_generator
from backend.tests.support.case_sampling import Sampling
from sqlalchemy import select

from shardboard.actions import drills
from shardboard.api.benchmarks import benchmark_runs as api
from shardboard.collectors.benchmarks import benchmark_runs as collector
from shardboard.collectors.benchmarks.benchmark_runs import BenchmarkCollector
from shardboard.console import Console
from shardboard.contract import CommandResult
from shardboard.domain.cluster.actions import ActionName
from shardboard.driver.fake_agents import FakeAgents
from shardboard.reconcilers import loop as loop_module
from shardboard.reconcilers.benchmarks import benchmark_runs as steps
from shardboard.reconcilers.failures.drills import DrillStepper
from shardboard.reconcilers.loop import ActionLoop
from shardboard.state.alerting import events
from shardboard.state.benchmarks import benchmark_runs
from shardboard.state.benchmarks.benchmark_runs import BenchmarkLoad
from shardboard.state.cluster import actions
from shardboard.state.databases.bdbs import Bdb

pytestmark = [pytest.mark.store_in_all, pytest.mark.usefixtures("nodes")]


@asynccontextmanager
async def running(console: Console, gate: Gate | None = None, gated: str = "") -> AsyncIterator[None]:
    """Run the loops that a benchmark needs. At the end, they stop as in a killed console.

    One of them, `reconciler` or `collector`, may have to pass a gate. With both, the order of steps would differ between runs.
    """

    def store_and_agents(name: str) -> tuple[Any, Any]:
        if gate is None or name != gated:
            return console.store, console.agents
        return GatedStore(console.store, gate), GatedAgents(console.agents, gate)  # type: ignore[arg-type]

    store, agents = store_and_agents("reconciler")
    steppers = {
        ActionName.BENCHMARK: steps.RunBenchmark(store, agents),
        ActionName.DRILL: DrillStepper(console.store, console.agents),
    }
    loop = ActionLoop(store, console.bus, steppers, "test")
    store, agents = store_and_agents("collector")
    collecting = BenchmarkCollector(store, console.bus, agents)
    tasks = [asyncio.create_task(loop.run()), asyncio.create_task(collecting.run())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((steps, "POLL_SECONDS"), (steps, "QUEUE_SECONDS"), (collector, "POLL_SECONDS")):
        monkeypatch.setattr(module, name, 0.01)
    monkeypatch.setattr(collector, "RETRY_SECONDS", 0.01)


@pytest.fixture(autouse=True)
async def bdb(client: httpx.AsyncClient, console: Console, nodes: Any) -> None:
    body = {"name": "db", "memory_size": 2**30, "authentication_redis_pass": "secret-word"}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with console.store.begin() as session:
        row = await session.get_one(Bdb, 1)
        row.status, row.action_uid, row.endpoint_nodes = "active", None, [1]
        action = (await actions.list_recent(session))[0]
        action.status = "completed"


async def start_run(client: httpx.AsyncClient, **more: Any) -> int:
    body = {"name": "run", "bdb_uid": 1, "workload": {"test_time": 3, "ratio": "0:1"}, "load_nodes": [2], **more}
    reply = await client.post("/v1/benchmarks", json=body)
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["uid"]
    return uid


async def get_run(console: Console, uid: int) -> dict[str, Any]:
    async with console.store.read() as session:
        row = await benchmark_runs.by_uid(session, uid)
        assert row is not None
        return (await api.render_runs(session, [row]))[0]


async def wait_for_run(console: Console, uid: int, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while not condition(run := await get_run(console, uid)):  # noqa: ASYNC110 - the fakes send no notifications
            await asyncio.sleep(0.005)
        return run


async def wait_for_end(console: Console, uid: int) -> dict[str, Any]:
    return await wait_for_run(console, uid, lambda run: run["status"] not in ("queued", "running"))


async def wait_for_loads(agents: FakeAgents, count: int = 1) -> list[str]:
    await until(lambda: len(agents.loads) >= count)
    return list(agents.loads)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the fakes send no notifications
            await asyncio.sleep(0.005)


def add_output(agents: FakeAgents, load: str, *output: dict[str, Any]) -> None:
    agents.load_lines[load] += [json.dumps(each) for each in output]


def complete_load(agents: FakeAgents, load: str, seconds: int = 3, *, last: dict[str, Any] | None = None) -> None:
    seconds_reported = [
        fake_load_generator.second_line(t, 101.0 + t, progress=(t + 1) / seconds) for t in range(seconds)
    ]
    last_line = fake_load_generator.end_line(100.0 + seconds, seconds, 1000 * seconds, **(last or {}))
    add_output(agents, load, fake_load_generator.begin_line(100.0), *seconds_reported, last_line)
    agents.ended_loads.add(load)


async def test_a_run_from_start_to_results(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    uid = await start_run(client, sla={"p99_ms": 0.5, "min_ops_per_second": 2000})
    with console.bus.listen(f"frame:benchmark:{uid}") as listener:
        async with running(console):
            [load] = await wait_for_loads(agents)
            load_process = agents.loads[load]
            assert load_process.password == "secret-word"
            assert "secret-word" not in str(load_process.arguments) + repr(load_process)
            assert load_process.arguments == ["--server=10.0.0.1", "--port=12000", "--test-time=3", "--ratio=0:1"]
            add_output(
                agents,
                load,
                fake_load_generator.begin_line(100.0),
                fake_load_generator.second_line(0, 101.0, progress=0.333),
            )
            run = await wait_for_run(console, uid, lambda now: now["progress"] == 33.3)
            assert (run["status"], run["phase"], run["repetition"]) == ("running", 0, 0)
            assert run["time_left"] == pytest.approx(2.0)
            add_output(
                agents,
                load,
                *[fake_load_generator.second_line(t, 101.0 + t) for t in (1, 2)],
                fake_load_generator.end_line(103.0, 3.0, 3000),
            )
            agents.ended_loads.add(load)
            run = await wait_for_end(console, uid)
            await until(lambda: load in agents.loads_removed)
    assert (run["status"], run["progress"], run["phase"]) == ("completed", 100.0, None)
    [result] = run["summary"]["results"]
    assert (result["ops"], result["ops_per_second"], result["p99_ms"]) == (3000, 1000.0, 0.2)
    verdict = run["summary"]["verdict"]
    assert verdict["kept"] is False
    assert [(each["name"], each["kept"]) for each in verdict["limits"]] == [
        ("p99_ms", True),
        ("min_ops_per_second", False),
    ]
    frames = [json.loads(frame.text.partition(b"data: ")[2]) for _, frame in listener.drain()]
    assert [(frame["t"], frame["values"]["ops"], frame["histogram"]) for frame in frames] == [
        (t, 1000, {"200": 1000}) for t in range(3)
    ]
    series = (await client.get(f"/v1/benchmarks/{uid}/series", params={"histograms": True})).json()
    [part] = series["parts"]
    assert part["columns"]["ops"] == [1000.0] * 3
    assert (part["began_at"], part["at"], part["histograms"][0]) == (100.0, [101.0, 102.0, 103.0], {"200": 1000})
    async with console.store.read() as session:
        event_types = [event.type for event in await events.page(session, newest_first=False, bdb_uid=1)]
    assert event_types[-2:] == ["benchmark_started", "benchmark_completed"]


async def test_phases_run_in_order_and_nodes_share_the_load(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    populate = {"requests": "allkeys", "key_pattern": "P:P", "key_minimum": 1, "key_maximum": 100, "ratio": "1:0"}
    uid = await start_run(
        client,
        workload={"rate": 100},
        phases=[{"name": "populate", "workload": populate}, {"name": "measure", "workload": {"test_time": 3}}],
        load_nodes=[2, 3],
        repetitions=2,
        overwrite=True,
    )
    async with running(console):
        load_ids: list[str] = []
        for _ in range(3):
            loads = [load for load in await wait_for_loads(agents, len(load_ids) + 2) if load not in load_ids]
            load_ids += loads
            assert len(loads) == 2
            for load in loads:
                assert "--rate=50.0" in agents.loads[load].arguments
                complete_load(agents, load)
            await until(lambda: agents.loads_removed >= set(loads))  # noqa: B023
        run = await wait_for_end(console, uid)
    assert run["status"] == "completed"
    assert [(each["phase_name"], each["repetition"], each["ops"]) for each in run["summary"]["results"]] == [
        ("populate", 0, 6000),
        ("measure", 0, 6000),
        ("measure", 1, 6000),
    ]
    curve = {point["percentile"]: point["ms"] for point in run["summary"]["percentiles"]}
    assert (curve[50.0], curve[100.0]) == (0.2, 0.2)
    assert max(percentile for percentile in curve if percentile < 100) > 99.9, "of all repetitions"
    assert run["summary"]["spread"]["ops_per_second"] == {"mean": 2000, "least": 2000, "most": 2000, "deviation": 0}


async def test_a_stopped_run_keeps_its_measurements(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client, repetitions=3)
    async with running(console):
        [load] = await wait_for_loads(agents)
        add_output(agents, load, fake_load_generator.begin_line(100.0), fake_load_generator.second_line(0, 101.0))
        assert (await client.post(f"/v1/benchmarks/{uid}/stop")).status_code == 200
        await wait_for_run(console, uid, lambda _: load in agents.loads_stopped)
        add_output(agents, load, fake_load_generator.end_line(101.0, 1.0, 1000, stopped=True))
        agents.ended_loads.add(load)
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"]) == ("stopped", "It was canceled by admin@example.org.")
    assert [each["status"] for each in run["loads"]] == ["ended", "skipped", "skipped"]
    assert [each["ops"] for each in run["summary"]["results"]] == [1000]


async def test_a_load_row_is_locked_while_it_is_changed(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    """Otherwise, stopping a run would overwrite new values of the collector with older ones."""
    if console.store.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    uid = await start_run(client)
    async with running(console):
        [load] = await wait_for_loads(agents)
    async with console.store.begin() as session, console.store.read() as other:
        assert await benchmark_runs.lock_load(session, load) is not None
        free = select(BenchmarkLoad.uid).where(BenchmarkLoad.benchmark_uid == uid).with_for_update(skip_locked=True)
        assert (await other.scalars(free)).all() == []


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ([{"kind": "error", "message": "The target does not answer."}], "The target does not answer."),
        (
            [fake_load_generator.begin_line(1.0), fake_load_generator.end_line(2.0, 1.0, 0)],
            "No measurements: no operation succeeded.",
        ),
        ([fake_load_generator.begin_line(1.0)], "The load generator ended without a report."),
    ],
)
async def test_a_failed_load_fails_the_run(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, output: list[dict[str, Any]], detail: str
) -> None:
    uid = await start_run(client, repetitions=2)
    async with running(console):
        [load] = await wait_for_loads(agents)
        add_output(agents, load, *output)
        agents.ended_loads.add(load)
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"]) == ("failed", detail)
    assert run["loads"][1]["status"] == "skipped"


async def test_a_node_without_a_load_generator_fails_the_run(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    agents.load_refused = "shardboard-load is not installed on node 10.0.0.2"
    uid = await start_run(client)
    async with running(console):
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"]) == ("failed", "Shardboard-load is not installed on node 10.0.0.2.")


async def test_runs_on_one_database_wait_for_each_other(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    first, second = await start_run(client), await start_run(client)
    async with running(console):
        [load] = await wait_for_loads(agents)
        assert (await get_run(console, second))["status"] == "queued"
        complete_load(agents, load)
        await wait_for_end(console, first)
        complete_load(agents, (await wait_for_loads(agents, 2))[-1])
        assert (await wait_for_end(console, second))["status"] == "completed"


async def test_a_temporarily_unreachable_agent_loses_no_measurement(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    uid = await start_run(client)
    async with running(console):
        [load] = await wait_for_loads(agents)
        add_output(
            agents, load, fake_load_generator.begin_line(100.0), fake_load_generator.second_line(0, 101.0, progress=0.5)
        )
        await wait_for_run(console, uid, lambda now: now["progress"] == 50)
        agents.unreachable.add(2)
        agents.calls.clear()
        await until(lambda: agents.calls.count(("read_load", 2)) >= 2)
        later_seconds = [fake_load_generator.second_line(t, 101.0 + t) for t in (1, 2)]
        add_output(agents, load, *later_seconds, fake_load_generator.end_line(103.0, 3.0, 3000))
        agents.ended_loads.add(load)
        agents.unreachable.clear()
        run = await wait_for_end(console, uid)
    assert (run["status"], run["summary"]["results"][0]["ops"]) == ("completed", 3000)


@pytest.mark.parametrize("gated", ["reconciler", "collector"])
async def test_killed_at_every_step_a_run_completes(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, gated: str, sampling: Sampling
) -> None:
    """At every step: each load is started once, each second is stored once, and the result is complete."""
    for closed_at in sampling.kill_steps(10, 200):
        uid = await start_run(client)
        known_uids = set(agents.loads)
        gate = Gate(closed_at)

        async def complete_new_load() -> None:
            load = next(iter(set(await wait_for_loads(agents, len(known_uids) + 1)) - known_uids))  # noqa: B023
            # Only the last line contains these slow operations.
            complete_load(agents, load, last={"histogram": {"200": 3000, "90000": 30}, "max_us": 90000})

        load_task = asyncio.create_task(complete_new_load())
        async with running(console, gate, gated):
            ending = asyncio.create_task(wait_for_end(console, uid))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            run = await ending
            await load_task
        killed.cancel()
        assert (run["status"], run["detail"]) == ("completed", ""), closed_at
        assert run["summary"]["results"][0]["ops"] == 3000
        high_percentiles = [point["ms"] for point in run["summary"]["percentiles"] if point["percentile"] >= 99.9]
        assert high_percentiles, closed_at
        assert min(high_percentiles) > 80, f"the slow operations were lost, killed at step {closed_at}"
        series = (await client.get(f"/v1/benchmarks/{uid}/series")).json()
        assert series["parts"][0]["columns"]["ops"] == [1000.0] * 3, closed_at
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")


async def test_keys_of_applications_must_be_confirmed(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        agents, "_execute", lambda _, command: CommandResult(uid=command.uid, ok=True, reply="b'user:1'")
    )
    agents.unreachable = {1, 2, 3}  # the keys are unknown at the request
    uid = await start_run(client, workload={"test_time": 3})
    agents.unreachable.clear()
    async with running(console):
        run = await wait_for_end(console, uid)
        assert (run["status"], "keys that no benchmark wrote (100%" in run["detail"]) == ("failed", True)
        assert run["error_code"] == "benchmark_foreign_keys"
        own = await start_run(client, workload={"test_time": 3, "key_prefix": "user:"}, overwrite=True)
        complete_load(agents, (await wait_for_loads(agents))[0])
        assert (await wait_for_end(console, own))["status"] == "completed"
        second_run = await start_run(client, workload={"test_time": 3})
        complete_load(agents, (await wait_for_loads(agents, 2))[1])
        run = await wait_for_end(console, second_run)
        assert run["status"] == "completed", "the keys have the prefix of an earlier run"
        assert "error_code" not in run


async def test_a_drill_starts_at_its_time(client: httpx.AsyncClient, console: Console, agents: FakeAgents) -> None:
    assert (await client.put("/v1/cluster/policy", json={"drills_enabled": True})).status_code == 200
    uid = await start_run(client, drill={"at_seconds": 1, "kind": "reboot", "node_uid": 3, "seconds": 5})
    async with running(console):
        [load] = await wait_for_loads(agents)
        add_output(agents, load, fake_load_generator.begin_line(time.time() + 1000))
        await wait_for_run(console, uid, lambda now: now["loads"][0]["status"] == "running")
        assert "drill_action_uid" not in (await get_run(console, uid))["facts"], "the time of the drill has not come"
        add_output(agents, load, fake_load_generator.begin_line(time.time() - 1))
        run = await wait_for_run(console, uid, lambda now: "drill_action_uid" in now["facts"])
        add_output(
            agents, load, fake_load_generator.second_line(0, 101.0), fake_load_generator.end_line(103.0, 3.0, 3000)
        )
        agents.ended_loads.add(load)
        await wait_for_end(console, uid)
    async with console.store.read() as session:
        [drill] = [action for action in await actions.list_recent(session) if action.name == "SMDrill"]
    assert (drill.uid, drill.object_uid) == (run["facts"]["drill_action_uid"], 3)
    assert (drill.params["kind"], drill.params["seconds"], drill.params["shard_uid"]) == ("reboot", 5.0, None)
    assert drill.cancelled_by == "admin@example.org", "the drill of a run ends with it"


async def start_drill(console: Console, node_uid: int) -> str:
    async with console.store.begin() as session:
        drill = drills.queue_drill(
            session, node_uid, kind="reboot", seconds=600, shard_uid=None, what="Reboot", originator="me"
        )
        drill.steps = [{"name": "Reboot", "status": "running"}]  # the agent has accepted it
        return drill.uid


async def end_drill(console: Console, uid: str) -> None:
    async with console.store.begin() as session:
        drill = await actions.by_uid(session, uid)
        assert drill is not None
        drill.cancelled_by = "me"


async def test_a_load_node_is_not_given_up_during_a_drill(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "LOST_SECONDS", 0.0)
    uid = await start_run(client)
    async with running(console):
        [load] = await wait_for_loads(agents)
        await wait_for_run(console, uid, lambda now: now["loads"][0]["status"] == "running")
        drill = await start_drill(console, 2)
        before = agents.calls.count(("read_load", 2))
        agents.unreachable.add(2)
        await until(lambda: agents.calls.count(("read_load", 2)) > before + 3)
        assert (await get_run(console, uid))["loads"][0]["status"] == "running"
        agents.unreachable.clear()
        complete_load(agents, load)
        assert (await wait_for_end(console, uid))["status"] == "completed"
        await end_drill(console, drill)


async def test_a_load_starts_after_the_drill_on_its_node(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents
) -> None:
    drill = await start_drill(console, 2)
    agents.unreachable.add(2)
    uid = await start_run(client)
    async with running(console):

        async def waits() -> bool:
            async with console.store.read() as session:
                action = await actions.by_uid(session, (await get_run(console, uid))["action_uid"])
            return bool(action and action.steps and "drill on node 2" in action.steps[0].get("detail", ""))

        async with asyncio.timeout(60):
            while not await waits():  # noqa: ASYNC110 - the fakes send no notifications
                await asyncio.sleep(0.005)
        assert agents.loads == {}
        agents.unreachable.clear()
        await end_drill(console, drill)
        complete_load(agents, (await wait_for_loads(agents))[0])
        assert (await wait_for_end(console, uid))["status"] == "completed"


async def test_an_unreachable_node_is_cleaned_up_later(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_module, "UNREACHABLE_TIMEOUT", timedelta(0))
    uid = await start_run(client)
    async with running(console):
        [load] = await wait_for_loads(agents)
        add_output(agents, load, fake_load_generator.begin_line(100.0), fake_load_generator.second_line(0, 101.0))
        await wait_for_run(console, uid, lambda now: now["loads"][0]["status"] == "running")
        agents.unreachable.add(2)
        assert (await client.post(f"/v1/benchmarks/{uid}/stop")).status_code == 200
        assert (await wait_for_end(console, uid))["status"] == "stopped"
        agents.unreachable.clear()
        await until(lambda: load in agents.loads_removed)
        await wait_for_run(console, uid, lambda now: now["loads"][0]["status"] == "failed")
    assert (await client.delete(f"/v1/benchmarks/{uid}")).status_code == 200
