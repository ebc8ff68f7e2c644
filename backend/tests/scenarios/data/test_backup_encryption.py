"""Encrypted backups with real processes, read by the standard tools, and backups that are resumed."""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.data.test_backup import (
    back_up,
    client_of,
    contents,
    fill,
    flush,
    transfers_on_nodes,
    wait_for,
)
from backend.tests.scenarios.database_helpers import create, request_body, wait_until_settled

from shardboard.kit import age, age_keys
from shardboard.local.cluster import LocalCluster, ok, private_cluster

IDENTITY = age_keys.generate_identity()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backups")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[LocalCluster]:
    environment = {"SHARDBOARD_BACKUP_ROOTS": str(folder)}
    started = private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3, environment=environment)
    with database_helpers.running(started) as running_cluster:
        body = {
            "name": "local",
            "location": {"type": "mount_point", "path": str(folder)},
            "recipients": [age_keys.recipient_of(IDENTITY)],
        }
        ok(running_cluster.api.post("/v1/backup_locations", json=body))
        yield running_cluster


@pytest.fixture(scope="module")
def database(cluster: LocalCluster) -> int:
    uid = create(cluster, request_body(3, replication=True))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    fill(client_of(cluster, uid))
    database_helpers.wait_until_replicated(cluster, uid)
    return uid


def run(*command: str, content: bytes = b"") -> bytes:
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


def restore(cluster: LocalCluster, uid: int, backup_uid: int, identities: str) -> Any:
    body = {"backup_uid": backup_uid, "identities": identities}
    return cluster.api.post(f"/v1/bdbs/{uid}/actions/restore", json=body)


@pytest.mark.slow
def test_encrypted_backups_are_restored_and_readable_with_standard_tools(
    cluster: LocalCluster, database: int, folder: Path, tmp_path: Path
) -> None:
    before = contents(cluster, database)
    backup = wait_for(cluster, f"/v1/backups/{back_up(cluster, database)}")
    assert backup["is_encrypted"]
    files = {path.name: path.read_bytes() for path in (folder / backup["path"]).iterdir()}
    snapshots = {name: content for name, content in files.items() if name != "manifest.json"}
    assert all(name.endswith(".rdb.zst.age") and content.startswith(age.VERSION) for name, content in snapshots.items())
    key = tmp_path / "key.txt"
    key.write_text(IDENTITY)
    for content in snapshots.values():
        rdb = run("zstd", "-dc", content=run("age", "-d", "-i", str(key), content=content))
        assert rdb.startswith((b"REDIS", b"VALKEY"))
    sealed = json.loads(files["manifest.json"])["private"]
    private = json.loads(run("age", "-d", "-i", str(key), content=sealed.encode()))
    assert sum(keys for _, keys, _ in private["slots"]) == len(before)
    assert b"string:" not in files["manifest.json"]
    for identities in ("", age_keys.generate_identity()):
        assert restore(cluster, database, backup["uid"], identities).status_code == 406
    assert contents(cluster, database) == before, "nothing is deleted without the key"
    flush(cluster, database)
    restored = wait_for(
        cluster, f"/v1/restores/{ok(restore(cluster, database, backup['uid'], IDENTITY))['restore_uid']}"
    )
    assert (restored["restored"], restored["mismatched_slots"]) == (len(before), 0)
    assert contents(cluster, database) == before
    cluster.wait_until(lambda: not transfers_on_nodes(cluster), "nodes still store transfers")
    path = next(iter((folder / backup["path"]).glob("*.age")))
    path.write_bytes(path.read_bytes()[:-100])
    failed = wait_for(
        cluster,
        f"/v1/restores/{ok(restore(cluster, database, backup['uid'], IDENTITY))['restore_uid']}",
        status="failed",
        seconds=120,
    )
    # The size of the file decides whether its decryption or its checksum fails first.
    assert "cannot read the files" in failed["detail"]
    assert path.name in failed["detail"]
    assert not failed["erased"]
    assert IDENTITY not in json.dumps(failed)


def kill_movers(cluster: LocalCluster) -> int:
    """Kill all movers. Return their number."""
    folders = str(cluster.directory / "agents")
    movers = [
        process
        for process in psutil.process_iter(["name", "cwd"])
        if (process.info["name"] or "").startswith("shardboard-mov") and (process.info["cwd"] or "").startswith(folders)
    ]
    for process in movers:
        process.kill()
    return len(movers)


@pytest.mark.slow
def test_a_backup_that_failed_is_resumed_while_processes_are_killed(cluster: LocalCluster, folder: Path) -> None:
    uid = create(cluster, request_body(3, replication=True))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    client = client_of(cluster, uid)
    for number in range(16):
        client.set(f"large:{number}", random.Random(number).randbytes(4_000_000))
    database_helpers.wait_until_replicated(cluster, uid)
    before = contents(cluster, uid)
    backup_uid = back_up(cluster, uid)
    files = folder / ok(cluster.api.get(f"/v1/backups/{backup_uid}"))["path"]
    obstacles = [files / f"0-5460{attempt}.rdb.zst.age" for attempt in ("", "-2", "-3")]
    for obstacle in obstacles:
        obstacle.mkdir(parents=True)
    failed = wait_for(cluster, f"/v1/backups/{backup_uid}", status="failed", seconds=120)
    assert failed["resumable_until"]
    for obstacle in obstacles:
        obstacle.rmdir()
    complete = {path.name: path.stat().st_ino for path in files.iterdir()}
    assert len(complete) == 2
    ok(cluster.api.post(f"/v1/backups/{backup_uid}/actions/resume"))
    cluster.wait_until(lambda: kill_movers(cluster) > 0, "no mover was started")
    for name in ("console", *cluster.addresses):
        cluster.kill(name)
    cluster.start_console()
    cluster.start_agents()
    resumed = wait_for(cluster, f"/v1/backups/{backup_uid}", seconds=120)
    assert (resumed["runs"], resumed["keys"]) == (2, len(before))
    found = {path.name: path.stat().st_ino for path in files.iterdir()}
    assert complete.items() <= found.items(), "complete files are not written again"
    assert len(found) == 4
    result = wait_for(cluster, f"/v1/restores/{ok(restore(cluster, uid, backup_uid, IDENTITY))['restore_uid']}")
    assert (result["restored"], result["mismatched_slots"]) == (len(before), 0)
