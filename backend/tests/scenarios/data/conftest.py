"""A cluster of three nodes that may use a folder as a storage location."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok, private_cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backups")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[LocalCluster]:
    environment = {"SHARDBOARD_BACKUP_ROOTS": str(folder)}
    started = private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3, environment=environment)
    with database_helpers.running(started) as running_cluster:
        yield running_cluster


@pytest.fixture(scope="module")
def location(cluster: LocalCluster, folder: Path) -> int:
    body = {"name": "local", "location": {"type": "mount_point", "path": str(folder)}}
    uid: int = ok(cluster.api.post("/v1/backup_locations", json=body))["uid"]
    checks = ok(cluster.api.post(f"/v1/backup_locations/{uid}/actions/test"))["checks"]
    assert checks, "the location is tested"
    assert all(check["ok"] for check in checks), checks
    return uid
