"""What an engine tells and can be told, end to end: slots that take most, and threads of shards."""

import json
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import databases, movement
from backend.tests.shards import DISTRIBUTION, OLDER

from shardboard.agent.engine import counts_by_slot, engine_version
from shardboard.local import LocalCluster, ok

pytestmark = pytest.mark.slow
OWN = engine_version("valkey-server")


@pytest.mark.skipif(not counts_by_slot(OWN), reason=f"Valkey {OWN} counts keys only")
def test_slots_have_rates_and_running_shards_take_threads(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(2))
    assert databases.settled(cluster, uid)["status"] == "active"
    with movement.Writer(cluster, uid) as writer:
        cluster.until(lambda: "cpu" in _hottest(cluster, uid), "no slot has a rate")
        before = _pids(cluster, uid)
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"io_threads": 2}))
        cluster.until(lambda: _status(cluster, uid) == "active", "the change does not end")
    assert (writer.lost(), _pids(cluster, uid)) == ([], before)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["io_threads"] == 2
    assert _conf(cluster, "io-threads 2") == 2


def test_persistence_changes_under_writes_and_then_the_password(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    with movement.Writer(cluster, uid) as writer:
        before = _pids(cluster, uid)
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"data_persistence": "aof"}))
        cluster.until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
    assert (writer.lost(), _pids(cluster, uid)) == ([], before)
    assert _conf(cluster, "appendonly yes") == 4
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"authentication_redis_pass": "correct-horse"}))
    cluster.until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    [endpoint] = bdb["endpoints"]
    for address in endpoint["addr"]:
        cluster.until(lambda address=address: _refused(address, endpoint["port"]), "nobody wants the password")
        with valkey.ValkeyCluster(address, endpoint["port"], password="correct-horse") as client:
            assert client.ping()
    assert bdb["status_detail"] == ""
    _rotate(cluster, uid, endpoint, "correct-horse", "battery-staple")
    databases.delete(cluster, uid)


def _rotate(cluster: LocalCluster, uid: int, endpoint: dict[str, Any], old: str, new: str) -> None:
    """A client of each password, and then of the new one only; who is logged in stays so."""
    path = f"/v1/bdbs/{uid}/passwords"

    def order(method: str, password: str) -> None:
        ok(cluster.api.request(method, path, json={"password": password}))
        cluster.until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)

    def client(password: str) -> valkey.ValkeyCluster:
        return valkey.ValkeyCluster(endpoint["addr"][0], endpoint["port"], password=password)

    def lets_in(password: str) -> bool:
        with valkey.Valkey(endpoint["addr"][0], endpoint["port"], password=password) as asking:
            try:
                return bool(asking.ping())
            except valkey.AuthenticationError:
                return False

    with client(old) as earlier:
        assert not lets_in(new)
        order("POST", new)
        assert lets_in(old)
        assert lets_in(new)
        with client(new) as later:
            assert later.set("rotated", "1")
            assert earlier.get("rotated") == b"1"
            assert _conf_passwords(cluster) == {2}
            order("DELETE", old)
            assert later.get("rotated") == earlier.get("rotated") == b"1"
    assert (lets_in(old), lets_in(new)) == (False, True)
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["authentication_redis_pass"] == new
    assert _conf_passwords(cluster) == {1}


def _conf_passwords(cluster: LocalCluster) -> set[int]:
    """How many passwords the default user has in the files of shards."""
    files = cluster.directory.glob("agents/*/shards/*/valkey.conf")
    lines = [line for path in files for line in path.read_text().splitlines() if line.startswith("user default ")]
    return {sum(word.startswith("#") for word in line.split()) for line in lines}


def _refused(address: str, port: int) -> bool:
    with valkey.Valkey(address, port) as client:
        try:
            client.get("key")
        except valkey.AuthenticationError:
            return True
        return False


