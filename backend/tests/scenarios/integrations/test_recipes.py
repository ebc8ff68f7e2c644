"""The recipes of the guide against a running console: each of them creates, changes, and deletes the same database."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios.integrations.conftest import INTEGRATIONS, TOP

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

GUIDE = (TOP / "docs" / "guide" / "recipes.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"as `([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = {"bash": ["bash", "-eu", "-o", "pipefail", "-c"], "python": [sys.executable, "-c"]}


def databases(cluster: LocalCluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get("/v1/bdbs"))
    return found


@pytest.mark.parametrize("tool", SECTIONS)
def test_each_recipe_creates_changes_and_deletes_the_database(
    cluster: LocalCluster, environment: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest, tool: str
) -> None:
    if tool == "Python":
        environment["PYTHONPATH"] = str(request.getfixturevalue("python_client"))
    if tool == "Ansible":
        environment["ANSIBLE_COLLECTIONS_PATH"] = str(request.getfixturevalue("collections"))
        environment["ANSIBLE_HOME"] = str(tmp_path / "home")
    if tool == "Terraform":
        environment["TF_CLI_CONFIG_FILE"] = str(request.getfixturevalue("terraform_configuration"))
    for name, content in FILE.findall(SECTIONS[tool]):
        (tmp_path / name).write_text(content)
    steps = [(PROGRAMS[language], text) for language, text in BLOCK.findall(SECTIONS[tool]) if language in PROGRAMS]
    assert len(steps) == 3

    def run(step: int) -> str:
        program, text = steps[step]
        done = subprocess.run(
            [*program, text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        return done.stdout

    printed = run(0)
    (orders,) = databases(cluster)
    wanted = {"name": "orders", "status": "active", "memory_size": 2**30, "shards_count": 2, "replication": True}
    assert {field: orders[field] for field in wanted} == wanted
    if tool in ("curl", "Command line", "Python"):
        assert str(orders["port"]) in printed
    with valkey.Valkey(orders["endpoints"][0]["addr"][0], orders["port"]) as client:
        assert client.set("order:1", "paid")
        run(1)
        assert client.get("order:1") == b"paid"
    assert [each["memory_size"] for each in databases(cluster)] == [2**31]
    run(2)
    assert databases(cluster) == []


@pytest.fixture(scope="session")
def terraform_configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the Terraform provider, and return a configuration of Terraform that uses it."""
    provider = INTEGRATIONS / "terraform"
    if not provider.exists() or not shutil.which("go") or not shutil.which("terraform"):
        pytest.skip("The Terraform provider, go, or terraform is missing")
    folder = tmp_path_factory.mktemp("terraform")
    subprocess.run(["go", "build", "-o", f"{folder}/", "."], cwd=provider, check=True)
    configuration = folder / "terraformrc"
    configuration.write_text(
        f'provider_installation {{\n  dev_overrides {{ "shardboard/shardboard" = "{folder}" }}\n  direct {{}}\n}}\n'
    )
    return configuration
