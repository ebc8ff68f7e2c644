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
CALM_SECONDS = scaled(5.0, 1.0)
"""Seconds of writing beforehand, as a baseline."""
POLL = 0.15
"""Seconds between two polls of the displayed progress."""


def resync(report: Report, directory: Path) -> None:
    """Kill the node with all replicas and start it again."""
    with without_autogroup() as fair_scheduling:
        _resync(report, directory, fair_scheduling)


def _resync(report: Report, directory: Path, sharing: str) -> None:
    cluster = private_cluster(directory, nodes=2)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, PAIRS, replication=True)
        local_address, remote_address = cluster.addresses
        _move_primaries(cluster, uid, local_address)
        _fill(rows(cluster, uid))
        before = rows(cluster, uid)
        [first, *_] = before
        address = (first["address"], first["port"])
        half = saturation(*address) / 2
        with open_loop(*address, half) as load:
            calm_start = time.time()
            cluster.wait_until(lambda: time.time() > calm_start + CALM_SECONDS, "the baseline did not end")
            killed = time.time()
            cluster.kill_node(remote_address)
            cluster.wait_until(lambda: _down_count(cluster, uid) == PAIRS, "the loss was not detected")
            cluster.start_agents()
            polls = _watch(cluster, uid)
            wait_until_recovered(cluster, uid)
            spans = _spans(cluster)
            started_at = min(process.create_time() for process in cluster.engines(remote_address))
            if not spans:
                raise RuntimeError("the copy ended before the console polled: increase SHARDBOARD_BENCH_RESYNC_MB")
            start, end = min(span["time_ms"] for span in spans) / 1000, max(span["ended_ms"] for span in spans) / 1000
            own_seconds = end - started_at
            for name in ("console", *cluster.addresses):
                cluster.kill(name)
            manual_start = time.time()
            cli_seconds = _without_console(cluster, remote_address, before)
            _compress(cluster, local_address, before)
            from_disk = _without_console(cluster, remote_address, before, "--repl-diskless-load", "disabled")
            client_load = load.end()
    finally:
        cluster.stop()
        cluster.kill_shards()
    size = f"{BYTES >> 20} MB, {PAIRS} shards, at half load, {half:.0f} requests per second{sharing}"
    report.fact(f"resync of {size}, from the first process to the last replica in sync", [own_seconds], "s")
    report.fact("the same processes and settings without console and agents", [cli_seconds], "s")
    report.fact(
        "the same without a console, with the engine's default dual-channel: compressed, written to disk and loaded",
        [from_disk],
        "s",
    )
    # With our settings but normal priority it is fast, because it takes CPU time from the client.
    report.fact("ratio to the same without console and agents", [own_seconds / cli_seconds], "x")
    report.limit("ratio to the engine's default", own_seconds / from_disk, 1.2, "x")
    undisturbed, copying, by_hand = (
        client_load.between(first, last)
        for first, last in ((calm_start, killed), (start, end), (manual_start, manual_start + cli_seconds))
    )
    note = f" ({undisturbed.p99:.2f} ms, {copying.p99:.2f} ms; by hand {by_hand.p99:.2f} ms)"
    report.limit("P99 at the client while replicas copy / before", copying.p99 / undisturbed.p99, 3, "x", note)
    report.limit(
        "errors at the client", len(client_load.errors), 0, "errors", f" {sorted(set(client_load.errors))[:3]}"
    )
    report.limit("keys lost or wrong", client_load.wrong, 0, "keys")
    _report_accuracy(report, polls, {span["uid"]: span for span in spans})


def _move_primaries(cluster: LocalCluster, uid: int, home: str) -> None:
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


def _down_count(cluster: LocalCluster, uid: int) -> int:
    return sum(row["detailed_status"] == "down" for row in rows(cluster, uid))


def _spans(cluster: LocalCluster) -> list[dict[str, Any]]:
    log_events = ok(cluster.api.get("/v1/logs", params={"order": "desc", "limit": 500}))
    return [event for event in log_events if event["type"] == "resync" and event["phase"] == "in_sync"][:PAIRS]


