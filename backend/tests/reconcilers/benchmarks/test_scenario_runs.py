"""Scenario runs from start to end with fake agents: several parts and databases, stops, failures, and killed consoles."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from backend.tests.reconcilers.loop_helpers import Gate, GatedStore
from backend.tests.support import fake_load_generator
from backend.tests.support.case_sampling import Sampling
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.benchmarks import benchmark_runs as collector
from shardboard.collectors.benchmarks.benchmark_runs import BenchmarkCollector
from shardboard.console import Console
from shardboard.domain.benchmarks.scenarios import scenario_steps
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.driver.fake_agents import FakeAgents
from shardboard.queries.benchmarks import benchmark_scenarios as library
from shardboard.queries.benchmarks.scenario_runs import render_runs
from shardboard.reconcilers.benchmarks import benchmark_runs, scenario_runs
from shardboard.reconcilers.data import temporary_databases
from shardboard.reconcilers.data.temporary_databases import TemporaryDatabaseLoop
from shardboard.reconcilers.databases.bdbs import steppers
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import ActionLoop
from shardboard.reconcilers.placement.shard_removal import RemovalLoop
from shardboard.services.loop_requests import LoopRequests
from shardboard.state.benchmarks import benchmark_runs as benchmark_rows
from shardboard.state.benchmarks import scenario_runs as rows
from shardboard.state.benchmarks.benchmark_runs import Benchmark
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.cluster import actions
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

pytestmark = [pytest.mark.store_in_all, pytest.mark.slow, pytest.mark.usefixtures("nodes")]

SCENARIO = """
name: test
title: Two databases, then one
document: "000"
source: A document
about: ""
needs: ""
published:
  tables:
    - title: Table
      columns: [{name: Throughput, unit: ops/s, figure: ops_per_second}]
      rows: [{label: First, part: first, published: [100]}, {label: Second, part: second}, {label: Third, part: third}]
result: load_test
parts:
  - name: first
    databases: 2
    nodes: 1
    database: {memory_size: 100000000}
    phases: [{name: fill, workload: {requests: 10, ratio: "0:1"}}, {name: measure, workload: {test_time: 10, ratio: "0:1"}}]
  - name: second
    nodes: 1
    database: {memory_size: 200000000}
    phases: [{name: measure, workload: {test_time: 10, ratio: "0:1"}}]
  - name: third
    reuse: true
    nodes: 1
    database: {memory_size: 200000000}
    phases: [{name: measure, workload: {test_time: 10, ratio: "0:1"}}]
