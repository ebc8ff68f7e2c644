"""The run that the demo comes with is one that can be ordered."""

from shardboard import demo
from shardboard.domain import workload
from shardboard.schemas.benchmark_requests import BenchmarkCreate


def test_it_can_be_ordered() -> None:
    BenchmarkCreate.model_validate({**demo.RUN, "bdb_uid": 1})
    for phase in demo.RUN["phases"]:
        assert workload.check({**demo.RUN["workload"], **phase["workload"]}) is None
