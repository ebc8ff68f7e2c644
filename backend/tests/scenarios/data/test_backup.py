"""Backups and restores with real processes: all types, other numbers of shards, and agents and consoles that are killed."""

import random
import time
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.database_helpers import admin_client, create, request_body, wait_until_settled
from valkey.cluster import ValkeyCluster

from shardboard.local.cluster import LocalCluster, ok

STRINGS = 3_000
Contents = dict[bytes, tuple[Any, int]]
"""Value in a comparable form, and expiry time in milliseconds, by key."""


def client_of(cluster: LocalCluster, uid: int) -> Any:
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    endpoint = bdb["endpoints"][0]
    kind = ValkeyCluster if bdb["sharding"] else valkey.Valkey
    return kind(host=endpoint["addr"][0], port=endpoint["port"], socket_timeout=30)


def fill(client: Any) -> None:
    """Write keys of all types, some of them with expiry times, and a function."""
    expires = int(time.time() * 1000) + 3_600_000
    for number in range(STRINGS):
        client.set(f"string:{number}", f"value {number}" * 5, pxat=expires + number if number % 7 == 0 else None)
    for number in range(50):
        client.rpush(f"list:{number}", *range(number + 1))
        client.sadd(f"set:{number}", *range(number + 1), "text")
        client.zadd(f"zset:{number}", {f"member {each}": each / 3 for each in range(number + 1)})
        client.hset(f"hash:{number}", mapping={f"field {each}": "x" * each for each in range(number + 1)})
        for each in range(number + 1):
            client.xadd(f"stream:{number}", {"number": each}, id=f"{each + 1}-1")
        client.xgroup_create(f"stream:{number}", "group", id="0")
        client.pexpireat(f"hash:{number}", expires + number)
    client.rpush("list:large", *[f"element {number}" for number in range(5_000)])
    client.set("string:large", b"\x00\xff" * 3_000_000)


def contents(cluster: LocalCluster, uid: int) -> Contents:
    """Return everything that the primaries of a database contain."""
    found: Contents = {}
    for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards")):
        if row["role"] != "master":
            continue
        with admin_client(cluster, row) as client:
            for key in client.scan_iter(count=1000):
                found[key] = (value_of(client, key), client.pexpiretime(key))
    return found


def value_of(client: valkey.Valkey, key: bytes) -> Any:
    match client.type(key):
        case b"string":
            return client.get(key)
        case b"list":
            return client.lrange(key, 0, -1)
        case b"set":
            return client.smembers(key)
        case b"zset":
            return client.zrange(key, 0, -1, withscores=True)
        case b"hash":
            return client.hgetall(key)
        case b"stream":
            return client.xrange(key), client.xinfo_groups(key)
        case other:
            raise AssertionError(f"unexpected type {other!r}")


def wait_for(cluster: LocalCluster, path: str, status: str = "succeeded", seconds: float = 60) -> dict[str, Any]:
    """Wait until a backup or restore has ended. Return it."""
    found: dict[str, Any] = {}

    def has_ended() -> bool:
        found.update(ok(cluster.api.get(path)))
        return found["status"] != "running"

    cluster.wait_until(has_ended, f"{path} is still running", seconds)
    assert found["status"] == status, found
    return found


def back_up(cluster: LocalCluster, uid: int) -> int:
    backup_uid: int = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/backup", json={}))["backup_uid"]
    return backup_uid


def restore(cluster: LocalCluster, uid: int, backup_uid: int) -> int:
    reply = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/restore", json={"backup_uid": backup_uid}))
    restore_uid: int = reply["restore_uid"]
    return restore_uid


def flush(cluster: LocalCluster, uid: int) -> None:
    ok(cluster.api.put(f"/v1/bdbs/{uid}/flush"))
    wait_until_settled(cluster, uid)
    assert contents(cluster, uid) == {}


def transfers_on_nodes(cluster: LocalCluster) -> list[Path]:
    return list(cluster.directory.glob("agents/*/transfers/*"))


