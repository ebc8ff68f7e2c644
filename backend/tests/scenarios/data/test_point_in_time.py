"""Restores to a point in time with real processes: any number of shards, failovers, and processes that are killed while changes are
recorded.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import valkey
from backend.tests.scenarios.data.test_backup import Contents, client_of, contents, fill, wait_for
from backend.tests.scenarios.database_helpers import create, request_body, wait_until_replicated, wait_until_settled

from shardboard.local.cluster import LocalCluster, ok

SEGMENT_SECONDS = 5
PRECISION_SECONDS = 0.3
"""Longer than the distance of two marks in recorded changes."""


def windows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/restore_windows"))
    return found


@pytest.fixture
def recorded(cluster: LocalCluster, location: int) -> int:
    """A database with three pairs whose changes are recorded, and which can be restored to any time from now on."""
    schedule = {"cron": "0 0 1 1 *", "record_changes": True, "record_segment_seconds": SEGMENT_SECONDS}
    more = {"backup": True, "backup_location_uid": location, "backup_schedule": schedule}
    uid = create(cluster, request_body(3, replication=True, **more))
    assert wait_until_settled(cluster, uid)["status"] == "active"
    cluster.wait_until(lambda: bool(windows(cluster, uid)), "nothing is recorded", 180)
    return uid


def moment_of(cluster: LocalCluster, uid: int) -> tuple[datetime, Contents]:
    """Return a time and what the database contains at it."""
    wait_until_replicated(cluster, uid)
    found = contents(cluster, uid)
    time.sleep(PRECISION_SECONDS)  # a later change has a later mark
    moment = datetime.now(UTC)
    time.sleep(PRECISION_SECONDS)
    return moment, found


def wait_until_recorded(cluster: LocalCluster, uid: int, moment: datetime) -> None:
    def is_recorded() -> bool:
        found = windows(cluster, uid)
        return bool(found) and datetime.fromisoformat(found[-1]["to"]) > moment

    cluster.wait_until(is_recorded, f"changes until {moment} are not recorded", 180)


def restore(cluster: LocalCluster, target: int, source: int, moment: datetime) -> dict[str, Any]:
    body = {"until": moment.isoformat(), "source_bdb_uid": source}
    reply = ok(cluster.api.post(f"/v1/bdbs/{target}/actions/restore", json=body))
    return wait_for(cluster, f"/v1/restores/{reply['restore_uid']}", seconds=240)


def change(client: Any) -> None:
    """Change, delete and add keys of each type."""
    for number in range(0, 3_000, 3):
        client.append(f"string:{number}", "!")
    for number in range(50):
        client.incr("counter")
        client.lpush(f"list:{number}", "first")
        client.spop(f"set:{number}")
        client.zincrby(f"zset:{number}", 2.5, "member 0")
        client.hdel(f"hash:{number}", "field 0")
        client.xadd(f"stream:{number}", {"added": number})
        client.delete(f"string:{number}")
        client.persist(f"hash:{number}")
        client.eval("return redis.call('set', KEYS[1], ARGV[1])", 1, f"script:{number}", "x" * number)
    client.set("expires later", 1, ex=3_600)


@pytest.mark.slow
def test_any_moment_is_restored_into_any_number_of_shards(cluster: LocalCluster, recorded: int, folder: Path) -> None:
    client = client_of(cluster, recorded)
    fill(client)
    filled = moment_of(cluster, recorded)
    change(client)
    changed = moment_of(cluster, recorded)
    assert filled[1] != changed[1]
    ok(cluster.api.put(f"/v1/bdbs/{recorded}/flush"))
    wait_until_settled(cluster, recorded)
    emptied = moment_of(cluster, recorded)
    assert emptied[1] == {}
    wait_until_recorded(cluster, recorded, emptied[0])
    result = restore(cluster, recorded, recorded, changed[0])
    assert result["replayed"] > 0
    assert contents(cluster, recorded) == changed[1], "the second before the deletion"
    for shards, (moment, expected) in ((5, filled), (1, changed), (2, emptied)):
        target = create(cluster, request_body(shards))
        assert wait_until_settled(cluster, target)["status"] == "active"
        restore(cluster, target, recorded, moment)
        assert contents(cluster, target) == expected, shards
    restored = moment_of(cluster, recorded)
    wait_until_recorded(cluster, recorded, restored[0])
    restore(cluster, recorded, recorded, filled[0])
    assert contents(cluster, recorded) == filled[1]
    restore(cluster, recorded, recorded, restored[0])
    assert contents(cluster, recorded) == changed[1], "a restore is recorded, too"
    early = cluster.api.post(
        f"/v1/bdbs/{recorded}/actions/restore", json={"until": (filled[0] - timedelta(days=1)).isoformat()}
    )
    assert (early.status_code, early.json()["error_code"]) == (406, "no_restore_point")
    files = list(folder.rglob("*.changes.zst"))
    assert files
    for path in files:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    reply = ok(cluster.api.post(f"/v1/bdbs/{recorded}/actions/restore", json={"until": filled[0].isoformat()}))
    failed = wait_for(cluster, f"/v1/restores/{reply['restore_uid']}", status="failed", seconds=240)
    assert ".changes.zst: the changes" in failed["detail"]
    assert not failed["erased"]
    assert contents(cluster, recorded) == changed[1], "a damaged file costs no keys"


def kill_shard(cluster: LocalCluster, uid: int, role: str) -> None:
    """Kill a shard, and wait until its pair has two copies in sync again."""
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    shard = next(row["uid"] for row in rows if row["role"] == role)
    [process] = [each for each in cluster.engines() if each.cwd().endswith(f"/shards/{shard}")]
    process.kill()
    process.wait(10)
    cluster.wait_until(
        lambda: process_is_replaced(cluster, uid, process.pid), f"shard {shard} is not started again", 120
    )


def process_is_replaced(cluster: LocalCluster, uid: int, pid: int) -> bool:
    bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
    return (
        bdb["shards_in_sync"] == 6 and bdb["status"] == "active" and all(each.pid != pid for each in cluster.engines())
    )


def restart_agents(cluster: LocalCluster) -> None:
    for address in cluster.addresses:
        cluster.kill(address)
    cluster.start_agents()


def restart_console(cluster: LocalCluster) -> None:
    cluster.kill("console")
    cluster.start_console()


def fail_over(cluster: LocalCluster, uid: int) -> None:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    shard = next(row["uid"] for row in rows if row["role"] == "master")
    ok(cluster.api.post(f"/v1/shards/{shard}/actions/failover"))
    wait_until_settled(cluster, uid)
    cluster.wait_until(
        lambda: ok(cluster.api.get(f"/v1/bdbs/{uid}"))["shards_in_sync"] == 6, "the old primary is not in sync", 120
    )


def write(cluster: LocalCluster, uid: int, number: int) -> None:
    """Write keys of many slots, as soon as the database serves all of them."""

    def is_written() -> bool:
        try:
            client = client_of(cluster, uid)
            for key in range(300):
                client.set(f"{number}:{key}", key)
                client.incr(f"counter:{key}")
        except valkey.exceptions.ValkeyError:
            return False
        return True

    cluster.wait_until(is_written, "the database does not serve all slots")


@pytest.mark.slow
def test_failovers_and_killed_processes_leave_no_gap(cluster: LocalCluster, recorded: int) -> None:
    disturbances: list[Callable[[], None]] = [
        lambda: restart_console(cluster),
        lambda: restart_agents(cluster),
        lambda: kill_shard(cluster, recorded, "master"),
        lambda: kill_shard(cluster, recorded, "slave"),
        lambda: fail_over(cluster, recorded),
    ]
    moments = []
    for number, disturb in enumerate(disturbances):
        write(cluster, recorded, number)
        moments.append(moment_of(cluster, recorded))
        disturb()
        write(cluster, recorded, number)
        moments.append(moment_of(cluster, recorded))
    wait_until_recorded(cluster, recorded, moments[-1][0])
    assert len(windows(cluster, recorded)) == 1, "no other backup was necessary"
    target = create(cluster, request_body(2))
    assert wait_until_settled(cluster, target)["status"] == "active"
    # Little is written between the end of one disturbance and the start of the next one.
    for number, (moment, expected) in enumerate([moments[0], *moments[1::2]]):
        restore(cluster, target, recorded, moment)
        assert contents(cluster, target) == expected, number
