"""Commands of a user on another machine, against a running console: the certificate, the token, and the waits are real."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import valkey

from shardboard.cli.client.session_commands import fingerprint_of
from shardboard.local.cluster import LocalCluster

DECLARED = """
redis_acls: [{name: counters, acl: "+incr +get ~counter*"}]
roles: [{name: counting, management: none}]
databases:
  - name: orders
    memory_size: 256MiB
    authentication_redis_pass: {from_env: ORDERS_PASSWORD}
    roles_permissions: [{role: counting, redis_acl: counters}]
"""


@pytest.mark.slow
def test_a_database_is_declared_used_and_deleted(cluster: LocalCluster, tmp_path: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SHARDBOARD_")},
        "SHARDBOARD_CONTEXTS_FILE": str(tmp_path / "contexts.json"),
        "ORDERS_PASSWORD": "a-secret-of-orders",
    }

    def run(*arguments: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "shardboard", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout

    url, (user, password) = str(cluster.api.base_url).rstrip("/"), cluster.login
    (tmp_path / "password").write_text(password)
    (tmp_path / "cluster.yaml").write_text(DECLARED)
    sign_in = ("login", url, "--user", user, "--password-file", str(tmp_path / "password"))
    run(*sign_in, status=1)  # the console CA is not trusted
    run(*sign_in, "--fingerprint", fingerprint_of(cluster.api.get("/v1/ca").text))

    run("apply", "-f", str(tmp_path / "cluster.yaml"), "--yes")
    run("diff", "-f", str(tmp_path / "cluster.yaml"))
    assert run("db", "list", "-o", "jsonpath=$[*].status") == "active\n"
    host, _, port = run("db", "address", "orders").strip().rpartition(":")
    with valkey.Valkey(host, int(port), password="a-secret-of-orders") as client:
        assert client.incr("counter") == 1
    run("db", "update", "orders", "--memory", "300MiB")
    assert json.loads(run("db", "get", "orders", "-o", "json"))["memory_size"] == 300 * 2**20
    run("db", "delete", "orders", "--yes")
    assert run("db", "list", "-o", "name") == ""
    run("wait", "db", "orders", status=3)
    assert "bdb_deleted" in run("logs", "-n", "100", "-o", "json")
    run("logout")
    run("db", "list", status=1)