def test_the_internal_password_changes_under_writes(cluster: LocalCluster) -> None:
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    before, pids = _internal(cluster), _pids(cluster, uid)
    with movement.Writer(cluster, uid) as writer:
        action = ok(cluster.api.put(f"/v1/bdbs/{uid}/reset_admin_pass"))["action_uid"]
        assert movement.ended(cluster, action)["status"] == "completed"
        after = _internal(cluster)
        assert (len(before), len(after), before & after) == (1, 1, set())
        # It is the one that counts, from now on and after every start.
        [old], [new] = before, after
        rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
        assert [(_lets_in(cluster, row, old), _lets_in(cluster, row, new)) for row in rows] == [(False, True)] * 4
        assert _pids(cluster, uid) == pids
        replica = next(row for row in rows if row["role"] == "slave")
        [process] = [each for each in cluster.engines(replica["address"]) if each.pid == replica["pid"]]
        process.kill()
        cluster.until(lambda: replica["pid"] not in _pids(cluster, uid), "the replica is not revived")
        cluster.until(lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"] == 4, "it does not copy")
        cluster.kill(replica["address"])
        cluster.until(lambda: replica["address"] not in cluster.connected(), "the agent's end is not noticed")
        cluster.start_agents()
        # Slots come over from other shards by the same password.
        action = ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"shards_count": 3}))["action_uid"]
        assert movement.ended(cluster, action)["status"] == "completed"
    assert writer.lost() == []


def _internal(cluster: LocalCluster) -> set[str]:
    """The internal passwords by which agents command shards."""
    files = cluster.directory.glob("agents/*/shards/*/shard.json")
    return {json.loads(path.read_text())["bdb"]["admin_password"] for path in files}


def _lets_in(cluster: LocalCluster, row: dict[str, Any], password: str) -> bool:
    with valkey.Valkey(**databases.at(cluster, row), username="shardboard", password=password) as client:
        try:
            return bool(client.ping())
        except valkey.AuthenticationError:
            return False


@pytest.mark.skipif(not OLDER, reason=f"{DISTRIBUTION} is not Valkey 8")
def test_shards_of_valkey_8_are_replaced_for_threads_under_writes(cluster: LocalCluster) -> None:
    databases.use_engine(cluster, DISTRIBUTION)
    installed = engine_version(DISTRIBUTION)
    cluster.until(
        lambda: {row["engine_version"] for row in ok(cluster.api.get("/v1/nodes"))} == {installed},
        "the agents do not tell of the engine",
    )
    uid = databases.create(cluster, databases.body(2, replication=True))
    assert databases.settled(cluster, uid)["status"] == "active"
    cluster.until(lambda: _versions(cluster, uid) == {installed}, "the shards' version is not seen")
    before = _pids(cluster, uid)
    with movement.Writer(cluster, uid) as writer:
        ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"io_threads": 2}))
        cluster.until(lambda: _status(cluster, uid) == "active", "the change does not end", 120)
        assert "CPU time and bytes need Valkey 9" in ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot"))["detail"]
        by_keys = ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot", params={"by": "key_count"}))
    assert (by_keys["detail"], by_keys["slots"][0]["key_count"] > 0) == ("", True)
    assert (writer.lost(), _pids(cluster, uid) & before) == ([], set())
    assert ok(cluster.api.get(f"/v1/bdbs/{uid}"))["status_detail"] == ""
    movement.until_only_known(cluster, uid)
    assert _conf(cluster, "io-threads 2") == 4


def _hottest(cluster: LocalCluster, uid: int) -> dict[str, Any]:
    shown = ok(cluster.api.get(f"/v1/bdbs/{uid}/slots/hot"))
    assert shown["detail"] == ""
    return next(iter(shown["slots"]), {})


def _status(cluster: LocalCluster, uid: int) -> str:
    return str(ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status"}))["status"])


def _versions(cluster: LocalCluster, uid: int) -> set[str]:
    return {row.get("engine_version", "") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}


def _pids(cluster: LocalCluster, uid: int) -> set[int]:
    """Those of all shards, once all were heard of."""
    found: set[int | None] = {None}

    def are_known() -> bool:
        found.clear()
        found.update(row.get("pid") for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")))
        return None not in found

    cluster.until(are_known, "a shard has no process")
    return {pid for pid in found if pid is not None}


def _conf(cluster: LocalCluster, line: str) -> int:
    """How many shards have this line in their file."""
    files = cluster.directory.glob("agents/*/shards/*/valkey.conf")
    return sum(line in path.read_text().splitlines() for path in files)
