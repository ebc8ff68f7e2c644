"""Tests of the machine metrics. Values that the kernel does not provide are omitted."""

from pathlib import Path

import pytest

from shardboard.agent.databases.flash import Flash
from shardboard.agent.metrics import machine
from shardboard.agent.metrics.machine import MachineSampler
from shardboard.agent.settings import AgentSettings
from shardboard.contract import NODE_FIELDS


def sample_machine(tmp_path: Path) -> dict[str, float | None]:
    flash = Flash(tmp_path, 2**20, tmp_path / "module.so")
    values = MachineSampler(AgentSettings(address="127.0.0.1", state_dir=tmp_path), flash).sample()
    return dict(zip(NODE_FIELDS, values, strict=True))


def test_pressure_is_reported_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, micros in (("cpu", 2_500_000), ("io", 0)):
        lines = (
            f"some avg10=1.00 avg60=0.50 avg300=0.10 total={micros}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        )
        (tmp_path / name).write_text(lines)
    monkeypatch.setattr(machine, "PRESSURE", tmp_path)
    values = sample_machine(tmp_path)
    assert (values["pressure_cpu"], values["pressure_io"], values["pressure_memory"]) == (2.5, 0.0, None)


def test_all_other_values_are_reported(tmp_path: Path) -> None:
    values = sample_machine(tmp_path)
    assert all(value is not None and value >= 0 for name, value in values.items() if not name.startswith("pressure"))
    assert (values["storage_avail"] or 0) <= (values["storage_free"] or 0)
    assert (values["cpu_nice"] or 0) <= (values["cpu_user"] or 0)