@pytest.mark.slow
def test_a_backup_is_restored_into_any_number_of_shards(cluster: LocalCluster, location: int, folder: Path) -> None:
    uid = create(cluster, request_body(3, replication=True))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    fill(client_of(cluster, uid))
    database_helpers.wait_until_replicated(cluster, uid)
    before = contents(cluster, uid)
    backup = wait_for(cluster, f"/v1/backups/{back_up(cluster, uid)}")
    assert backup["keys"] == len(before)
    assert {path.name for path in (folder / backup["path"]).iterdir()} == {
        "manifest.json",
        *(f"{file['first_slot']}-{file['last_slot']}.rdb.zst" for file in backup["files"]),
    }
    roles = {int(row["uid"]): row["role"] for row in ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))}
    assert {roles[file["shard_uid"]] for file in backup["files"]} == {"slave"}
    flush(cluster, uid)
    result = wait_for(cluster, f"/v1/restores/{restore(cluster, uid, backup['uid'])}")
    assert (result["restored"], result["expired"], result["mismatched_slots"]) == (len(before), 0, 0)
    assert contents(cluster, uid) == before
    ok(cluster.api.delete(f"/v1/backups/{backup['uid']}?keep_files=true"))
    found = ok(cluster.api.post(f"/v1/backup_locations/{location}/actions/find_backups"))
    assert (len(found["added"]), found["invalid"]) == (1, [])
    backup = ok(cluster.api.get(f"/v1/backups/{found['added'][0]}"))
    for shards in (1, 5):
        other = create(cluster, request_body(shards))
        assert wait_until_settled(cluster, other)["status"] == "active"
        result = wait_for(cluster, f"/v1/restores/{restore(cluster, other, backup['uid'])}")
        assert (result["restored"], result["mismatched_slots"]) == (len(before), 0)
        assert contents(cluster, other) == before
    cluster.wait_until(lambda: not transfers_on_nodes(cluster), "nodes still store transfers")
    ok(cluster.api.delete(f"/v1/backups/{backup['uid']}"))
    cluster.wait_until(
        lambda: cluster.api.get(f"/v1/backups/{backup['uid']}").status_code == 404, "the backup is not deleted"
    )
    assert not [path for path in folder.rglob("*") if path.is_file()]


LARGE = 16
LARGE_BYTES = 4_000_000


@pytest.fixture
def large_database(cluster: LocalCluster, location: int) -> int:
    """A database whose snapshots and restores take long enough to be disturbed."""
    uid = create(cluster, request_body(3, replication=True))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    client = client_of(cluster, uid)
    for number in range(LARGE):
        client.set(f"large:{number}", random.Random(number).randbytes(LARGE_BYTES))
    for number in range(1_000):
        client.set(f"small:{number}", number)
    database_helpers.wait_until_replicated(cluster, uid)
    return uid


def kill_during_a_transfer(cluster: LocalCluster, *names: str) -> None:
    """Kill processes as soon as a node has started a transfer, and start them again."""
    cluster.wait_until(lambda: bool(transfers_on_nodes(cluster)), "no transfer was started")
    for name in names:
        cluster.kill(name)
    for name in names:
        if name == "console":
            cluster.start_console()
    cluster.start_agents()


@pytest.mark.slow
def test_killed_consoles_and_agents_do_not_disturb_backups_and_restores(
    cluster: LocalCluster, large_database: int, folder: Path
) -> None:
    before = contents(cluster, large_database)
    for names in (["console"], [cluster.addresses[0]], ["console", *cluster.addresses]):
        backup_uid = back_up(cluster, large_database)
        kill_during_a_transfer(cluster, *names)
        backup = wait_for(cluster, f"/v1/backups/{backup_uid}")
        assert backup["keys"] == len(before), names
        restore_uid = restore(cluster, large_database, backup_uid)
        kill_during_a_transfer(cluster, *names)
        result = wait_for(cluster, f"/v1/restores/{restore_uid}")
        assert (result["restored"], result["mismatched_slots"]) == (len(before), 0), names
        assert contents(cluster, large_database) == before, names
        cluster.wait_until(lambda: not transfers_on_nodes(cluster), "nodes still store transfers")
        files = {path.name for path in (folder / backup["path"]).iterdir()}
        assert len(files) == 4, files


@pytest.mark.slow
def test_a_lost_shard_does_not_disturb_backups_and_restores(cluster: LocalCluster, large_database: int) -> None:
    before = contents(cluster, large_database)

    def kill_shard(role: str) -> None:
        cluster.wait_until(lambda: bool(transfers_on_nodes(cluster)), "no transfer was started")
        rows = ok(cluster.api.get(f"/v1/bdbs/{large_database}/shards"))
        uid = next(row["uid"] for row in rows if row["role"] == role)
        [process] = [each for each in cluster.engines() if f"/shards/{uid}" in each.cwd()]
        process.kill()

    backup_uid = back_up(cluster, large_database)
    kill_shard("slave")
    assert wait_for(cluster, f"/v1/backups/{backup_uid}")["keys"] == len(before)
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{large_database}"))["shards_in_sync"] == 6, "the replica is not recovered"
    )
    restore_uid = restore(cluster, large_database, backup_uid)
    kill_shard("master")
    result = wait_for(cluster, f"/v1/restores/{restore_uid}")
    assert result["mismatched_slots"] == 0, result
    assert contents(cluster, large_database) == before


