"""Test that the setup installs and uses the tools that build the web UI, whatever NODE_ENV is."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = f"""
set -euo pipefail
cd "$1"
step() {{ shift; "$@"; }}
require_node() {{ :; }}
. {ROOT}/scripts/setup-project.sh
set_up_node
"""
NPM = """#!/bin/sh
echo "${NODE_ENV:-unset} $*" >>calls
if [ "${NODE_ENV:-}" = production ]; then exit 0; fi
mkdir -p node_modules/.bin
touch node_modules/.bin/vite
chmod +x node_modules/.bin/vite
"""


def set_up(project: Path, **environment: str) -> list[str]:
    """Run the setup of the npm packages, and return the calls of npm."""
    calls = project / "calls"
    calls.unlink(missing_ok=True)
    path = f"{project}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-c", SCRIPT, "setup", project], env={**os.environ, "PATH": path, **environment}, check=True
    )
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "npm").write_text(NPM)
    (tmp_path / "npm").chmod(0o755)
    (tmp_path / "node_modules").mkdir()
    return tmp_path


@pytest.mark.parametrize("value", ["production", "development", ""])
def test_build_tools_are_installed_once(project: Path, value: str) -> None:
    [call] = set_up(project, NODE_ENV=value)
    assert call.startswith("unset ci --include=dev ")
    assert set_up(project, NODE_ENV=value) == []


def test_installation_without_build_tools_is_repaired(project: Path) -> None:
    set_up(project)
    (project / "node_modules/.bin/vite").unlink()
    assert len(set_up(project)) == 1
