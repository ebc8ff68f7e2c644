"""Endpoints for benchmark runs and their reports."""

from shardboard.api.benchmarks import benchmark_reports, benchmark_runs

ROUTERS = (
    benchmark_reports.router,
    benchmark_runs.router,
)
