"""Endpoints for benchmark runs, their comparison and reports, and scenarios."""

from shardboard.api.benchmarks import (
    benchmark_clients,
    benchmark_compare,
    benchmark_reports,
    benchmark_runs,
    cost_model,
    scenario_runs,
    scenarios,
)

ROUTERS = (
    benchmark_clients.router,
    benchmark_compare.router,
    benchmark_reports.router,
    benchmark_runs.router,
    cost_model.router,
    scenario_runs.router,
    scenarios.router,
)
