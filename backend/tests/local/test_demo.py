"""Test of the benchmark run that the demo contains."""

from shardboard.domain.benchmarks import workload
from shardboard.local import demo
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate


def test_demo_run_is_valid() -> None:
    BenchmarkCreate.model_validate({**demo.RUN, "bdb_uid": 1})
    for phase in demo.RUN["phases"]:
        assert workload.check({**demo.RUN["workload"], **phase["workload"]}) is None
