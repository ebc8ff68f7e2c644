"""Tests of the measurements of a part of a scenario."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shardboard.actions.drills import queue_drill
from shardboard.actions.failure_parameters import DrillParameters
from shardboard.actions.parameters import write
from shardboard.console import Console
from shardboard.domain.benchmarks.benchmark_plan import LoadStatus
from shardboard.reconcilers.benchmarks.scenario_context import ScenarioContext
from shardboard.reconcilers.benchmarks.scenario_measurements import measure
from shardboard.state.benchmarks.benchmark_runs import Benchmark, BenchmarkLoad

pytestmark = pytest.mark.store_in_all

START = datetime(2026, 3, 1, 4, tzinfo=UTC)
PHASE = "one node down"
WORKLOAD = {"test_time": 900, "ratio": "1:1", "data_size": 100, "key_minimum": 1, "key_maximum": 100}
RESULT = {
    **dict.fromkeys(("average_ms", "p50_ms", "p99_ms", "p999_ms", "max_ms", "seconds", "longest_outage_seconds"), 1.0),
    "phase_name": PHASE,
    "ops": 10,
    "ops_per_second": 10.0,
    "errors": {},
    "generator": {"is_bottleneck": False},
}


async def figures(console: Console, *, is_queued: bool, drill: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the figures of a run whose planned drill was queued or not. `drill` are changes of its parameters."""
    async with console.store.begin() as session:
        run = Benchmark(
            name="run",
            bdb_uid=1,
            bdb_name="demo",
            status="completed",
            spec={"phases": [{"name": PHASE}], "drill": {"node_uid": 2, "at_seconds": 60, "seconds": 300}},
            summary={"results": [RESULT]},
            facts={},
            originator="ada",
            action_uid="run",
            created_at=START,
        )
        session.add(run)
        await session.flush()
        session.add(
            BenchmarkLoad(
                uid="load",
                benchmark_uid=run.uid,
                phase=0,
                repetition=0,
                node_uid=1,
                status=LoadStatus.ENDED,
                first_line={"at": START.timestamp()},
            )
        )
        if is_queued:
            action = queue_drill(
                session, 2, kind="reboot", seconds=300, shard_uid=None, what="Reboot", originator="ada"
            )
            write(action, replace(DrillParameters.parse(action), **drill or {}))
            run.facts = {"drill_action_uid": action.uid}
        part = {"phases": [{"name": PHASE, "workload": WORKLOAD}], "database": {}}
        context = cast(ScenarioContext, SimpleNamespace(runs=[run], plan=part))
        return await measure(session, context)


async def test_a_drill_that_did_not_start_has_no_intervals(console: Console) -> None:
    measured = await figures(console, is_queued=False)
    assert measured.keys() == {PHASE}
    assert measured[PHASE]["drill_skipped"]


async def test_a_drill_that_the_agent_rejected_has_no_intervals(console: Console) -> None:
    assert (await figures(console, is_queued=True)).keys() == {PHASE}


async def test_intervals_start_with_the_drill(console: Console) -> None:
    measured = await figures(console, is_queued=True, drill={"started_at": START + timedelta(seconds=75)})
    assert measured.keys() == {PHASE, "before", "down", "after"}
    assert "drill_skipped" not in measured[PHASE]
