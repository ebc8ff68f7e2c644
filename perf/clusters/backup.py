"""Backups of a database with values of all types: rate, effect on clients, memory, restore, and verification; compared with
`valkey-cli --rdb`.
"""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from perf.clusters.creation import create
from perf.clusters.recording import recording
from perf.clusters.snapshots_by_cli import cli_snapshots
from perf.data_path.endpoint import ENGINE
from perf.kit.client_processes import without_autogroup
from perf.kit.mixed_data import MB, MixedData, Owner, fill, large_values
from perf.kit.object_store import BUCKET, object_store
from perf.kit.rate_load import Interval, highest_rate, rate_load, write_all_keys
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from perf.kit.transfer_costs import PeakMemory, TransferTime
from shardboard.domain.placement import slots
from shardboard.local.cluster import LocalCluster, ok, private_cluster

BUILD = ["cargo", "build", "--quiet", "--release", "--locked", "--bin", "shardboard-load", "--bin", "shardboard-mover"]
SIZE = counted("BACKUP_MB", 1_000, 20) * MB
SHARDS, RESTORED_SHARDS = 3, 5
ROUNDS = scaled(3, 1)
LARGEST_VALUE = scaled(64, 8) * MB
LOAD = ("--clients=10", "--threads=1", "--ratio=1:1", "--data-size=200", "--key-maximum=100000")
SUSTAINED_P99_MS = 10
"""The highest rate is the one at which P99 stays below this."""
STEP_SECONDS = scaled(3, 1)
CALM_SECONDS = scaled(10, 2)
LOADED_ROUNDS = scaled(4, 1)
POLL_SECONDS = 0.05