"""


class CountingRequests(LoopRequests):
    """Counts the requests in each transaction."""

    def __init__(self) -> None:
        self.databases: Counter[int] = Counter()
        self.benchmarks: Counter[int] = Counter()
        self.deletions: Counter[int] = Counter()
        self._sessions: list[AsyncSession] = []

    def _number(self, session: AsyncSession) -> int:
        """Return the same number for all requests of a transaction. Sessions are kept, so that no two have the same identity."""
        if session not in self._sessions:
            self._sessions.append(session)
        return self._sessions.index(session)

    async def create_scenario_database(
        self, session: AsyncSession, run: ScenarioRun, name: str, fields: Mapping[str, Any]
    ) -> Bdb:
        self.databases[self._number(session)] += 1
        return await super().create_scenario_database(session, run, name, fields)

    async def start_scenario_benchmark(
        self, session: AsyncSession, run: ScenarioRun, request: Mapping[str, Any]
    ) -> Benchmark:
        self.benchmarks[self._number(session)] += 1
        return await super().start_scenario_benchmark(session, run, request)

    async def delete_database(self, session: AsyncSession, bdb: Bdb) -> None:
        self.deletions[self._number(session)] += 1
        await super().delete_database(session, bdb)


@asynccontextmanager
async def running(
    console: Console, store: Store | None = None, requests: LoopRequests | None = None
) -> AsyncIterator[None]:
    """Run the loops that a scenario needs. At the end, they stop as in a killed console. Scenario runs use `store`."""
    requests = requests or LoopRequests()
    endpoints = Endpoints(console.store, console.bus, console.agents)
    registered = {
        **steppers(console.store, console.agents, endpoints),
        ActionName.BENCHMARK: benchmark_runs.RunBenchmark(console.store, console.agents),
        ActionName.RUN_SCENARIO: scenario_runs.RunScenario(store or console.store, requests),
    }
    loop = ActionLoop(console.store, console.bus, registered, "test")
    loops = (
        loop.run(),
        BenchmarkCollector(console.store, console.bus, console.agents).run(),
        RemovalLoop(console.store, console.bus, console.agents, endpoints.update).run(),
        TemporaryDatabaseLoop(console.store, console.bus, requests).run(),
    )
    tasks = [asyncio.create_task(each) for each in loops]
    try:
        yield
    finally:
        open_tasks = list(loop._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *open_tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (scenario_runs, benchmark_runs, collector):
        monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(collector, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(TemporaryDatabaseLoop, "pause", 0.0)


@pytest.fixture(autouse=True)
def scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = library.parse(SCENARIO)
    monkeypatch.setattr(library, "list_all", lambda: {"test": parsed})


@pytest.fixture
async def paused(agents: FakeAgents) -> AsyncIterator[asyncio.Event]:
    """End each load with a result as soon as it has started, unless the test sets the event."""
    event = asyncio.Event()
    ended: set[str] = set()
    output = [
        fake_load_generator.begin_line(100.0),
        *(fake_load_generator.second_line(t, 101.0 + t) for t in range(3)),
        fake_load_generator.end_line(103.0, 3.0, 3000),
    ]

    async def complete() -> None:
        while True:
            for load in set() if event.is_set() else set(agents.loads) - ended:
                ended.add(load)
                agents.load_lines[load] += [json.dumps(each) for each in output]
                agents.ended_loads.add(load)
            await asyncio.sleep(0.005)

    task = asyncio.create_task(complete())
    yield event
    task.cancel()


async def start(client: httpx.AsyncClient, **more: Any) -> int:
    reply = await client.post("/v1/scenario_runs", json={"scenario": "test", "scale": 1, **more})
    assert reply.status_code == 200, reply.text
    uid: int = reply.json()["uid"]
    return uid


async def get_run(console: Console, uid: int) -> dict[str, Any]:
    async with console.store.read() as session:
        row = await rows.by_uid(session, uid)
        assert row is not None
        return (await render_runs(session, [row]))[0]


async def wait_for_run(console: Console, uid: int, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while not condition(run := await get_run(console, uid)):  # noqa: ASYNC110 - the fakes send no notifications
            await asyncio.sleep(0.005)
        return run


async def wait_for_end(console: Console, uid: int) -> dict[str, Any]:
    return await wait_for_run(console, uid, lambda run: run["status"] not in ("queued", "running"))


async def wait_until_measuring(console: Console, uid: int, part: int) -> dict[str, Any]:
    return await wait_for_run(console, uid, lambda run: run["parts"][part]["status"] == "measuring")


async def wait_until_removed(console: Console) -> None:
    async with asyncio.timeout(60):
        while await database_names(console):  # noqa: ASYNC110 - the fakes send no notifications
            await asyncio.sleep(0.005)


async def database_names(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [bdb.name for bdb in await bdbs.list_all(session)]


async def open_benchmarks(console: Console) -> list[str]:
    async with console.store.read() as session:
        return [run.name for run in await benchmark_rows.page(session, limit=100) if run.finished_at is None]


def statuses(run: dict[str, Any]) -> list[str]:
    return [part["status"] for part in run["parts"]]


async def test_a_run_measures_all_parts(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, paused: asyncio.Event
) -> None:
    paused.set()
    uid = await start(client)
    async with running(console):
        run = await wait_until_measuring(console, uid, 0)
        assert await database_names(console) == [f"scenario-{uid}-first-1", f"scenario-{uid}-first-2"]
        assert len(run["parts"][0]["benchmark_uids"]) == 2
        assert (run["part"], run["step"]) == (0, "Run the benchmarks of part first")
        paused.clear()
        run = await wait_for_end(console, uid)
    assert (run["status"], run["detail"], statuses(run)) == ("completed", "", ["completed"] * 3)
    assert run["parts"][2]["bdb_uids"] == run["parts"][1]["bdb_uids"], "the third part uses the database of the second"
    assert [row["measured"] for row in run["result"]["tables"][0]["rows"]] == [[2000.0], [1000.0], [1000.0]]
    assert await database_names(console) == []
    assert not any(agents.running.values())
    report = await client.get(f"/v1/scenario_runs/{uid}/report", params={"format": "csv"})
    assert "Table,First,Throughput,ops/s,100,2000.0" in report.text
    assert (await client.delete(f"/v1/scenario_runs/{uid}")).json() == {"uid": uid}
    assert (await client.get(f"/v1/scenario_runs/{uid}")).status_code == 404


async def test_killed_at_every_step_a_run_completes(
    client: httpx.AsyncClient,
    console: Console,
    agents: FakeAgents,
    paused: asyncio.Event,
    sampling: Sampling,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Databases and benchmark runs are requested once, also between two batches of a part, and measured once."""
    monkeypatch.setattr(scenario_steps, "BATCH", 1)
    for closed_at in sampling.kill_steps(20, 200):
        before = len(agents.loads)
        uid = await start(client)
        gate = Gate(closed_at)
        async with running(console, GatedStore(console.store, gate)):
            ending = asyncio.create_task(wait_for_end(console, uid))
            killed = asyncio.create_task(gate.reached.wait())
            await asyncio.wait({ending, killed}, return_when=asyncio.FIRST_COMPLETED)
        async with running(console):
            run = await ending
        killed.cancel()
        assert (run["status"], run["detail"]) == ("completed", ""), closed_at
        assert [len(part["benchmark_uids"]) for part in run["parts"]] == [2, 1, 1], closed_at
        assert len(agents.loads) - before == 6, closed_at
        assert await database_names(console) == [], closed_at
        if gate.passed < closed_at:
            return
    raise AssertionError("the operation never completed")


