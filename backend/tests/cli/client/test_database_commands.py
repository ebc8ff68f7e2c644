"""Tests of `shardboard db cli`."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from backend.tests.cli.client.conftest import FakeConsole, Run

from shardboard.cli.client import database_commands

ORDERS = {
    "uid": 1,
    "name": "orders",
    "oss_cluster": True,
    "authentication_redis_pass": "a-secret",
    "endpoints": [{"addr": ["192.0.2.7"], "port": 12000, "dns_name": ""}],
}


def test_client_of_a_database_gets_its_certificates_in_a_file_without_a_name(
    fake_console: FakeConsole, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_console.replies = {
        "GET /v1/bdbs": [ORDERS],
        "GET /v1/bdbs/1/endpoint": {"tls": True},
        "GET /v1/ca/bundle": "the certificates",
    }
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(database_commands.shutil, "which", lambda name: f"/usr/bin/{name}")
    executed = []
    monkeypatch.setattr(os, "execve", lambda *each: executed.append(each))
    result = run("db", "cli", "orders", "PING")
    assert result.status == 0, result.err
    [(program, command, environment)] = executed
    assert (program, command[:6]) == ("/usr/bin/valkey-cli", [program, "-h", "192.0.2.7", "-p", "12000", "-c"])
    assert command[-1] == "PING"
    assert "a-secret" not in command
    assert environment["VALKEYCLI_AUTH"] == "a-secret"
    path = command[command.index("--cacert") + 1]
    descriptor = int(path.rpartition("/")[2])
    try:
        read = subprocess.run(
            [sys.executable, "-S", "-c", "import sys; print(open(sys.argv[1]).read() * 2)", path],
            close_fds=False,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        os.close(descriptor)
    assert read.stdout == "the certificatesthe certificates\n"
    assert list(tmp_path.iterdir()) == []
