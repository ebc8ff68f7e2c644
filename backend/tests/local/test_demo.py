"""Tests of the benchmark run and the backups that the demo contains."""

from datetime import UTC, datetime, timedelta

import pytest

from shardboard.domain.benchmarks import workload
from shardboard.domain.data import schedules
from shardboard.domain.databases import backup_rules
from shardboard.local import demo
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate


def test_demo_run_is_valid() -> None:
    BenchmarkCreate.model_validate({**demo.RUN, "bdb_uid": 1})
    for phase in demo.RUN["phases"]:
        assert workload.check({**demo.RUN["workload"], **phase["workload"]}) is None


@pytest.mark.parametrize("now", [datetime(2026, 11, 30, 10, 59, 30, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC)])
def test_first_backup_of_demo_is_due_soon_and_verified(now: datetime) -> None:
    spec = {**backup_rules.DEFAULTS, **demo.backup_settings(1, now.timestamp())}
    spec["backup_schedule"] = {**backup_rules.DEFAULTS["backup_schedule"], **spec["backup_schedule"]}
    assert backup_rules.check_schedule(spec) is None
    assert backup_rules.check_location(spec) is None
    policy = backup_rules.policy_of(spec)
    assert policy.verify
    assert policy.schedule is not None
    assert schedules.next_due(policy.schedule, now) == now + timedelta(seconds=demo.BACKUP_SECONDS)