def _watch(cluster: LocalCluster, uid: int) -> list[tuple[float, dict[str, Any]]]:
    """Return the times and contents of all open spans until all replicas are in sync."""
    polls: list[tuple[float, dict[str, Any]]] = []

    def is_done() -> bool:
        time.sleep(POLL)  # polling costs CPU time, which the comparison without a console does not spend
        log_events = ok(cluster.api.get("/v1/logs", params={"order": "desc", "limit": 100}))
        polls.extend((time.time(), event) for event in log_events if event["type"] == "resync")
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}"))
        return bool(bdb["shards_in_sync"] == bdb["shards_total"])

    cluster.wait_until(is_done, "the replicas did not recover", 180)
    return polls


def _without_console(cluster: LocalCluster, address: str, before: list[dict[str, Any]], *options: str) -> float:
    """Kill the same processes and start them empty in their directories, without console and agents. Return the seconds until in
    sync.
    """
    engines = cluster.engines(address)
    homes = [Path(process.cwd()) for process in engines]
    for process in engines:
        process.kill()
    psutil.wait_procs(engines, timeout=10)
    for home in homes:
        (home / "dump.rdb").unlink(missing_ok=True)
    start = time.monotonic()
    for home in homes:
        subprocess.Popen(["valkey-server", "valkey.conf", *options], cwd=home, start_new_session=True)
    rows_pending = [row for row in before if row["address"] == address]
    while rows_pending:
        rows_pending = [row for row in rows_pending if not _in_sync(row)]
        if time.monotonic() - start > 180:
            raise RuntimeError("the replicas did not recover without the console")
        time.sleep(0.05)
    return time.monotonic() - start


def _compress(cluster: LocalCluster, address: str, before: list[dict[str, Any]]) -> None:
    """Enable compression, the engine's default, which our configuration disables."""
    for row in [row for row in before if row["address"] == address]:
        record = ShardRecord.load(cluster.directory / "agents" / address / "shards" / str(row["uid"]))
        assert record is not None
        engine = valkey.Valkey(address, row["port"], username=ADMIN, password=record.bdb.admin_password)
        engine.config_set("rdbcompression", "yes")
        engine.close()


def _in_sync(row: dict[str, Any]) -> bool:
    connection = client(row["address"], row["port"], timeout=5)
    try:
        return bool(connection.info("replication").get("master_link_status") == "up")
    except Exception:
        return False
    finally:
        connection.close()


def _report_accuracy(
    report: Report, polls: list[tuple[float, dict[str, Any]]], spans: dict[int, dict[str, Any]]
) -> None:
    """Report decreases of the percentage, its distance from the share of elapsed time, and the error of the remaining time."""
    decreases, errors_ms, late = 0, [0.0], [0.0]
    previous: dict[int, dict[str, Any]] = {}
    for polled_at, event in polls:
        span = spans.get(event["uid"])
        if span is None or "ended_ms" in event:
            continue
        previous_details = previous.get(event["uid"], {})
        decreases += event["percent"] < previous_details.get("percent", 0.0)
        start, end = span["time_ms"] / 1000, span["ended_ms"] / 1000
        share = (polled_at - start) / (end - start)
        errors_ms.append(abs(event["percent"] - 100 * share))
        seconds_left, new = end - polled_at, event != previous_details
        if new and previous_details and share > 0.5 and event["eta_seconds"] is not None and seconds_left > 1:
            late.append(100 * abs(event["eta_seconds"] - seconds_left) / seconds_left)
        previous[event["uid"]] = event
    report.limit("resync: decreases of the percentage", decreases, 0, "times")
    report.fact("resync: displayed percentage, distance from the share of elapsed time", errors_ms, "points")
    report.limit("resync: largest distance of the percentage", max(errors_ms), 15, "points")
    report.fact("resync: error of the remaining time in the second half", late, "%")
    report.limit("resync: largest error of the remaining time in the second half", max(late), 30, "%")