def backup(report: Report, root: Path) -> None:
    """Run all measurements on one node, with a database without replicas: each snapshot is taken from a primary."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    with without_autogroup() as sharing, object_store() as endpoint, _cluster(root) as cluster:
        folder, bucket = _location(cluster, _folder(root)), _location(cluster, _bucket(endpoint))
        uid, _ = create(cluster, SHARDS, replication=False, oss_cluster=False, proxy_policy="single")
        fill(_owners(cluster, uid), MixedData().commands(SIZE))
        _set_pace(cluster, "fast")
        _to_folder(report, cluster, uid, folder, root, sharing)
        _to_bucket(report, cluster, uid, bucket, root, endpoint)
        _set_pace(cluster, "gentle")
        _gently(report, cluster, uid, folder)
        _restore(report, cluster, uid, folder)
        _under_load(report, cluster, uid, folder, root)
        _memory(report, cluster, uid, folder)
        recording(report, cluster, folder, root)


@contextmanager
def _cluster(root: Path) -> Iterator[LocalCluster]:
    environment = {"SHARDBOARD_BACKUP_ROOTS": str(_folder(root).parent)}
    cluster = private_cluster(root / "cluster", nodes=1, environment=environment)
    try:
        cluster.start_console()
        cluster.start_agents()
        yield cluster
    finally:
        cluster.stop()
        cluster.kill_shards()


def _folder(root: Path) -> Path:
    folder = root / "locations" / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _bucket(endpoint: str) -> dict[str, Any]:
    keys = {"access_key_id": "backup", "secret_access_key": "backup"}
    return {"type": "s3", "bucket_name": BUCKET, "endpoint": endpoint, "path_style": True, **keys}


def _location(cluster: LocalCluster, location: Path | dict[str, Any]) -> int:
    if isinstance(location, Path):
        location = {"type": "mount_point", "path": str(location)}
    body = {"name": location["type"], "location": location}
    uid: int = ok(cluster.api.post("/v1/backup_locations", json=body))["uid"]
    return uid


def _owners(cluster: LocalCluster, uid: int) -> list[Owner]:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return [((row["address"], row["port"]), slots.parse(row["assigned_slots"])) for row in rows]


def _to_folder(report: Report, cluster: LocalCluster, uid: int, folder: int, root: Path, sharing: str) -> None:
    wall, processor, forks, cli_wall, cli_processor = [], [], [], [], []
    for _ in range(ROUNDS):
        time_used = TransferTime(cluster)
        seconds, row = _back_up(cluster, uid, folder)
        transfers, engines = time_used.used()
        raw = row["raw_bytes"] / MB
        wall.append(raw / seconds)
        processor.append(raw / transfers)
        forks.append(raw / engines)
        by_cli = cli_snapshots(cluster, root)
        cli_wall.append(by_cli.bytes / MB / by_cli.seconds)
        cli_processor.append(by_cli.bytes / MB / by_cli.processor_seconds)
    size = f"{raw:.0f} MB in {row['keys']} keys on {SHARDS} shards, {row['bytes'] / MB:.0f} MB compressed"
    report.minimum("backup to a folder, for each second of CPU time of the transfer", median(processor), 300, "MB/s")
    report.fact(f"{size}{sharing}, from the request to the end", wall, "MB/s")
    report.fact("the same, for each second of CPU time of the engine", forks, "MB/s")
    report.fact("valkey-cli --rdb, not compressed and without statistics", cli_wall, "MB/s")
    report.fact("the same, for each second of its CPU time", cli_processor, "MB/s")


def _to_bucket(report: Report, cluster: LocalCluster, uid: int, bucket: int, root: Path, endpoint: str) -> None:
    wall, cli_wall = [], []
    for _ in range(ROUNDS):
        seconds, row = _back_up(cluster, uid, bucket)
        wall.append(row["raw_bytes"] / MB / seconds)
        _delete(cluster, row)  # the server keeps objects in memory
        by_cli = cli_snapshots(cluster, root, endpoint)
        cli_wall.append(by_cli.bytes / MB / by_cli.seconds)
    report.minimum("backup to S3 (moto), raw data", median(wall), 50, "MB/s")
    report.fact("valkey-cli --rdb to files and upload of the files with the same library", cli_wall, "MB/s")


def _gently(report: Report, cluster: LocalCluster, uid: int, folder: int) -> None:
    rates = []
    for _ in range(ROUNDS):
        seconds, row = _back_up(cluster, uid, folder)
        rates.append(row["raw_bytes"] / MB / seconds)
    report.fact("backup to a folder with the pace gentle, from the request to the end, without clients", rates, "MB/s")


def _restore(report: Report, cluster: LocalCluster, uid: int, folder: int) -> None:
    _, row = _back_up(cluster, uid, folder)
    target, _ = create(cluster, RESTORED_SHARDS, replication=False, name="restored")
    wall, processor = [], []
    for _ in range(ROUNDS):
        time_used = TransferTime(cluster)
        seconds, restored = _restored(cluster, target, row)
        wall.append(restored["raw_bytes"] / MB / seconds)
        processor.append(restored["raw_bytes"] / MB / time_used.used()[0])
        if restored["mismatched_slots"] != 0 or restored["restored"] != row["keys"]:
            raise RuntimeError(f"the restored keys differ from the backup: {restored}")
    ok(cluster.api.delete(f"/v1/bdbs/{target}"))
    what = f"restore of {SHARDS} shards into {RESTORED_SHARDS}"
    report.minimum(f"{what}, raw data, the database emptied first", median(wall), 150, "MB/s")
    report.fact("the same, for each second of CPU time of the transfer", processor, "MB/s")
    verified = [_verified(cluster, row) for _ in range(ROUNDS)]
    report.fact("verification: create a database, restore, compare, from the request to the result", verified, "s")


def _under_load(report: Report, cluster: LocalCluster, uid: int, folder: int, root: Path) -> None:
    """Compare seconds within backups with those just before each of them."""
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]
    write_all_keys(endpoint, LOAD)
    half = highest_rate(endpoint, LOAD, SUSTAINED_P99_MS, STEP_SECONDS) / 2
    calm: dict[str, list[Interval]] = {"gentle": [], "fast": []}
    busy: dict[str, list[Interval]] = {"gentle": [], "fast": []}
    with rate_load(endpoint, LOAD, half, root / "load.txt") as load:
        for _ in range(LOADED_ROUNDS):
            for pace in reversed(calm):  # the default remains
                _set_pace(cluster, pace)
                start = time.time()
                cluster.wait_until(lambda start=start: time.time() > start + CALM_SECONDS, "")  # type: ignore[misc]
                calm[pace].append((start, time.time()))
                _back_up(cluster, uid, folder)
                busy[pace].append((calm[pace][-1][1], time.time()))
    before, during = load.p99(calm["gentle"]), load.p99(busy["gentle"])
    note = f" ({before:.2f} ms before, {during:.2f} ms during backups of {_seconds(busy['gentle']):.1f} s)"
    name = "P99 at the client of the endpoint at half load, during backups / before"
    report.limit(name, during / before, 1.2, "x", f"{note}, {half:.0f} requests per second")
    # Otherwise the load was not sustained, because other processes used the machine, and the ratio means nothing.
    report.limit("the same before backups", before, SUSTAINED_P99_MS, "ms")
    ratio = load.p99(busy["fast"]) / load.p99(calm["fast"])
    report.fact(f"the same ratio with the pace fast, backups of {_seconds(busy['fast']):.1f} s", [ratio], "x")


def _set_pace(cluster: LocalCluster, pace: str) -> None:
    ok(cluster.api.put("/v1/cluster/policy", json={"backup_pace": pace}))


def _seconds(intervals: Sequence[Interval]) -> float:
    """Return the median of the durations."""
    return median(end - start for start, end in intervals)


def _memory(report: Report, cluster: LocalCluster, uid: int, folder: int) -> None:
    fill(_owners(cluster, uid), large_values(LARGEST_VALUE))
    with PeakMemory(cluster) as memory:
        _, row = _back_up(cluster, uid, folder)
        snapshot = memory.peak()
        _restored(cluster, uid, row)
        restore = memory.peak()
    values = f"values up to {LARGEST_VALUE / MB:.0f} MB"
    report.limit(f"memory of the mover, {values}, backup", snapshot / MB, 200, "MB")
    report.limit(f"memory of the mover, {values}, restore", restore / MB, 200, "MB")


def _back_up(cluster: LocalCluster, uid: int, location: int) -> tuple[float, dict[str, Any]]:
    """Return the seconds from the request to the end, and the backup."""
    start = time.monotonic()
    backup_uid = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/backup", json={"location_uid": location}))["backup_uid"]
    row = _ended(cluster, f"/v1/backups/{backup_uid}")
    return time.monotonic() - start, row


def _delete(cluster: LocalCluster, row: dict[str, Any]) -> None:
    path = f"/v1/backups/{row['uid']}"
    ok(cluster.api.delete(path))
    cluster.wait_until(lambda: cluster.api.get(path).status_code == 404, "the backup was not deleted")


def _restored(cluster: LocalCluster, uid: int, row: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Return the seconds from the request to the end, and the restore."""
    start = time.monotonic()
    reply = ok(cluster.api.post(f"/v1/bdbs/{uid}/actions/restore", json={"backup_uid": row["uid"]}))
    restored = _ended(cluster, f"/v1/restores/{reply['restore_uid']}")
    return time.monotonic() - start, restored


def _verified(cluster: LocalCluster, row: dict[str, Any]) -> float:
    """Return the seconds from the request to the result."""
    path, start = f"/v1/backups/{row['uid']}", time.monotonic()
    before = ok(cluster.api.get(path))["verified"]
    ok(cluster.api.post(f"{path}/actions/verify"))
    result: dict[str, Any] = {}

    def has_ended() -> bool:
        result.update(ok(cluster.api.get(path))["verified"] or {})
        return bool(result) and result != before

    cluster.wait_until(has_ended, "the verification did not end", 600)
    if not result["ok"]:
        raise RuntimeError(result["detail"])
    return time.monotonic() - start


def _ended(cluster: LocalCluster, path: str) -> dict[str, Any]:
    """Wait until a backup or restore has ended. Return it."""
    found: dict[str, Any] = {}

    def has_ended() -> bool:
        found.update(ok(cluster.api.get(path)))
        return bool(found["status"] != "running")

    cluster.wait_until(has_ended, f"{path} did not end", 600)
    if found["status"] != "succeeded":
        raise RuntimeError(f"{path}: {found['detail']}")
    return found
