"""Test that the setup copies the engine that it built into the virtual environment, so that all users can run it."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = f"""
set -euo pipefail
cd "$1"
. {ROOT}/scripts/setup-system.sh
. {ROOT}/scripts/setup-engine.sh
system_valkey() {{ [[ ${{INSTALLED:-no}} == yes ]]; }}
set_up_engine
"""
PROGRAMS = ("valkey-server", "valkey-cli", "valkey-benchmark")


def set_up(project: Path, **environment: str) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(project / "cache"), "SHARDBOARD_BUILD_ENGINE": "no", **environment}
    subprocess.run(["bash", "-c", SCRIPT, "setup", project], env=env, check=True)


def build(project: Path, version: str) -> Path:
    """Create the programs of a built engine."""
    directory = project / "cache/shardboard/engine" / f"{version}-1/bin"
    directory.mkdir(parents=True)
    for program in PROGRAMS:
        (directory / program).write_text(f"#!/bin/sh\necho 'Valkey server v={version}'\n")
        (directory / program).chmod(0o700)
    return directory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".venv/bin").mkdir(parents=True)
    return tmp_path


def test_engine_is_copied_and_executable_for_all_users(project: Path) -> None:
    build(project, "9.1.2")
    set_up(project)
    for program in PROGRAMS:
        copy = project / ".venv/bin" / program
        assert copy.is_file()
        assert not copy.is_symlink()
        assert copy.stat().st_mode & 0o777 == 0o755


def test_unchanged_engine_is_not_copied_again(project: Path) -> None:
    build(project, "9.1.2")
    set_up(project)
    before = (project / ".venv/bin/valkey-server").stat().st_ino
    set_up(project)
    assert (project / ".venv/bin/valkey-server").stat().st_ino == before


def test_links_of_earlier_setups_and_older_engines_are_replaced(project: Path) -> None:
    link = project / ".venv/bin/valkey-server"
    old = build(project, "9.1.2") / "valkey-server"
    link.symlink_to(old)
    set_up(project)
    assert not link.is_symlink()
    assert link.read_text() == old.read_text()
    new = build(project, "9.1.3") / "valkey-server"
    set_up(project)
    assert link.read_text() == new.read_text()
    assert "v=9.1.2" in old.read_text()


def test_copy_is_removed_when_a_suitable_engine_is_installed(project: Path) -> None:
    build(project, "9.1.2")
    set_up(project)
    set_up(project, INSTALLED="yes")
    assert not list((project / ".venv/bin").iterdir())
