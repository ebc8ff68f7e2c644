"""Creation and deletion of databases on real processes."""

import os
import random
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest
import valkey
import valkey.cluster
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok


@pytest.mark.parametrize(
    ("shards", "replication"),
    [
        (1, False),
        (3, True),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, True), (3, False), (12, True))),
    ],
)
@pytest.mark.older
def test_a_database_serves_and_is_deleted_completely(cluster: LocalCluster, shards: int, replication: bool) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(shards, replication=replication))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "active", bdb["status_detail"]
    assert len(cluster.engines()) == shards * (2 if replication else 1)

    endpoint = bdb["endpoints"][0]
    expected = {f"key:{number}": str(number) for number in range(200)}
    with _client(endpoint["addr"][0], endpoint["port"], cluster=shards > 1) as client:
        for key, value in expected.items():
            client.set(key, value)
        assert {key: client.get(key) for key in expected} == expected
        assert client.flushall()
        assert client.dbsize() == 0

    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    by_pair: dict[int, set[str]] = {}
    for row in rows:
        assert row["node_uid"] not in by_pair.setdefault(row["pair"], set()), "a primary and its replica share a node"
        by_pair[row["pair"]].add(row["node_uid"])

    assert _readable_by_others(cluster.directory) == [], "other users can read files of the cluster"

    database_helpers.delete(cluster, uid)
    assert cluster.engines() == []
    assert database_helpers.shard_directories(cluster) == []


@pytest.mark.slow
def test_creations_end_cleanly_when_the_console_is_killed(cluster: LocalCluster) -> None:
    """After six kills at different moments, each creation ends with an active database or a clean failure."""
    rng = random.Random(20)
    for _ in range(6):
        uid = database_helpers.create(cluster, database_helpers.request_body(6, replication=True))
        moment = time.monotonic() + rng.uniform(0.0, 0.4)
        cluster.wait_until(lambda at=moment: time.monotonic() >= at, "the time does not pass")  # type: ignore[misc]
        cluster.kill("console")
        cluster.start_console()
        bdb = database_helpers.wait_until_settled(cluster, uid)
        expected = 12 if bdb["status"] == "active" else 0
        cluster.wait_until(lambda count=expected: len(cluster.engines()) == count, "wrong number of processes")  # type: ignore[misc]
        database_helpers.delete(cluster, uid)
        assert database_helpers.shard_directories(cluster) == []


def test_a_port_in_use_fails_the_creation_cleanly(cluster: LocalCluster) -> None:
    with socket.socket() as unrelated:
        unrelated.bind((cluster.addresses[1], 15555))
        unrelated.listen()
        uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True, port=15555))
        bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "creation-failed"
    assert "port 15555 is in use" in bdb["status_detail"]
    _check_reported_failure(cluster, uid, "15555")


@pytest.mark.slow
def test_a_killed_agent_fails_the_creation_and_is_cleaned_up_later(cluster: LocalCluster) -> None:
    address = cluster.addresses[2]
    cluster.kill(address)
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    bdb = database_helpers.wait_until_settled(cluster, uid)
    assert bdb["status"] == "creation-failed"
    assert "cannot be reached" in bdb["status_detail"]
    cluster.start_agents()
    _check_reported_failure(cluster, uid, "cannot be reached")


def _check_reported_failure(cluster: LocalCluster, uid: int, reason: str) -> None:
    """Check that action and log report the failure, that the nodes have no processes or files left, and that deletion succeeds."""
    action = next(
        action for action in ok(cluster.api.get("/v2/actions")) if action["additional_info"]["object_uid"] == uid
    )
    assert action["status"] == "failed"
    assert reason in action["additional_info"]["error"]
    log = ok(cluster.api.get("/v1/logs", params={"bdb_uid": uid}))
    assert any(event["type"] == "bdb_creation_failed" and reason in event["description"] for event in log)
    cluster.wait_until(lambda: cluster.engines() == [], "processes are left")
    cluster.wait_until(lambda: database_helpers.shard_directories(cluster) == [], "files are left")
    database_helpers.delete(cluster, uid)
    assert ok(cluster.api.get("/v1/shards")) == []


def _readable_by_others(directory: Path) -> list[Path]:
    """Return the files and directories that other users can read. Files that disappear during the scan are skipped."""
    readable_paths = []
    for parent, directories, files in os.walk(directory):
        for path in (Path(parent, name) for name in (*directories, *files)):
            with suppress(FileNotFoundError):
                if not path.is_symlink() and path.stat().st_mode & 0o077:
                    readable_paths.append(path)
    return readable_paths


def _client(host: str, port: int, *, cluster: bool) -> valkey.Valkey:
    if cluster:
        return valkey.cluster.ValkeyCluster(host=host, port=port, decode_responses=True)
    return valkey.Valkey(host=host, port=port, decode_responses=True)
