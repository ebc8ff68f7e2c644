"""Tests of the demo: its benchmark run and backups, and its behavior on slow machines and after failures."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest

from shardboard.domain.benchmarks import workload
from shardboard.domain.data import schedules
from shardboard.domain.databases import backup_rules
from shardboard.local import demo
from shardboard.local.cluster import ConsoleBusy, LocalCluster, LocalError
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate
from shardboard.settings import Settings


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


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    cluster = LocalCluster(tmp_path, user="admin", password="correct horse", https_port=1, http_port=2, addresses=())
    cluster.poll_seconds = 0
    return cluster


def test_slow_machine_is_reported_and_waits_continue(cluster: LocalCluster) -> None:
    results = iter([False, ConsoleBusy("the store is busy"), httpx.ReadTimeout("timed out"), True])

    def condition() -> bool:
        result = next(results)
        if isinstance(result, Exception):
            raise result
        return result

    reports: list[str] = []
    cluster.on_slow = reports.append
    cluster.wait_until(condition, "the database did not become active", seconds=0)
    assert len(reports) == 3
    assert "the database did not become active after 0 s" in reports[0]


@pytest.mark.parametrize("error", [LocalError("the database could not be created"), None])
def test_waits_fail_without_a_report_or_for_another_reason(cluster: LocalCluster, error: LocalError | None) -> None:
    if error is not None:
        cluster.on_slow = lambda _: None

    def condition() -> bool:
        if error is not None:
            raise error
        return False

    with pytest.raises(LocalError, match="could not be created" if error else "did not become active after 0 s"):
        cluster.wait_until(condition, "the database did not become active", seconds=0)


@pytest.mark.parametrize("failing", ["demo", "demo-flash"])
def test_demo_keeps_what_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    """A part that fails is reported. The demo runs without it, and stops only on request."""
    started: list[str] = []

    def bring_up(spec: Mapping[str, Any]) -> list[Any]:
        if spec["name"] == failing:
            raise LocalError("the database could not be created: no memory")
        started.append(spec["name"])
        return []

    class Supervisor:
        def __init__(self, *_: object) -> None:
            started.append("supervision")

        def restart_due(self, now: float) -> None:
            raise KeyboardInterrupt

    shown = demo.Demo(Settings(state_dir=tmp_path, admin_password="correct horse"))
    monkeypatch.setattr(shown, "_cluster", MagicMock(flash=1))
    monkeypatch.setattr(shown, "_database", bring_up)
    for name in ("_start_example_run", "_schedule_backups"):
        monkeypatch.setattr(shown, name, lambda: None)
    monkeypatch.setattr(demo.demo_traffic, "start", lambda *_: None)
    monkeypatch.setattr(demo, "ProcessSupervisor", Supervisor)
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)
    assert shown._run() == 0
    assert started == [*({"demo", "demo-flash"} - {failing}), "supervision"]
    output = capsys.readouterr().out
    assert f"the database {failing}" in output
    assert "could not be created: no memory" in output
    assert "The demo continues without this part." in output
