"""The Ansible collection against a running console, with playbooks as users run them."""

import json
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import valkey
import yaml
from backend.tests.scenarios.integrations.conftest import INTEGRATIONS

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

PASSWORDS = {"ORDERS_PASSWORD": "a-secret-of-orders", "REPORTS_PASSWORD": "a-Secret-0f-reports"}
README = (INTEGRATIONS / "ansible" / "README.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)

Play = Callable[..., str]


@pytest.fixture
def play(collections: Path, environment: dict[str, str], tmp_path: Path) -> Play:
    """Function that runs a playbook, or tasks, with options and variables (empty: not set), and returns the output."""
    variables = {
        **environment,
        **PASSWORDS,
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
    }

    def run(playbook: str | list[dict[str, Any]], *options: str, status: int = 0, **more: str) -> str:
        if not isinstance(playbook, str):
            playbook = yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": playbook}])
        path = tmp_path / "playbook.yaml"
        path.write_text(playbook)
        command = ["ansible-playbook", *options, str(path)]
        done = subprocess.run(
            command,
            env={name: value for name, value in {**variables, **more}.items() if value},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return run


def changes(output: str) -> int:
    return int(re.findall(r"changed=(\d+)", output)[-1])


def names(cluster: LocalCluster, path: str) -> list[str]:
    return [each["name"] for each in ok(cluster.api.get(path))]


def task(module: str, **options: Any) -> dict[str, Any]:
    return {f"shardboard.console.{module}": options}


def test_the_example_is_checked_applied_and_repeated(cluster: LocalCluster, play: Play) -> None:
    before = [names(cluster, path) for path in ("/v1/bdbs", "/v1/roles", "/v1/users", "/v1/webhooks")]
    previous_alerts = ok(cluster.api.get("/v1/cluster"))["alert_settings"]
    address = "    - name: Address of the database"
    checked = play(EXAMPLE.partition(address)[0], "--check", "--diff")
    assert changes(checked) == 9
    assert "+acl" in checked.replace(" ", "").replace('"', "")
    assert [names(cluster, path) for path in ("/v1/bdbs", "/v1/roles", "/v1/users", "/v1/webhooks")] == before

    applied = play(EXAMPLE, "-vvv", "--diff")
    assert changes(applied) == 9
    for secret in PASSWORDS.values():
        assert secret not in applied
    (orders,) = ok(cluster.api.get("/v1/bdbs"))
    assert (orders["memory_size"], orders["shards_count"], orders["replication"]) == (2**30, 2, True)
    assert f"{orders['endpoints'][0]['addr'][0]}:{orders['port']}" in applied
    with valkey.Valkey(
        orders["endpoints"][0]["addr"][0],
        orders["port"],
        username="reports@example.org",
        password=PASSWORDS["REPORTS_PASSWORD"],
    ) as client:
        assert client.get("report:1") is None
    assert ok(cluster.api.get(f"/v1/bdbs/alerts/{orders['uid']}"))["bdb_size"]["threshold"] == "85"
    alerts = {"node_memory": {"enabled": True, "threshold": "85"}, "node_failed": True}
    assert ok(cluster.api.get("/v1/cluster"))["alert_settings"] == previous_alerts | alerts

    for options in ((), ("--check",)):
        assert changes(play(EXAMPLE, *options)) == 0


def test_objects_are_changed_renamed_and_deleted(cluster: LocalCluster, play: Play) -> None:
    play([task("database", name="cart", memory_size=2**28, settings={"tags": [{"key": "team", "value": "a"}]})])
    (cart,) = ok(cluster.api.get("/v1/bdbs?name=cart"))
    change = [task("database", name="cart", memory_size=2**29, settings={"tags": [{"key": "team", "value": "b"}]})]
    output = play(change, "--diff")
    assert re.search(rf"^- +\"memory_size\": {2**28}", output, re.MULTILINE), output
    assert ok(cluster.api.get(f"/v1/bdbs/{cart['uid']}"))["memory_size"] == 2**29
    assert changes(play(change)) == 0
    play([task("database", uid=cart["uid"], name="basket")])
    assert names(cluster, "/v1/bdbs") == ["basket"]
    delete = [task("database", name="basket", state="absent")]
    assert changes(play(delete, "--check")) == 1
    assert names(cluster, "/v1/bdbs") == ["basket"]
    assert changes(play(delete)) == 1
    assert names(cluster, "/v1/bdbs") == []
    assert changes(play(delete)) == 0


def test_passwords_are_set_again_on_request(cluster: LocalCluster, play: Play) -> None:
    options = {"name": "vault", "memory_size": 2**28}
    play([task("database", **options, authentication_redis_pass="first-password")])
    second = {**options, "authentication_redis_pass": "second-password"}
    assert changes(play([task("database", **second)])) == 0
    assert changes(play([task("database", **second, update_password="always")])) == 1
    (vault,) = ok(cluster.api.get("/v1/bdbs"))
    with valkey.Valkey(vault["endpoints"][0]["addr"][0], vault["port"], password="second-password") as client:
        assert client.ping()


def test_failed_tasks_name_the_problem(play: Play) -> None:
    for tasks, more, problem in (
        ([task("database", name="orders", memory_size=1)], {}, "error_code"),
        ([task("database", name="orders", roles_permissions=[{"role": "x", "acl": "y"}])], {}, "role x does not exist"),
        ([task("database", memory_size=2**28)], {}, "one of the following is required: uid, name"),
        ([task("user", name="a", settings={"password": "x"})], {}, "use the option with this name"),
        ([task("cluster_policy", policy={"rack_awar": True})], {}, "does not have the fields rack_awar"),
        ([task("alert_settings", alerts={"node_memory": 85})], {}, "must have the keys enabled and threshold"),
        ([task("role", name="r", management="none")], {"SHARDBOARD_CA_FILE": ""}, "unreachable"),
        ([task("role", name="r", management="none")], {"SHARDBOARD_TOKEN": "sbt_x"}, "invalid_token"),
        ([task("role", name="r", url="http://console.example.org")], {}, "is not a URL such as https"),
    ):
        output = play(tasks, status=2, **more)
        assert problem in output, output


def test_a_task_waits_while_the_console_restarts(cluster: LocalCluster, play: Play) -> None:
    def restart() -> None:
        cluster.wait_until(lambda: names(cluster, "/v1/bdbs") == ["patient"], "the database is not requested")
        cluster.kill("console")
        cluster.start_console()

    restarting = threading.Thread(target=restart)
    restarting.start()
    play([task("database", name="patient", memory_size=2**28)])
    restarting.join()
    assert ok(cluster.api.get("/v1/bdbs?name=patient"))[0]["status"] == "active"


def test_a_user_with_a_password_is_accepted_instead_of_a_token(cluster: LocalCluster, play: Play) -> None:
    user, password = cluster.login
    credentials = {"SHARDBOARD_TOKEN": "", "SHARDBOARD_USERNAME": user, "SHARDBOARD_PASSWORD": password}
    play([task("role", name="by-password", management="none")], **credentials)
    assert "by-password" in names(cluster, "/v1/roles")


def test_documented_options_are_those_of_the_modules(collections: Path, environment: dict[str, str]) -> None:
    variables = {**environment, "ANSIBLE_COLLECTIONS_PATH": str(collections)}
    modules = sorted(path.stem for path in (INTEGRATIONS / "ansible" / "plugins" / "modules").glob("*.py"))
    listed = [f"shardboard.console.{name}" for name in modules]
    documentation = json.loads(
        subprocess.check_output(["ansible-doc", "--json", "--type", "module", *listed], env=variables)
    )
    assert len(modules) == 8
    for name in listed:
        assert documentation[name]["examples"], name
        options = set(documentation[name]["doc"]["options"])
        assert {"url", "token", "ca_file", "wait_timeout"} <= options, name
        wrong = subprocess.run(
            ["ansible", "localhost", "--module-name", name, "--args", "name=x policy={} alerts={} not_an_option=1"],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        supported = wrong.stdout.partition("Supported parameters include: ")[2].partition(".")[0]
        assert set(supported.replace('"', "").replace(", ", " ").split()) == options, (name, wrong.stdout)
