"""Tests of the checks of machine settings."""

from pathlib import Path

import pytest

from shardboard.agent.cluster import host_checks

BAD = {
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    "sys/devices/system/node/node0/x": "",
    "sys/devices/system/node/node1/x": "",
    "proc/vm/overcommit_memory": "0",
    "proc/vm/swappiness": "60",
    "proc/net/core/somaxconn": "128",
}
GOOD = {
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/node/node0/x": "",
    "proc/vm/overcommit_memory": "1",
    "proc/vm/swappiness": "1",
    "proc/net/core/somaxconn": "4096",
}


@pytest.mark.parametrize(("files", "limit", "good"), [(BAD, 1024, False), (GOOD, 65536, True)])
def test_every_setting_is_rated(tmp_path: Path, files: dict[str, str], limit: int, good: bool) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    checks = host_checks.check(tmp_path / "sys", tmp_path / "proc", files=limit, cores=2)
    assert len(checks) == 8
    assert {each.good for each in checks} == {good}
    assert all(each.impact and each.remedy for each in checks)


def test_unreadable_settings_are_omitted(tmp_path: Path) -> None:
    assert [each.name for each in host_checks.check(tmp_path, tmp_path)] == ["files"]


def test_checks_work_on_this_machine() -> None:
    assert "files" in [each.name for each in host_checks.check()]
