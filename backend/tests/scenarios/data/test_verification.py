"""Scheduled backups of a real database, their verification by a test restore, and their deletion by retention rules."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import valkey
from backend.tests.scenarios import database_helpers

from shardboard.local.cluster import LocalCluster, ok, private_cluster

KEYS = 5_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Cluster whose agents may write backups to the folder `backups`."""
    private = private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3)
    folder = private.directory / "backups"
    folder.mkdir(parents=True)
    private.environment["SHARDBOARD_BACKUP_ROOTS"] = str(folder)
    with database_helpers.running(private) as running_cluster:
        yield running_cluster


def fill(bdb: dict[str, Any]) -> None:
    endpoint = bdb["endpoints"][0]
    with valkey.ValkeyCluster(host=endpoint["addr"][0], port=endpoint["port"]) as client:
        for number in range(0, KEYS, 5):
            client.set(f"text:{number}", "x" * 100)
            client.set(f"brief:{number}", "y", ex=3600)
            client.hset(f"hash:{number}", mapping={"a": number, "b": "z"})
            client.zadd(f"sorted:{number}", {"m": 1.5, "n": number})
            client.rpush(f"list:{number}", *range(10))


def backups(cluster: LocalCluster) -> list[dict[str, Any]]:
    """Return the backups, oldest first."""
    rows: list[dict[str, Any]] = ok(cluster.api.get("/v1/backups"))
    return rows[::-1]


def due_in(seconds: int) -> dict[str, int]:
    """Return an interval of an hour that starts the next backup after this number of seconds."""
    return {"backup_interval": 3600, "backup_interval_offset": (int(time.time()) + seconds) % 3600}


@pytest.mark.slow
def test_a_scheduled_backup_is_verified_although_the_console_is_killed(cluster: LocalCluster) -> None:
    folder = cluster.directory / "backups"
    location = {"name": "folder", "location": {"type": "mount_point", "path": str(folder)}}
    location_uid = ok(cluster.api.post("/v1/backup_locations", json=location))["uid"]
    uid = database_helpers.create(cluster, database_helpers.request_body(3, replication=True, name="shop"))
    fill(database_helpers.wait_until_settled(cluster, uid))
    settings = {
        "backup": True,
        "backup_location_uid": location_uid,
        "backup_schedule": {"verify": True},
        "backup_retention": {"count": 1, "include_manual": True},
        **due_in(4),
    }
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json=settings))

    def names() -> set[str]:
        return {row["name"] for row in ok(cluster.api.get("/v1/bdbs"))}

    cluster.wait_until(lambda: len(names()) == 2, "the backup is not verified")
    [scheduled] = backups(cluster)
    assert (scheduled["trigger"], scheduled["status"], scheduled["keys"]) == ("schedule", "succeeded", KEYS)
    assert names() == {"shop", f"verification-of-backup-{scheduled['uid']}"}
    cluster.kill("console")
    cluster.start_console()
    cluster.wait_until(lambda: names() == {"shop"}, "the temporary database is not deleted")
    [scheduled] = backups(cluster)
    verified = scheduled["verified"]
    assert (verified["ok"], verified["keys"]) == (True, KEYS), verified
    assert verified["detail"] == f"{KEYS:,} keys matched the manifest."
    assert [alarm for alarm in ok(cluster.api.get("/v1/cluster/health"))["alarms"] if "backup" in alarm["type"]] == []

    ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/backup"))
    cluster.wait_until(
        lambda: (
            [row["uid"] for row in backups(cluster)] == [scheduled["uid"] + 1]
            and backups(cluster)[0]["status"] == "succeeded"
        ),
        "the older backup is not deleted",
    )
    assert len(list(folder.glob("**/manifest.json"))) == 1
    assert len(list(folder.glob("**/*.rdb.zst"))) == 3


@pytest.mark.slow
def test_the_verification_of_a_damaged_backup_fails_and_raises_an_alarm(cluster: LocalCluster) -> None:
    folder = cluster.directory / "backups"
    uid = database_helpers.create(cluster, database_helpers.request_body(3, name="cart"))
    fill(database_helpers.wait_until_settled(cluster, uid))
    location = {"type": "mount_point", "path": str(folder)}
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"backup_location": location}))
    database_helpers.wait_until_settled(cluster, uid)
    backup_uid = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/backup"))["backup_uid"]

    def backup() -> dict[str, Any]:
        found: dict[str, Any] = ok(cluster.api.get(f"/v1/backups/{backup_uid}"))
        return found

    cluster.wait_until(lambda: backup()["status"] != "running", "the backup is still running")
    assert backup()["status"] == "succeeded", backup()
    file = next((folder / backup()["path"]).glob("*.rdb.zst"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    ok(cluster.api.post(f"/v1/backups/{backup_uid}/actions/verify"))
    cluster.wait_until(lambda: backup()["verified"] is not None, "the backup is not verified")
    assert not backup()["verified"]["ok"]
    assert file.name in backup()["verified"]["detail"]

    def alarms() -> set[str]:
        return {alarm["type"] for alarm in ok(cluster.api.get("/v1/cluster/health"))["alarms"]}

    cluster.wait_until(lambda: "alarm_backup_verification" in alarms(), "no alarm was raised")
    cluster.wait_until(lambda: len(ok(cluster.api.get("/v1/bdbs"))) == 1, "the temporary database is not deleted")
