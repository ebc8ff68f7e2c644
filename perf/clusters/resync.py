"""Duration of resynchronizing four shards under load, compared with the same processes without a console, and accuracy of the
displayed progress.
"""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import valkey

from perf.clusters.creation import create
from perf.clusters.node_failures import rows, wait_until_recovered
from perf.kit.client_processes import open_loop, saturation, without_autogroup
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from perf.kit.writers import client, tag_of
from shardboard.agent.databases.shard_config import ADMIN
from shardboard.agent.databases.shard_record import ShardRecord
from shardboard.local.cluster import LocalCluster, ok, private_cluster

PAIRS = 4
BYTES = counted("RESYNC_MB", 2000, 1000) << 20
"""Smaller amounts are copied before the console polls."""
VALUE = 64 << 10
CALM = scaled(5.0, 1.0)
"""Seconds of writing beforehand, as a baseline."""
POLL = 0.15
"""Seconds between two polls of the displayed progress."""


def resync(report: Report, directory: Path) -> None:
    """Kill the node with all replicas and start it again."""
    with without_autogroup() as sharing:
        _resync(report, directory, sharing)


def _resync(report: Report, directory: Path, sharing: str) -> None:
    cluster = private_cluster(directory, nodes=2)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, PAIRS, replication=True)
        home, away = cluster.addresses
        _gather(cluster, uid, home)
        _fill(rows(cluster, uid))
        before = rows(cluster, uid)
        [first, *_] = before
        place = (first["address"], first["port"])
        half = saturation(*place) / 2
        with open_loop(*place, half) as load:
            calm = time.time()
            cluster.wait_until(lambda: time.time() > calm + CALM, "the baseline did not end")
            killed = time.time()
            cluster.kill_node(away)
            cluster.wait_until(lambda: _down(cluster, uid) == PAIRS, "the loss was not detected")
            cluster.start_agents()
            polls = _watch(cluster, uid)
            wait_until_recovered(cluster, uid)
            spans = _spans(cluster)
            born = min(process.create_time() for process in cluster.engines(away))
            if not spans:
                raise RuntimeError("the copy ended before the console polled: increase SHARDBOARD_BENCH_RESYNC_MB")
            begun, done = min(span["time_ms"] for span in spans) / 1000, max(span["ended_ms"] for span in spans) / 1000
            ours = done - born
            for name in ("console", *cluster.addresses):
                cluster.kill(name)
            alone = time.time()
            theirs = _without_console(cluster, away, before)
            _compress(cluster, home, before)
            from_disk = _without_console(cluster, away, before, "--repl-diskless-load", "disabled")
            seen = load.end()
    finally:
        cluster.stop()
        cluster.kill_shards()
    size = f"{BYTES >> 20} MB, {PAIRS} shards, at half load, {half:.0f} requests per second{sharing}"
    report.fact(f"resync of {size}, from the first process to the last replica in sync", [ours], "s")
    report.fact("the same processes and settings without console and agents", [theirs], "s")
    report.fact(
        "the same without a console, with the engine's default dual-channel: compressed, written to disk and loaded",
        [from_disk],
        "s",
    )
    # With our settings but normal priority it is fast, because it takes CPU time from the client.
    report.fact("ratio to the same without console and agents", [ours / theirs], "x")
    report.limit("ratio to the engine's default", ours / from_disk, 1.2, "x")
    quiet, copying, by_hand = (
        seen.between(first, last) for first, last in ((calm, killed), (begun, done), (alone, alone + theirs))
    )
    note = f" ({quiet.p99:.2f} ms, {copying.p99:.2f} ms; by hand {by_hand.p99:.2f} ms)"
    report.limit("P99 at the client while replicas copy / before", copying.p99 / quiet.p99, 3, "x", note)
    report.limit("errors at the client", len(seen.errors), 0, "errors", f" {sorted(set(seen.errors))[:3]}")
    report.limit("keys lost or wrong", seen.wrong, 0, "keys")
    _report_accuracy(report, polls, {span["uid"]: span for span in spans})


def _gather(cluster: LocalCluster, uid: int, home: str) -> None:
    """Move all primaries to one node."""
    wait_until_recovered(cluster, uid)
    uids = [row["uid"] for row in rows(cluster, uid) if row["role"] == "master" and row["address"] != home]
    ok(cluster.api.post("/v1/shards/actions/failover", json={"shard_uids": uids}))
    cluster.wait_until(
        lambda: {row["address"] for row in rows(cluster, uid) if row["role"] == "master"} == {home},
        "the primaries did not move",
    )
    wait_until_recovered(cluster, uid)


