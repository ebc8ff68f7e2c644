"""The Terraform provider against a real console with three agents. Run by `make test-terraform`."""

import os
import subprocess
from pathlib import Path

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import private_cluster

PROVIDER = Path(__file__).resolve().parent


def test_go_tests_pass_with_a_running_console(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with database_helpers.running(private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)) as cluster:
        user, password = cluster.login
        environment = {
            **os.environ,
            "SHARDBOARD_URL": cluster.url,
            "SHARDBOARD_USERNAME": user,
            "SHARDBOARD_PASSWORD": password,
            "SHARDBOARD_CA_FILE": str(cluster.directory / "tls" / "ca.pem"),
            "GOFLAGS": "-buildvcs=false",
        }
        command = ["go", "test", "-p", "1", "-count=1", "./..."]
        result = subprocess.run(
            command,
            cwd=PROVIDER,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert result.returncode == 0, result.stdout
    assert "/acceptance" in result.stdout
