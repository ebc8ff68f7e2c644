"""Requests of scenario runs that users make too. The console passes their implementation, because it belongs to the services.

Each runs in the transaction of the caller, who holds the lock of the cluster row, and can raise ApiError.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.benchmarks.benchmark_runs import Benchmark
from shardboard.state.benchmarks.scenario_runs import ScenarioRun
from shardboard.state.databases.bdbs import Bdb


class ScenarioRequests(Protocol):
    async def create_scenario_database(
        self, session: AsyncSession, run: ScenarioRun, name: str, fields: Mapping[str, Any]
    ) -> Bdb:
        """Create a database of a scenario run. `fields` are those of `POST /v1/bdbs`."""

    async def start_scenario_benchmark(
        self, session: AsyncSession, run: ScenarioRun, request: Mapping[str, Any]
    ) -> Benchmark:
        """Start a benchmark run. `request` is the body of `POST /v1/benchmarks`."""