WITHOUT_PRIMARY_SECONDS = 12
"""Longer than actions wait for a machine that does not respond."""


@pytest.mark.slow
def test_a_restore_continues_after_a_long_time_without_a_primary(cluster: LocalCluster, large_database: int) -> None:
    before = contents(cluster, large_database)
    backup_uid = back_up(cluster, large_database)
    wait_for(cluster, f"/v1/backups/{backup_uid}")
    client = client_of(cluster, large_database)
    for number in range(1_000):
        client.set(f"later:{number}", number)
    database_helpers.wait_until_replicated(cluster, large_database)
    rows = ok(cluster.api.get(f"/v1/bdbs/{large_database}/shards"))
    lost = next(row for row in rows if row["role"] == "master")
    pair = [row for row in rows if row["assigned_slots"] == lost["assigned_slots"]]
    processes = {
        row["role"]: process
        for row in pair
        for process in cluster.engines()
        if process.cwd().endswith(f"/shards/{row['uid']}")
    }
    processes["slave"].suspend()  # it does not receive the deletion of the keys either
    restore_uid = restore(cluster, large_database, backup_uid)
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/restores/{restore_uid}"))["erased"], "the keys are not deleted", 30
    )
    processes["master"].kill()
    time.sleep(WITHOUT_PRIMARY_SECONDS)  # the condition is the absence of a primary for this long
    assert ok(cluster.api.get(f"/v1/restores/{restore_uid}"))["status"] == "running"
    processes["slave"].resume()
    result = wait_for(cluster, f"/v1/restores/{restore_uid}", seconds=120)
    assert result["mismatched_slots"] == 0, result
    assert contents(cluster, large_database) == before, "the restored keys, and no key from before the restore"
    assert ok(cluster.api.get(f"/v1/bdbs/{large_database}"))["status"] == "active"


@pytest.mark.slow
def test_a_restore_of_a_damaged_file_keeps_the_previous_data(
    cluster: LocalCluster, large_database: int, folder: Path
) -> None:
    backup = wait_for(cluster, f"/v1/backups/{back_up(cluster, large_database)}")
    client_of(cluster, large_database).set("later", "value")
    before = contents(cluster, large_database)
    file = max((folder / backup["path"]).glob("*.rdb.zst"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    result = wait_for(cluster, f"/v1/restores/{restore(cluster, large_database, backup['uid'])}", status="failed")
    assert "SHA-256 checksum differs" in result["detail"]
    assert not result["erased"]
    assert contents(cluster, large_database) == before


@pytest.mark.slow
def test_files_are_inspected_before_an_import(cluster: LocalCluster, large_database: int, folder: Path) -> None:
    backup = wait_for(cluster, f"/v1/backups/{back_up(cluster, large_database)}")
    path = folder / backup["path"]
    names = sorted(each.name for each in path.glob("*.rdb.zst"))
    sources = [{"type": "mount_point", "path": str(path), "filename": name} for name in names]
    uid = create(cluster, request_body(1))
    assert wait_until_settled(cluster, uid)["status"] == "active"

    def inspect() -> dict[str, Any]:
        body = {"dataset_import_sources": sources}
        inspection = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/inspect", json=body))["restore_uid"]
        wait_for(cluster, f"/v1/restores/{inspection}")
        report: dict[str, Any] = ok(cluster.api.get(f"/v1/restores/{inspection}/report"))
        return report | {"uid": inspection}

    report = inspect()
    assert (report["forecast"], report["keys"]) == ("possible", backup["keys"]), report
    assert LARGE * LARGE_BYTES < report["needed_bytes"] < 1.5 * LARGE * LARGE_BYTES
    assert all(file["format"].startswith("Valkey RDB 80 (") for file in report["files"]), report
    body = {"dataset_import_sources": sources, "inspection_uid": report["uid"]}
    imported = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/import", json=body))["restore_uid"]
    wait_for(cluster, f"/v1/restores/{imported}")
    assert contents(cluster, uid) == contents(cluster, large_database)
    first = path / names[0]
    first.write_bytes(first.read_bytes()[:-1])
    assert inspect()["problems"][0]["code"] == "file-corrupted"
    damaged = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/import", json={"dataset_import_sources": sources}))
    result = wait_for(cluster, f"/v1/restores/{damaged['restore_uid']}", status="failed")
    assert not result["erased"]
    assert contents(cluster, uid) == contents(cluster, large_database), "a damaged file costs no keys"