def _fill(held: list[dict[str, Any]]) -> None:
    for row in [row for row in held if row["role"] == "master"]:
        writer, tag = client(row["address"], row["port"], timeout=60), tag_of(row["assigned_slots"])
        count = BYTES // PAIRS // VALUE
        for start in range(0, count, 100):
            pipeline = writer.pipeline(transaction=False)
            for number in range(start, min(count, start + 100)):
                pipeline.set(f"{{{tag}}}:fill:{number}", os.urandom(VALUE))
            pipeline.execute()
        writer.close()


def _down(cluster: LocalCluster, uid: int) -> int:
    return sum(row["detailed_status"] == "down" for row in rows(cluster, uid))


def _spans(cluster: LocalCluster) -> list[dict[str, Any]]:
    found = ok(cluster.api.get("/v1/logs", params={"order": "desc", "limit": 500}))
    return [event for event in found if event["type"] == "resync" and event["phase"] == "in_sync"][:PAIRS]


def _watch(cluster: LocalCluster, uid: int) -> list[tuple[float, dict[str, Any]]]:
    """Return the times and contents of all open spans until all replicas are in sync."""
    polls: list[tuple[float, dict[str, Any]]] = []

    def done() -> bool:
        time.sleep(POLL)  # polling costs CPU time, which the comparison without a console does not spend
        found = ok(cluster.api.get("/v1/logs", params={"order": "desc", "limit": 100}))
        polls.extend((time.time(), event) for event in found if event["type"] == "resync")
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        return bool(bdb["shards_in_sync"] == bdb["shards_total"])

    cluster.wait_until(done, "the replicas did not recover", 180)
    return polls


def _without_console(cluster: LocalCluster, address: str, before: list[dict[str, Any]], *options: str) -> float:
    """Kill the same processes and start them empty in their directories, without console and agents. Return the seconds until in
    sync.
    """
    doomed = cluster.engines(address)
    homes = [Path(process.cwd()) for process in doomed]
    for process in doomed:
        process.kill()
    psutil.wait_procs(doomed, timeout=10)
    for home in homes:
        (home / "dump.rdb").unlink(missing_ok=True)
    started = time.monotonic()
    for home in homes:
        subprocess.Popen(["valkey-server", "valkey.conf", *options], cwd=home, start_new_session=True)
    waiting = [row for row in before if row["address"] == address]
    while waiting:
        waiting = [row for row in waiting if not _in_sync(row)]
        if time.monotonic() - started > 180:
            raise RuntimeError("the replicas did not recover without the console")
        time.sleep(0.05)
    return time.monotonic() - started


def _compress(cluster: LocalCluster, address: str, before: list[dict[str, Any]]) -> None:
    """Enable compression, the engine's default, which our configuration disables."""
    for row in [row for row in before if row["address"] == address]:
        record = ShardRecord.load(cluster.directory / "agents" / address / "shards" / str(row["uid"]))
        assert record is not None
        engine = valkey.Valkey(address, row["port"], username=ADMIN, password=record.bdb.admin_password)
        engine.config_set("rdbcompression", "yes")
        engine.close()


def _in_sync(row: dict[str, Any]) -> bool:
    asking = client(row["address"], row["port"], timeout=5)
    try:
        return bool(asking.info("replication").get("master_link_status") == "up")
    except Exception:
        return False
    finally:
        asking.close()


def _report_accuracy(
    report: Report, polls: list[tuple[float, dict[str, Any]]], spans: dict[int, dict[str, Any]]
) -> None:
    """Report decreases of the percentage, its distance from the share of elapsed time, and the error of the remaining time."""
    fell, off, late = 0, [0.0], [0.0]
    previous: dict[int, dict[str, Any]] = {}
    for at, event in polls:
        span = spans.get(event["uid"])
        if span is None or "ended_ms" in event:
            continue
        before = previous.get(event["uid"], {})
        fell += event["percent"] < before.get("percent", 0.0)
        begun, ended = span["time_ms"] / 1000, span["ended_ms"] / 1000
        share = (at - begun) / (ended - begun)
        off.append(abs(event["percent"] - 100 * share))
        left, new = ended - at, event != before
        if new and before and share > 0.5 and event["eta_seconds"] is not None and left > 1:
            late.append(100 * abs(event["eta_seconds"] - left) / left)
        previous[event["uid"]] = event
    report.limit("resync: decreases of the percentage", fell, 0, "times")
    report.fact("resync: displayed percentage, distance from the share of elapsed time", off, "points")
    report.limit("resync: largest distance of the percentage", max(off), 15, "points")
    report.fact("resync: error of the remaining time in the second half", late, "%")
    report.limit("resync: largest error of the remaining time in the second half", max(late), 30, "%")
