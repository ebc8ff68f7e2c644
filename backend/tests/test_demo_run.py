"""Test of the benchmark run that the demo contains."""

from shardboard import demo
from shardboard.domain import workload
from shardboard.schemas.benchmark_requests import BenchmarkCreate


def test_demo_run_is_valid() -> None:
    BenchmarkCreate.model_validate({**demo.RUN, "bdb_uid": 1})
    for phase in demo.RUN["phases"]:
        assert workload.check({**demo.RUN["workload"], **phase["workload"]}) is None
