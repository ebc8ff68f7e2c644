"""How soon writes to the slots of a lost node are good again: kill -9 of every process of a node, 6+6 shards on 3 nodes."""

import time
from pathlib import Path
from statistics import median
from typing import Any

import valkey
from valkey.exceptions import ValkeyError

from bench.creation import create
from bench.report import Report
from shardboard.domain import slots
from shardboard.local import LocalCluster, ok, private_cluster

ROUNDS = 20


def killed(report: Report, directory: Path) -> None:
    """Processes killed, connections reset; each round on a fresh database under mixed traffic."""
    cluster = private_cluster(directory, nodes=3)
    gaps: list[float] = []
    lost = 0
    try:
        cluster.start_console()
        cluster.start_agents()
        for number in range(ROUNDS):
            gap, missing = _round(cluster, cluster.addresses[number % 3])
            gaps.append(gap)
            lost += missing
    finally:
        cluster.stop()
        cluster.kill_shards()
    report.fact("node killed: writes to its slots good again", gaps, "s")
    report.limit("node killed: median", median(gaps), 0.6, "s")
    report.limit("node killed: worst", max(gaps), 1.5, "s")
    report.limit(f"node killed: acknowledged writes lost in {ROUNDS} kills", lost, 0, "writes")


def _round(cluster: LocalCluster, victim: str) -> tuple[float, int]:
    uid, _ = create(cluster, 6, replication=True)
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    seed = next(row for row in rows if row["role"] == "master" and row["address"] != victim)
    cluster.spawn("traffic", [seed["address"], str(seed["port"])], module="shardboard.demo_traffic")
    lost_pairs = {row["pair"] for row in rows if row["role"] == "master" and row["address"] == victim}
    heirs = [row for row in rows if row["pair"] in lost_pairs and row["role"] == "slave"]
    acknowledged = _write(rows, 3000)
    cluster.kill_node(victim)
    started = time.monotonic()
    waiting = {row["uid"]: _client(row) for row in heirs}
    while waiting:
        for row in heirs:
            if row["uid"] in waiting and _accepts(waiting[row["uid"]], row):
                del waiting[row["uid"]]
        if time.monotonic() - started > 60:
            raise RuntimeError("the lost slots are not served again")
    gap = time.monotonic() - started
    living = [row for row in rows if row["role"] == "master" and row["pair"] not in lost_pairs]
    missing = _missing([*living, *heirs], acknowledged)
    cluster.children["traffic"].kill()
    cluster.children.pop("traffic").wait()
    cluster.start_agents()
    ok(cluster.api.delete(f"/v1/bdbs/{uid}"))
    cluster.until(lambda: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404, "the database is not deleted")
    return gap, missing


def _write(rows: list[dict[str, Any]], count: int) -> dict[str, str]:
    """Writes that the primaries acknowledged, as late before the kill as can be."""
    seed = next(row for row in rows if row["role"] == "master")
    client = valkey.cluster.ValkeyCluster(host=seed["address"], port=seed["port"], decode_responses=True)
    written = {}
    for number in range(count):
        if client.set(f"bench:{number}", str(number)):
            written[f"bench:{number}"] = str(number)
    client.close()
    return written


def _missing(serving: list[dict[str, Any]], written: dict[str, str]) -> int:
    """How many keys are not found where their slots are served now; each shard is asked directly."""
    missing = 0
    for row in serving:
        first, _, last = row["assigned_slots"].partition("-")
        keys = [key for key in written if int(first) <= slots.slot_of(key) <= int(last or first)]
        client = _client(row)
        missing += sum(client.get(key) != written[key].encode() for key in keys)
    return missing


def _accepts(client: "valkey.Valkey", row: dict[str, Any]) -> bool:
    try:
        return bool(client.set(slots.key_of(int(row["assigned_slots"].partition("-")[0])), "x"))
    except ValkeyError:
        return False


def _client(row: dict[str, Any]) -> "valkey.Valkey":
    return valkey.Valkey(host=row["address"], port=row["port"], socket_timeout=1)
