"""Settings and statistics of engines, end to end: hottest slots, threads, persistence and passwords."""

import json
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers, movement_helpers
from backend.tests.support.real_shards import DISTRIBUTION_SERVER, HAS_VALKEY_8

from shardboard.agent.databases.engine import engine_version, supports_slot_stats
from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow
BUILT_VERSION = engine_version("valkey-server")


@pytest.mark.skipif(not supports_slot_stats(BUILT_VERSION), reason=f"Valkey {BUILT_VERSION} counts keys only")
def test_hot_slots_have_rates_and_threads_change_without_restart(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    with movement_helpers.Writer(cluster, uid) as writer:
        cluster.wait_until(lambda: "cpu" in _hottest_slot(cluster, uid), "no slot has a rate")
        before = _pids(cluster, uid)
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"io_threads": 2}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the change does not end")
    assert (writer.lost(), _pids(cluster, uid)) == ([], before)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["io_threads"] == 2
    assert _shards_with_line(cluster, "io-threads 2") == 2


def test_persistence_and_passwords_change_under_writes(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    with movement_helpers.Writer(cluster, uid) as writer:
        before = _pids(cluster, uid)
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"data_persistence": "aof"}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
    assert (writer.lost(), _pids(cluster, uid)) == ([], before)
    assert _shards_with_line(cluster, "appendonly yes") == 4
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"authentication_redis_pass": "correct-horse"}))
    cluster.wait_until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    [endpoint] = bdb["endpoints"]
    for address in endpoint["addr"]:
        cluster.wait_until(
            lambda address=address: _requires_password(address, endpoint["port"]), "the endpoint requires no password"
        )
        with valkey.ValkeyCluster(address, endpoint["port"], password="correct-horse") as client:
            assert client.ping()
    assert bdb["status_detail"] == ""
    _check_rotation(cluster, uid, endpoint, "correct-horse", "battery-staple")
    database_helpers.delete(cluster, uid)