async def test_a_stopped_run_keeps_its_results_and_removes_its_databases(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event
) -> None:
    uid = await start(client)
    async with running(console):
        await wait_for_run(console, uid, lambda run: run["parts"][0]["status"] == "removing")
        paused.set()
        await wait_until_measuring(console, uid, 1)
        assert (await client.post(f"/v1/scenario_runs/{uid}/stop")).status_code == 200
        paused.clear()
        run = await wait_for_end(console, uid)
    assert (run["status"], statuses(run)) == ("stopped", ["completed", "stopped", "skipped"])
    assert run["result"]["tables"][0]["rows"][0]["measured"] == [2000.0]
    assert await database_names(console) == []
    assert await open_benchmarks(console) == []
    assert (await client.post(f"/v1/scenario_runs/{uid}/stop")).status_code == 409


async def test_databases_can_be_kept(client: httpx.AsyncClient, console: Console, paused: asyncio.Event) -> None:
    uid = await start(client, keep=True)
    async with running(console):
        run = await wait_for_end(console, uid)
        assert run["status"] == "completed"
        assert (await client.delete(f"/v1/scenario_runs/{uid}")).status_code == 200
        await TemporaryDatabaseLoop(console.store, console.bus, LoopRequests()).sweep()
    names = [f"scenario-{uid}-first-1", f"scenario-{uid}-first-2", f"scenario-{uid}-second"]
    assert await database_names(console) == names


async def test_a_failed_creation_ends_the_run(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, paused: asyncio.Event
) -> None:
    agents.refusals = {1: "no memory"}
    uid = await start(client)
    async with running(console):
        await wait_for_run(console, uid, lambda run: run["parts"][0]["detail"] != "")
        agents.refusals = {}
        run = await wait_for_end(console, uid)
    assert (run["status"], statuses(run)) == ("failed", ["failed", "skipped", "skipped"])
    assert "could not be created" in run["detail"]
    assert await database_names(console) == []


async def test_a_rejected_request_leaves_nothing_behind(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event
) -> None:
    """The second of two databases is rejected, so that the first one must not be created either."""
    uid = await start(client)
    body = {"name": f"scenario-{uid}-first-2", "memory_size": 10**8}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with running(console):
        run = await wait_for_end(console, uid)
    assert (run["status"], statuses(run)) == ("failed", ["failed", "skipped", "skipped"])
    assert f"scenario-{uid}-first-2" in run["detail"]
    assert await database_names(console) == [f"scenario-{uid}-first-2"]


