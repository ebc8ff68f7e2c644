"""Tests of the probe rate, which depends on the number of engines and CPU cores."""

import asyncio
from pathlib import Path

import pytest

from shardboard.agent.databases import probe_rate
from shardboard.agent.databases.probe_rate import ProbeRate, affordable_rate, count_engines


@pytest.mark.parametrize(
    ("engines", "cores", "rate"),
    [(0, 2, 10), (12, 2, 10), (50, 2, 10), (100, 2, 5), (250, 2, 2), (512, 2, 1), (5000, 1, 1), (512, 64, 10)],
)
def test_rate_falls_with_the_number_of_engines_to_at_least_one(engines: int, cores: int, rate: int) -> None:
    assert affordable_rate(engines, cores) == rate


def test_only_engine_processes_are_counted(tmp_path: Path) -> None:
    for pid, name in (("1", "systemd"), ("20", "valkey-server"), ("21", "redis-server"), ("22", "valkey-cli")):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "comm").write_text(f"{name}\n")
    (tmp_path / "23").mkdir()  # the process has ended
    (tmp_path / "self").mkdir()
    assert count_engines(tmp_path) == 2


async def test_changed_rate_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, announced = ProbeRate(), []

    async def record_rate() -> None:
        announced.append(rate.per_second)

    monkeypatch.setattr(probe_rate.os, "cpu_count", lambda: 2)
    for engines in (3, 1000, 1000, 4):
        monkeypatch.setattr(probe_rate, "count_engines", lambda count=engines: count)
        await rate.check(record_rate)
    assert announced == [1, 10]


async def test_failed_check_does_not_end_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, failed = ProbeRate(), asyncio.Event()

    async def fail_once() -> None:
        if failed.is_set():
            raise asyncio.CancelledError
        failed.set()
        monkeypatch.setattr(probe_rate, "count_engines", lambda: 4)
        raise ConnectionError("the proxy does not answer")

    monkeypatch.setattr(probe_rate, "count_engines", lambda: 1000)
    monkeypatch.setattr(probe_rate, "CHECK_SECONDS", 0)
    monkeypatch.setattr(probe_rate.os, "cpu_count", lambda: 2)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(rate.run(fail_once), 5)
    assert rate.per_second == 10
