"""The Python client, generated from the OpenAPI description, against a running console and a real database."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import valkey

from shardboard.local.cluster import LocalCluster

pytestmark = pytest.mark.slow


@pytest.fixture
def console(python_client: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from shardboard_client import Shardboard

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with Shardboard.from_environment() as opened:
        yield opened


def test_a_database_is_created_used_changed_and_deleted(console: Any) -> None:
    from shardboard_client import Conflict, NotFound
    from shardboard_client.rest.api.databases import run_command_v1_bdbs_uid_command_post as run_command
    from shardboard_client.rest.models import CommandRequest

    orders = console.databases.create(name="orders", memory_size=2**28, shards_count=2, sharding=True).wait()
    assert (orders.status, orders.shards_count) == ("active", 2)
    with valkey.Valkey(orders.endpoints[0].addr[0], orders.port) as client:
        client.set("key", "value")
        assert client.get("key") == b"value"
    assert console.call(run_command, orders.uid, body=CommandRequest(command="DBSIZE")).response == 1

    assert orders.update(memory_size=2**29).wait().memory_size == 2**29
    assert [each.uid for each in console.databases] == [orders.uid]
    assert console.databases.get("orders").data == console.databases.get(orders.uid).data
    with pytest.raises(Conflict) as conflict:
        console.databases.create(name="orders", memory_size=2**28)
    assert (conflict.value.code, conflict.value.status, conflict.value.field) == ("name_exists", 409, "name")
    orders.delete().wait()
    with pytest.raises(NotFound) as missing:
        console.databases.get(orders.uid)
    assert missing.value.code == "db_not_found"


def test_a_repeated_creation_with_the_same_key_creates_one_database(console: Any) -> None:
    first, second = (
        console.databases.create(name="once", memory_size=2**28, idempotency_key="k-1").wait() for _ in range(2)
    )
    assert first.uid == second.uid
    assert len(console.databases.list(name="once")) == 1


def test_waits_have_time_limits(console: Any, cluster: LocalCluster) -> None:
    from shardboard_client import WaitTimedOut

    for address in cluster.addresses:
        cluster.kill(address)
    slow = console.databases.create(name="slow", memory_size=2**28)
    with pytest.raises(WaitTimedOut, match="continues"):
        slow.wait(timeout=1)
    cluster.start_agents()
    assert slow.wait().status == "active"


def test_waits_report_why_actions_failed(console: Any) -> None:
    from shardboard_client import ActionFailed
    from shardboard_client.rest.api.cluster import update_policy_v1_cluster_policy_put as update_policy
    from shardboard_client.rest.api.nodes import start_drill_v1_nodes_uid_actions_drill_post as start_drill
    from shardboard_client.rest.models import DrillRequest, DrillRequestKind, PolicyUpdate

    console.call(update_policy, body=PolicyUpdate.from_dict({"drills_enabled": True}))
    without_systemd = DrillRequest(kind=DrillRequestKind.KILL, confirm="node 1")
    with pytest.raises(ActionFailed, match=r"is failed: .*systemd"):
        console.wait(console.call(start_drill, 1, body=without_systemd).action_uid)


def test_a_wait_continues_while_the_console_restarts(console: Any, cluster: LocalCluster) -> None:
    created = console.databases.create(name="patient", memory_size=2**28)
    cluster.kill("console")
    restart = threading.Thread(target=cluster.start_console)
    restart.start()
    try:
        assert created.wait().status == "active"
    finally:
        restart.join()


def test_each_kind_of_object_is_managed(console: Any) -> None:
    acl = console.acls.create(name="reports", acl="+@read ~report:*")
    role = console.roles.create(name="reporting", management="db_viewer")
    user = console.users.create(name="ann", email="ann@example.org", password="long-password-1", role_uids=[role.uid])
    mapping = console.ldap_mappings.create(name="team", dn="cn=team,dc=example,dc=org", role_uids=[role.uid])
    webhook = console.webhooks.create(name="chat", kind="webhook", url="https://example.org/hook")
    for item, change in (
        (acl, {"acl": "+@read ~reports:*"}),
        (role, {"name": "report-readers"}),
        (user, {"name": "anna"}),
        (mapping, {"name": "report-team"}),
        (webhook, {"enabled": False}),
    ):
        item.update(**change).wait()
        item.refresh()
        assert {field: getattr(item, field) for field in change} == change
    for item in (webhook, mapping, user, role, acl):
        item.delete().wait()
    nodes = console.nodes.list()
    assert len(nodes) == 3
    assert all(node.status == "active" for node in nodes), nodes


def test_errors_name_the_problem(console: Any, cluster: LocalCluster, environment: dict[str, str]) -> None:
    from shardboard_client import ConsoleUnreachable, Denied, NotFound, RequestRejected, Shardboard

    with pytest.raises(RequestRejected, match="replication") as misspelled:
        console.databases.create(name="orders", memory_size=2**28, replicaton=True)
    assert misspelled.value.status == 400
    with pytest.raises(TypeError, match="memory_size is required"):
        console.databases.create(name="orders")
    with pytest.raises(NotFound, match="absent"):
        console.databases.get("absent")
    url, ca_file = cluster.url, environment["SHARDBOARD_CA_FILE"]
    with Shardboard(url, "sbt_wrong", ca_file=ca_file) as other, pytest.raises(Denied):
        other.databases.list()
    with Shardboard(url, "sbt_wrong") as untrusting, pytest.raises(ConsoleUnreachable, match="certificate"):
        untrusting.databases.list()
    with pytest.raises(ValueError, match="https"):
        Shardboard("http://console.example.org", "sbt_wrong")


def test_generated_requests_raise_the_same_errors(console: Any) -> None:
    from shardboard_client import NotFound
    from shardboard_client.rest.api.cluster import get_policy_v1_cluster_policy_get
    from shardboard_client.rest.api.databases import get_bdb_v1_bdbs_uid_get

    assert console.call(get_policy_v1_cluster_policy_get).rack_aware is False
    with pytest.raises(NotFound):
        console.call(get_bdb_v1_bdbs_uid_get, 999)


def test_types_are_complete(python_client: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from shardboard_client import Shardboard\nreveal_type(Shardboard('', '').databases.get(1).data.port)\n"
    )
    package = python_client / "shardboard_client"
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path), "--config-file", "/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(package / "console.py"), str(package / "errors.py"), str(program)],
        cwd=python_client,
        env={**os.environ, "MYPYPATH": str(python_client)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Revealed type is "int"' in done.stdout.replace("builtins.", "")
