"""Which engine an agent runs."""

import sys
from pathlib import Path

import pytest

from shardboard.agent.engine import counts_by_slot, engine_path, engine_version


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "path" / "valkey-server"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho Valkey server v=8.0.9 sha=0:0 malloc=libc bits=64 build=0\n")
    path.chmod(0o700)
    return path


def test_the_linked_engine_comes_before_path(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    assert engine_path("valkey-server") == str(program)
    linked = tmp_path / "venv" / "valkey-server"
    linked.parent.mkdir()
    linked.symlink_to(program)
    assert engine_path("valkey-server") == str(linked)
    assert engine_path(str(program)) == str(program), "a path is taken as it is"


def test_the_version_is_what_the_program_says(program: Path) -> None:
    assert engine_version(str(program)) == "8.0.9"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert engine_version(str(program)) == ""
    assert engine_version(str(program.parent / "nothing")) == ""


@pytest.mark.parametrize(
    ("version", "may"), [("9.0.0", True), ("10.1", True), ("8.0.1", False), ("8.1.9", False), ("", False), ("x", False)]
)
def test_slots_are_counted_from_valkey_9_on(version: str, may: bool) -> None:
    assert counts_by_slot(version) == may
