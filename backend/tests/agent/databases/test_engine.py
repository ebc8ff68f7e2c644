"""Tests of how the agent finds its engine binary and reads its version."""

import sys
from pathlib import Path

import pytest

from shardboard.agent.databases.engine import engine_path, engine_version, supports_slot_stats


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "path" / "valkey-server"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho Valkey server v=8.0.9 sha=0:0 malloc=libc bits=64 build=0\n")
    path.chmod(0o700)
    return path


def test_linked_engine_takes_precedence_over_path(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    assert engine_path("valkey-server") == str(program)
    linked = tmp_path / "venv" / "valkey-server"
    linked.parent.mkdir()
    linked.symlink_to(program)
    assert engine_path("valkey-server") == str(linked)
    assert engine_path(str(program)) == str(program), "an explicit path is used unchanged"


def test_version_is_read_from_the_program_output(program: Path) -> None:
    assert engine_version(str(program)) == "8.0.9"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert engine_version(str(program)) == ""
    assert engine_version(str(program.parent / "nothing")) == ""


@pytest.mark.parametrize(
    ("version", "supported"),
    [("9.0.0", True), ("10.1", True), ("8.0.1", False), ("8.1.9", False), ("", False), ("x", False)],
)
def test_slot_counts_are_supported_since_valkey_9(version: str, supported: bool) -> None:
    assert supports_slot_stats(version) == supported
