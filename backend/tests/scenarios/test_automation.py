"""Scripts against real processes: waiting, the examples of the guide, and users of applications."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[3]
GUIDE = TOP / "docs" / "guide" / "automation.md"


@pytest.fixture
def environment(cluster: LocalCluster) -> dict[str, str]:
    """The variables that the guide asks for."""
    body = {"name": f"automation-{os.urandom(4).hex()}", "role": "admin"}
    token = ok(cluster.api.post("/v1/service_tokens", json=body))["token"]
    certificate = cluster.directory / "tls" / "ca.pem"
    return {
        **os.environ,
        "SHARDBOARD_URL": cluster.url,
        "SHARDBOARD_TOKEN": token,
        "SHARDBOARD_CA": str(certificate),
        "NO_PROXY": "*",
    }


def examples(heading: str, language: str) -> list[str]:
    section = GUIDE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def changes(command: list[str], environment: dict[str, str]) -> Generator[dict[str, Any]]:
    """Yield the lines that an example prints until the caller has enough."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                yield json.loads(line)
        finally:
            os.killpg(process.pid, 9)


@pytest.mark.parametrize("language", ["bash", "python"])
def test_examples_of_the_event_stream_print_changes(
    cluster: LocalCluster, environment: dict[str, str], language: str
) -> None:
    (example,) = examples("Event stream", language)
    command = ["bash", "-c", example] if language == "bash" else [sys.executable, "-c", example]
    printed = changes(command, environment)
    name = f"seen-by-{language}"
    with created_roles(cluster, name):
        seen = next(each for each in printed if each["kind"] == "event" and name in str(each["object"]))
    printed.close()
    assert seen["object"]["type"] == "role_created"


@contextmanager
def created_roles(cluster: LocalCluster, name: str) -> Iterator[None]:
    """Create roles during the block: an example prints only changes after it has connected."""
    is_done = threading.Event()

    def create() -> None:
        number = 0
        while not is_done.wait(0.3):
            number += 1
            ok(cluster.api.post("/v1/roles", json={"name": f"{name}-{number}", "management": "none"}))

    creator = threading.Thread(target=create)
    creator.start()
    try:
        yield
    finally:
        is_done.set()
        creator.join()


def test_examples_of_requests_work(cluster: LocalCluster, environment: dict[str, str]) -> None:
    (create,) = examples("Wait for an operation", "bash")
    created = json.loads(subprocess.check_output(["bash", "-c", create], env=environment))
    assert (created["status"], created["action"]["status"]) == ("active", "completed"), created["status_detail"]
    (change,) = examples("Prevent lost updates", "bash")
    change = change.replace("/v1/bdbs/1", f"/v1/bdbs/{created['uid']}")
    changed = json.loads(subprocess.check_output(["bash", "-c", change], env=environment))
    assert changed.get("memory_size") == 2147483648, changed


@pytest.mark.parametrize("user_first", [True, False])
def test_users_authenticate_with_both_names_in_whatever_order_access_is_given(
    cluster: LocalCluster, *, user_first: bool
) -> None:
    """A secret manager creates users that never sign in to the console, before or after the database allows their role."""
    api, password = cluster.api, "a-generated-password"
    roles = [
        ok(api.post("/v1/roles", json={"name": f"{kind}-{user_first}", "management": "none"}))["uid"]
        for kind in ("readers", "writers")
    ]
    acls = [
        ok(api.post("/v1/redis_acls", json={"name": f"{kind}-{user_first}", "acl": acl}))["uid"]
        for kind, acl in (("readers", "+@read ~cache:*"), ("writers", "+@write ~queue:*"))
    ]
    uid = database_helpers.create(cluster, database_helpers.request_body(1))
    port = database_helpers.wait_until_settled(cluster, uid)["port"]
    permissions = [{"role_uid": role, "redis_acl_uid": acl} for role, acl in zip(roles, acls, strict=True)]
    users = (
        {"name": f"app-{user_first}", "password": password, "role_uids": roles},
        {
            "email": f"ann-{user_first}@example.org",
            "name": f"ann-{user_first}",
            "password": password,
            "role_uids": roles,
        },
    )
    steps = [
        lambda: [ok(api.post("/v1/users", json=user)) for user in users],
        lambda: ok(api.put(f"/v1/bdbs/{uid}?wait=25", json={"roles_permissions": permissions})),
    ]
    for step in steps if user_first else reversed(steps):
        step()
    address = ok(api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]["dns_name"]
    for name in (f"app-{user_first}", f"ann-{user_first}@example.org", f"ann-{user_first}"):

        def accepts(name: str = name) -> bool:
            try:
                with valkey.Valkey(host=address, port=port, username=name, password=password) as client:
                    return bool(client.execute_command("ACL", "WHOAMI") or True)
            except valkey.exceptions.AuthenticationError:
                return False
            except valkey.exceptions.NoPermissionError:
                return True

        cluster.wait_until(accepts, f"{name} cannot authenticate")
        with valkey.Valkey(host=address, port=port, username=name, password=password) as client:
            client.set("queue:1", "x")
            assert client.get("cache:1") is None
            for denied in (
                lambda client=client: client.get("queue:1"),
                lambda client=client: client.set("cache:1", "x"),
            ):
                with pytest.raises(valkey.exceptions.NoPermissionError):
                    denied()
