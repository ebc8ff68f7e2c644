"""Recorded changes: CPU time of the recorders at a given rate of writes, and rate of the replay in a restore to a point in time."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from perf.clusters.creation import create
from perf.kit.rate_load import rate_load, write
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from perf.kit.transfer_costs import TransferTime, running_seconds
from shardboard.local.cluster import LocalCluster, ok

SHARDS, RESTORED_SHARDS = 3, 5
RATE = scaled(10_000, 2_000)
"""Writes per second."""
RATE_SECONDS = scaled(20, 3)
REPLAYED = counted("REPLAYED_COMMANDS", 3_000_000, 50_000)
CLIENTS = 10
LOAD = (f"--clients={CLIENTS}", "--threads=1", "--data-size=200", "--key-maximum=100000")
SEGMENT_SECONDS = 5
CRON = "0 0 1 1 *"
"""A time that is not reached: the only backup is made because changes are recorded."""


def recording(report: Report, cluster: LocalCluster, location: int, root: Path) -> None:
    """Record the changes of a database without replicas, and restore it to a point in time into more shards."""
    schedule = {"cron": CRON, "record_changes": True, "record_segment_seconds": SEGMENT_SECONDS}
    uid, _ = create(
        cluster,
        SHARDS,
        replication=False,
        oss_cluster=False,
        proxy_policy="single",
        name="recorded",
        backup=True,
        backup_location_uid=location,
        backup_schedule=schedule,
    )
    cluster.wait_until(lambda: bool(_windows(cluster, uid)), "changes are not recorded", 120)
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]
    _record(report, cluster, endpoint, root)
    write(endpoint, LOAD, REPLAYED // CLIENTS)
    _wait_until_recorded(cluster, uid)
    moment = _windows(cluster, uid)[-1]["to"]
    # The recorders would count as transfers that have not ended.
    ok(cluster.api.put(f"/v1/bdbs/{uid}", json={"backup_schedule": {**schedule, "record_changes": False}}))
    _replay(report, cluster, uid, moment)
    ok(cluster.api.delete(f"/v1/bdbs/{uid}"))


def _record(report: Report, cluster: LocalCluster, endpoint: dict[str, Any], root: Path) -> None:
    with rate_load(endpoint, (*LOAD, "--ratio=1:0"), RATE, root / "recorded.txt"):
        start, before = time.monotonic(), running_seconds(cluster)
        cluster.wait_until(lambda: time.monotonic() - start > RATE_SECONDS, "")
        used, seconds = running_seconds(cluster) - before, time.monotonic() - start
    what = f"recording {RATE} writes of 200 B per second of {SHARDS} shards"
    report.fact(f"{what}, CPU time of the recorders", [used / seconds], "cores")
    report.fact("the same, for each write", [used / seconds / RATE * 1e6], "us")


def _replay(report: Report, cluster: LocalCluster, uid: int, moment: str) -> None:
    target, _ = create(cluster, RESTORED_SHARDS, replication=False, name="replayed")
    time_used, start = TransferTime(cluster), time.monotonic()
    body = {"until": moment, "source_bdb_uid": uid}
    restore_uid = ok(cluster.api.post(f"/v1/bdbs/{target}/actions/restore", json=body))["restore_uid"]
    path = f"/v1/restores/{restore_uid}"
    cluster.wait_until(lambda: ok(cluster.api.get(path))["status"] != "running", "the restore did not end", 600)
    seconds, restored = time.monotonic() - start, ok(cluster.api.get(path))
    if restored["status"] != "succeeded" or restored["replayed"] < REPLAYED:
        raise RuntimeError(f"the restore failed: {restored}")
    what = f"replay of {restored['replayed']} commands of {SHARDS} shards into {RESTORED_SHARDS}"
    report.fact(f"{what}, from the request to the end", [restored["replayed"] / seconds], "commands/s")
    used = time_used.used()[0]
    report.fact("the same, for each second of CPU time of the transfer", [restored["replayed"] / used], "commands/s")
    ok(cluster.api.delete(f"/v1/bdbs/{target}"))


def _windows(cluster: LocalCluster, uid: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(cluster.api.get(f"/v1/bdbs/{uid}/restore_windows"))
    return found


def _wait_until_recorded(cluster: LocalCluster, uid: int) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=1)  # windows end with complete seconds

    def is_recorded() -> bool:
        return datetime.fromisoformat(_windows(cluster, uid)[-1]["to"]) > moment

    cluster.wait_until(is_recorded, "the changes are not stored", 120)
