"""Several failures at once: acknowledged writes survive, started actions end, and the event log is correct."""

import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers

from shardboard.local.cluster import LocalCluster, LocalError, ok, private_cluster
from shardboard.local.postgres import PrivateServer, server_account

KEYS = 500


@pytest.mark.slow
def test_a_pair_without_living_nodes_recovers_from_disk(cluster: LocalCluster) -> None:
    """Without a replica to promote, the primary restarts from its append-only file, and its replica copies it again."""
    always_synced = {"data_persistence": "aof", "aof_policy": "appendfsync-always"}
    uid = database_helpers.create(cluster, database_helpers.request_body(1, replication=True, **always_synced))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    _write(cluster, uid)
    rows = _rows(cluster, uid)
    for row in rows:
        cluster.kill_node(row["address"])
    cluster.start_agents()
    cluster.wait_until(lambda: _is_complete(cluster, uid), "the pair is not complete again", 120)
    assert _read(cluster, uid) == {f"key:{number}": str(number) for number in range(KEYS)}
    [restarted] = _events_of_types(cluster, uid, "shard_restarted")
    assert "from its append-only file" in restarted["description"]
    assert {row["role"] for row in _rows(cluster, uid)} == {"master", "slave"}
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_without_persistence_a_shard_starts_empty_only_with_consent(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(1, replication=True))
    database_helpers.wait_until_settled(cluster, uid)
    _write(cluster, uid)
    rows = _rows(cluster, uid)
    for row in rows:
        cluster.kill_node(row["address"])
    cluster.start_agents()
    cluster.wait_until(lambda: _is_idle_and_down(cluster, uid), "the shards are not reported as down")
    # The replica may have been promoted before it was killed as well.
    primary = next(row["uid"] for row in _rows(cluster, uid) if row["role"] == "master")
    url = f"/v1/shards/{primary}/actions/restart"
    refused = cluster.api.post(url, json={"confirm": f"shard {primary}"})
    assert (refused.status_code, refused.json()["error_code"]) == (400, "data_would_be_lost")
    assert cluster.engines() == []
    ok(cluster.api.post(url, json={"confirm": f"shard {primary}", "discard_data": True}))
    cluster.wait_until(lambda: _is_complete(cluster, uid), "the pair is not complete again", 120)
    assert _read(cluster, uid) == dict.fromkeys((f"key:{number}" for number in range(KEYS)), None)
    database_helpers.delete(cluster, uid)


@pytest.mark.slow
def test_failovers_complete_when_the_console_is_killed(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
    database_helpers.wait_until_settled(cluster, uid)
    _write(cluster, uid)
    rng = random.Random(20)
    for address in cluster.addresses:
        moment = rng.uniform(0.0, 0.6)
        cluster.kill_node(address)
        time.sleep(moment)
        cluster.kill("console")
        cluster.start_console()
        cluster.start_agents()
        cluster.wait_until(lambda: _is_complete(cluster, uid), f"killed after {moment:.2f} s: not complete again", 120)
        assert _read(cluster, uid) == {f"key:{number}": str(number) for number in range(KEYS)}
    cluster.wait_until(lambda: not movement_helpers.open_actions(cluster), "actions do not end")
    cluster.wait_until(lambda: not _open_spans(cluster, uid), "spans stay open")
    database_helpers.delete(cluster, uid)


@pytest.fixture
def postgres() -> Iterator[Any]:
    """A private server that can be restarted."""
    directory = Path(tempfile.mkdtemp(prefix="shardboard-postgres-", dir="/tmp"))
    try:
        # The server is stopped as if it were killed, and committed transactions must survive that.
        server = PrivateServer(directory, server_account(), {"synchronous_commit": "on"})
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.skipif(shutil.which("initdb") is None, reason="needs PostgreSQL on PATH")
@pytest.mark.slow
def test_a_failover_completes_after_a_restart_of_postgresql(postgres: Any, tmp_path: Path) -> None:
    cluster = private_cluster(tmp_path, nodes=3, environment={"SHARDBOARD_DATABASE_URL": postgres.url})
    try:
        cluster.start_console()
        cluster.start_agents()
        uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True))
        database_helpers.wait_until_settled(cluster, uid)
        _write(cluster, uid)
        postgres.stop()
        cluster.kill_node(cluster.addresses[1])
        time.sleep(1.0)
        postgres.run()
        cluster.wait_until(lambda: _has_failover(cluster, uid), "the lost primaries are not replaced", 120)
        cluster.start_agents()
        cluster.wait_until(lambda: _is_complete(cluster, uid), "the database is not complete again", 120)
        assert _read(cluster, uid) == {f"key:{number}": str(number) for number in range(KEYS)}
        database_helpers.delete(cluster, uid)
    finally:
        cluster.stop()
        cluster.kill_shards()


def _has_failover(cluster: LocalCluster, uid: int) -> bool:
    """Return whether a failover is recorded. While the store is unavailable, the console answers with an error."""
    try:
        return bool(_events_of_types(cluster, uid, "shard_failover"))
    except (LocalError, httpx.HTTPError):
        return False


def _rows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return rows


def _is_complete(cluster: LocalCluster, uid: int) -> bool:
    """Return whether all shards are in sync and no action is open. The pids show that the state is from after the kill."""
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    engine_pids = {process.pid for process in cluster.engines()}
    rows = _rows(cluster, uid)
    is_settled = all(row["detailed_status"] == "ok" and row.get("pid") in engine_pids for row in rows)
    return is_settled and bdb["shards_in_sync"] == bdb["shards_total"] and not movement_helpers.open_actions(cluster)


def _is_idle_and_down(cluster: LocalCluster, uid: int) -> bool:
    """Return whether all nodes are back, all shards are down, and no action is open."""
    are_nodes_up = all((node["status"], node["agent_status"]) == ("active", "connected") for node in _nodes(cluster))
    is_database_down = {row["detailed_status"] for row in _rows(cluster, uid)} == {"down"}
    return are_nodes_up and is_database_down and not movement_helpers.open_actions(cluster)


def _nodes(cluster: LocalCluster) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = ok(cluster.api.get("/v1/nodes"))
    return nodes


def _open_spans(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    """Return the spans of the timeline that are still open."""
    return [
        span
        for span in _events_of_types(cluster, uid, "node_failed", "resync", "alarm_slots_uncovered")
        if span["open"]
    ]


def _events_of_types(cluster: LocalCluster, uid: int, *types: str) -> list[dict[str, Any]]:
    """Return the events of these types since the database was created, oldest first."""
    created_time = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["created_time"]
    return [
        event for event in ok(cluster.api.get("/v1/timeline", params={"from": created_time})) if event["type"] in types
    ]


def _client(cluster: LocalCluster, uid: int) -> "valkey.Valkey | valkey.ValkeyCluster":
    rows = [row for row in _rows(cluster, uid) if row["role"] == "master"]
    options = {**database_helpers.admin_options(cluster, rows[0]), "decode_responses": True}
    return valkey.ValkeyCluster(**options) if len(rows) > 1 else valkey.Valkey(**options)


def _write(cluster: LocalCluster, uid: int) -> None:
    """Write all keys and wait until the replicas have them."""
    client = _client(cluster, uid)
    for number in range(KEYS):
        client.set(f"key:{number}", number)
    client.close()
    database_helpers.wait_until_replicated(cluster, uid)


def _read(cluster: LocalCluster, uid: int) -> dict[str, str | None]:
    client = _client(cluster, uid)
    values_by_key = {f"key:{number}": client.get(f"key:{number}") for number in range(KEYS)}
    client.close()
    return values_by_key