async def test_a_rejected_batch_removes_the_earlier_ones(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario_steps, "BATCH", 1)
    uid = await start(client)
    body = {"name": f"scenario-{uid}-first-2", "memory_size": 10**8}
    assert (await client.post("/v1/bdbs", json=body)).status_code == 200
    async with running(console):
        run = await wait_for_end(console, uid)
    assert (run["status"], statuses(run)) == ("failed", ["failed", "skipped", "skipped"])
    assert len(run["parts"][0]["bdb_uids"]) == 1
    assert await database_names(console) == [f"scenario-{uid}-first-2"]


async def test_many_databases_are_created_in_several_transactions(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction with all databases of the memory drive guide would delay the detection of lost nodes."""
    assert max(scenario_steps.BATCH, temporary_databases.BATCH) <= 20
    monkeypatch.setattr(scenario_steps, "BATCH", 2)
    monkeypatch.setattr(temporary_databases, "BATCH", 2)
    several = library.parse(SCENARIO.replace("databases: 2", "databases: 5"))
    monkeypatch.setattr(library, "list_all", lambda: {"test": several})
    requests = CountingRequests()
    uid = await start(client)
    async with running(console, requests=requests):
        await wait_for_run(console, uid, lambda run: run["parts"][0]["status"] == "removing")
        assert (await client.post(f"/v1/scenario_runs/{uid}/stop")).status_code == 200
        run = await wait_for_end(console, uid)
        await wait_until_removed(console)
    assert len(run["parts"][0]["benchmark_uids"]) == 5
    for count in (requests.databases, requests.benchmarks, requests.deletions):
        assert (sum(count.values()) >= 5, max(count.values())) == (True, 2), count


async def test_a_failed_benchmark_stops_the_others(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event
) -> None:
    paused.set()
    uid = await start(client)
    async with running(console):
        run = await wait_until_measuring(console, uid, 0)
        assert (await client.post(f"/v1/benchmarks/{run['parts'][0]['benchmark_uids'][0]}/stop")).status_code == 200
        paused.clear()
        run = await wait_for_end(console, uid)
    assert (run["status"], statuses(run)) == ("failed", ["failed", "skipped", "skipped"])
    assert "was stopped" in run["detail"]
    assert (await database_names(console), await open_benchmarks(console)) == ([], [])


async def test_a_lost_node_ends_the_run(client: httpx.AsyncClient, console: Console, paused: asyncio.Event) -> None:
    paused.set()
    uid = await start(client)
    async with running(console):
        run = await wait_until_measuring(console, uid, 0)
        async with console.store.begin() as session:
            node = await session.get_one(Node, run["load_nodes"][0])
            node.health, node.unavailable_since = NodeHealth.DOWN, datetime.now(UTC) - timedelta(minutes=1)
        run = await wait_for_run(console, uid, lambda run: run["parts"][0]["detail"] != "")
        paused.clear()
        run = await wait_for_end(console, uid)
    assert run["status"] == "failed"
    assert "has been unavailable since" in run["detail"]
    assert await database_names(console) == []


@pytest.mark.parametrize("keep", [False, True])
async def test_benchmarks_stop_if_the_loop_ends_the_action(
    client: httpx.AsyncClient, console: Console, paused: asyncio.Event, keep: bool
) -> None:
    paused.set()
    uid = await start(client, keep=keep)
    async with running(console):
        run = await wait_until_measuring(console, uid, 0)
        async with console.store.begin() as session:
            action = await actions.by_uid(session, run["action_uid"])
            assert action is not None
            action.deadline_at = datetime.now(UTC)
        run = await wait_for_end(console, uid)
        assert (run["status"], "timed out" in run["detail"]) == ("failed", True)
        assert statuses(run) == ["failed", "skipped", "skipped"]
        paused.clear()
        async with asyncio.timeout(60):
            while await open_benchmarks(console):  # noqa: ASYNC110 - the fakes send no notifications
                await asyncio.sleep(0.005)
        if not keep:
            await wait_until_removed(console)
    assert len(await database_names(console)) == (2 if keep else 0)