def _check_rotation(cluster: LocalCluster, uid: int, endpoint: dict[str, Any], old: str, new: str) -> None:
    """Check that clients with both passwords work, then only with the new one, and that existing connections keep working."""
    path = f"/v1/bdbs/{uid}/passwords"

    def change_passwords(method: str, password: str) -> None:
        ok(cluster.api.request(method, path, json={"password": password}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)

    def client(password: str) -> valkey.ValkeyCluster:
        return valkey.ValkeyCluster(endpoint["addr"][0], endpoint["port"], password=password)

    def accepts(password: str) -> bool:
        with valkey.Valkey(endpoint["addr"][0], endpoint["port"], password=password) as connection:
            try:
                return bool(connection.ping())
            except valkey.AuthenticationError:
                return False

    with client(old) as old_client:
        assert not accepts(new)
        change_passwords("POST", new)
        assert accepts(old)
        assert accepts(new)
        with client(new) as new_client:
            assert new_client.set("rotated", "1")
            assert old_client.get("rotated") == b"1"
            assert _password_counts(cluster) == {2}
            change_passwords("DELETE", old)
            assert new_client.get("rotated") == old_client.get("rotated") == b"1"
    assert (accepts(old), accepts(new)) == (False, True)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["authentication_redis_pass"] == new
    assert _password_counts(cluster) == {1}


def _password_counts(cluster: LocalCluster) -> set[int]:
    """Return the numbers of passwords that the default user has in the configuration files of the shards."""
    files = cluster.directory.glob("agents/*/shards/*/valkey.conf")
    lines = [line for path in files for line in path.read_text().splitlines() if line.startswith("user default ")]
    return {sum(word.startswith("#") for word in line.split()) for line in lines}


def _requires_password(address: str, port: int) -> bool:
    with valkey.Valkey(address, port) as client:
        try:
            client.ping()
        except valkey.AuthenticationError:
            return True
        return False


def test_the_internal_password_changes_under_writes(cluster: LocalCluster) -> None:
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    before, pids = _internal_passwords(cluster), _pids(cluster, uid)
    with movement_helpers.Writer(cluster, uid) as writer:
        action = ok(cluster.api.put(f"/v1/bdbs/{uid}/reset_admin_pass"))["action_uid"]
        assert movement_helpers.wait_for_end(cluster, action)["status"] == "completed"
        after = _internal_passwords(cluster)
        assert (len(before), len(after), before & after) == (1, 1, set())
        # Only the new password is accepted, also after a restart.
        [old], [new] = before, after
        rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        assert [(_accepts(cluster, row, old), _accepts(cluster, row, new)) for row in rows] == [(False, True)] * 4
        assert _pids(cluster, uid) == pids
        replica = next(row for row in rows if row["role"] == "slave")
        [process] = [each for each in cluster.engines(replica["address"]) if each.pid == replica["pid"]]
        process.kill()
        cluster.wait_until(lambda: replica["pid"] not in _pids(cluster, uid), "the replica is not restarted")
        cluster.wait_until(
            lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"] == 4, "the replica is not in sync"
        )
        cluster.kill(replica["address"])
        cluster.wait_until(
            lambda: replica["address"] not in cluster.connected(), "the killed agent still counts as connected"
        )
        cluster.start_agents()
        # Slots are moved from other shards with the same password.
        action = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": 3}))["action_uid"]
        assert movement_helpers.wait_for_end(cluster, action)["status"] == "completed"
    assert writer.lost() == []


def _internal_passwords(cluster: LocalCluster) -> set[str]:
    """Return the internal passwords that agents use for commands to shards."""
    files = cluster.directory.glob("agents/*/shards/*/shard.json")
    return {json.loads(path.read_text())["bdb"]["admin_password"] for path in files}


def _accepts(cluster: LocalCluster, row: dict[str, Any], password: str) -> bool:
    with valkey.Valkey(
        **database_helpers.connection_options(cluster, row), username="shardboard", password=password
    ) as client:
        try:
            return bool(client.ping())
        except valkey.AuthenticationError:
            return False


@pytest.mark.skipif(not HAS_VALKEY_8, reason=f"{DISTRIBUTION_SERVER} is not Valkey 8")
def test_shards_of_valkey_8_are_replaced_to_change_threads(cluster: LocalCluster) -> None:
    database_helpers.use_engine(cluster, DISTRIBUTION_SERVER)
    version = engine_version(DISTRIBUTION_SERVER)
    cluster.wait_until(
        lambda: {row["engine_version"] for row in ok(cluster.api.get("/v1/nodes"))} == {version},
        "the agents do not report the engine version",
    )
    uid = database_helpers.create(cluster, database_helpers.request_body(2, replication=True))
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    cluster.wait_until(lambda: _versions(cluster, uid) == {version}, "the version of the shards is not reported")
    before = _pids(cluster, uid)
    with movement_helpers.Writer(cluster, uid) as writer:
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"io_threads": 2}))
        cluster.wait_until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
        assert "CPU time and bytes need Valkey 9" in ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot"))["detail"]
        by_keys = ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot", params={"by": "key_count"}))
    assert (by_keys["detail"], by_keys["slots"][0]["key_count"] > 0) == ("", True)
    assert (writer.lost(), _pids(cluster, uid) & before) == ([], set())
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status_detail"] == ""
    movement_helpers.wait_until_shards_agree(cluster, uid)
    assert _shards_with_line(cluster, "io-threads 2") == 4


def _hottest_slot(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    hot_slots = ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot"))
    assert hot_slots["detail"] == ""
    return next(iter(hot_slots["slots"]), {})


def _status(cluster: LocalCluster, uid: int) -> str:
    return str(ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"])


def _versions(cluster: LocalCluster, uid: int) -> set[str]:
    return {row.get("engine_version", "") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}


def _pids(cluster: LocalCluster, uid: int) -> set[int]:
    """Wait until the pids of all shards are known. Return them."""
    pids: set[int | None] = {None}

    def have_pids() -> bool:
        pids.clear()
        pids.update(row.get("pid") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")))
        return None not in pids

    cluster.wait_until(have_pids, "a shard has no pid")
    return {pid for pid in pids if pid is not None}


def _shards_with_line(cluster: LocalCluster, line: str) -> int:
    """Return the number of shards with this line in their configuration file."""
    files = cluster.directory.glob("agents/*/shards/*/valkey.conf")
    return sum(line in path.read_text().splitlines() for path in files)
