"""Tests of `shardboard apply` and `shardboard diff`."""

from pathlib import Path

import httpx
import pytest
from backend.tests.cli.client.conftest import Cli, Run

DECLARED = """
redis_acls:
  - name: reports
    acl: +@read ~report:*
roles:
  - name: reporting
    management: db_viewer
webhooks:
  - name: chat
    url: https://chat.example.org/hook
"""


def declare(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(DECLARED)
    return file


async def test_second_apply_changes_nothing(signed_in: Cli, declared: Path, client: httpx.AsyncClient) -> None:
    different = await signed_in("diff", "-f", str(declared))
    assert different.status == 1
    assert "+ role reporting" in different.out
    first = await signed_in("apply", "-f", str(declared), "--yes")
    assert first.status == 0, first.err
    assert "Plan: 3 to create, 0 to change, 0 to delete, 0 unchanged." in first.out
    names = {each["name"] for each in (await client.get("/v1/roles")).json()}
    assert "reporting" in names
    equal = await signed_in("diff", "-f", str(declared))
    assert (equal.status, equal.out) == (0, "Plan: 0 to create, 0 to change, 0 to delete, 3 unchanged.\n")


async def test_only_declared_fields_are_changed(signed_in: Cli, declared: Path, client: httpx.AsyncClient) -> None:
    assert (await signed_in("apply", "-f", str(declared), "--yes")).status == 0
    declare(declared, DECLARED.replace("db_viewer", "cluster_viewer"))
    assert '    management: "db_viewer" -> "cluster_viewer"' in (await signed_in("diff", "-f", str(declared))).out
    result = await signed_in("apply", "-f", str(declared), "--yes")
    assert "role reporting: changed" in result.out
    roles = {each["name"]: each for each in (await client.get("/v1/roles")).json()}
    assert roles["reporting"]["management"] == "cluster_viewer"


async def test_prune_deletes_other_objects_but_not_predefined_ones(
    signed_in: Cli, declared: Path, client: httpx.AsyncClient
) -> None:
    predefined = {each["name"] for each in (await client.get("/v1/roles")).json()}
    await client.post("/v1/roles", json={"name": "old", "management": "none"})
    dry = await signed_in("apply", "-f", str(declared), "--prune", "--dry-run")
    assert "- role old" in dry.out
    assert "old" in {each["name"] for each in (await client.get("/v1/roles")).json()}
    assert (await signed_in("apply", "-f", str(declared), "--prune", "--yes")).status == 0
    assert {each["name"] for each in (await client.get("/v1/roles")).json()} == {*predefined, "reporting"}


@pytest.mark.usefixtures("nodes")
async def test_names_of_roles_and_access_lists_replace_their_uids(
    signed_in: Cli, declared: Path, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORDERS_PASSWORD", "a-secret-of-orders")
    declare(
        declared,
        DECLARED
        + """
databases:
  - name: orders
    memory_size: 256MiB
    authentication_redis_pass: {from_env: ORDERS_PASSWORD}
    roles_permissions:
      - role: reporting
        redis_acl: reports
""",
    )
    result = await signed_in("apply", "-f", str(declared), "--yes", "--timeout", "0")
    assert result.status == 7, "the database is created by loops that this test does not run"
    assert "authentication_redis_pass: (not shown)" in result.out
    assert "a-secret-of-orders" not in result.out + result.err
    database = (await client.get("/v1/bdbs")).json()[0]
    assert database["memory_size"] == 256 * 2**20
    assert len(database["roles_permissions"]) == 1
    equal = await signed_in("diff", "-f", str(declared))
    assert equal.status == 0, equal.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must have one or more of the keys"),
        ("tables: []", "the key tables is unknown"),
        ("roles: {}", "must be a list"),
        ("roles: [{management: none}]", "needs a name"),
        ("roles: [{name: a}, {name: a}]", "contains a more than once"),
        ("roles: [{name: a, management: {from_env: NOT_SET}}]", "NOT_SET is not set"),
        ("roles: [", "is not valid YAML"),
    ],
)
def test_invalid_files_are_reported(run: Run, declared: Path, text: str, message: str) -> None:
    declare(declared, text)
    result = run("apply", "-f", str(declared), "--yes")
    assert result.status == 1
    assert message in result.err
