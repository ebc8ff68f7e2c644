"""Time to create a database: compared with `valkey-cli --cluster create`, and for large databases."""

import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from perf.kit.report import Report
from perf.kit.scale import scaled
from shardboard.agent.databases import shard_config
from shardboard.contract import BdbSpec, ShardSpec
from shardboard.local.cluster import LocalCluster, ok, private_cluster

ROUNDS = scaled(5, 1)
STANDARD = [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}]


def small(report: Report, directory: Path) -> None:
    """Measure 6 primaries + 6 replicas on 3 nodes, alternating with valkey-cli on the same addresses."""
    cluster = private_cluster(directory / "console", nodes=3)
    own_times, cli_times = [], []
    try:
        cluster.start_console()
        cluster.start_agents()
        for _ in range(ROUNDS):
            own_times.append(_create(cluster, 6, replication=True, encrypted=True))
            cli_times.append(_valkey_cli(directory / "cli", cluster.addresses))
    finally:
        cluster.stop()
        cluster.kill_shards()
    report.fact("6+6 shards on 3 nodes, POST to active with replicas in sync", own_times, "s")
    report.fact("the same with valkey-cli --cluster create, until replicas are in sync", cli_times, "s")
    report.limit("ratio of the medians", median(own_times) / median(cli_times), 0.5, "x")


def large(report: Report, directory: Path, *, shards: int, nodes: int, limit: float, encrypted: bool = True) -> None:
    """Measure primaries only, with nothing else running. Each shard performs two handshakes with each other one: on one small
    machine, hundreds of shards need minutes for that; on as many machines as nodes, seconds.
    """
    cluster = private_cluster(directory, nodes=nodes)
    try:
        cluster.start_console()
        cluster.start_agents()
        seconds = _create(cluster, shards, replication=False, encrypted=encrypted)
        suffix = "" if encrypted else " (unencrypted)"
        report.limit(f"{shards} primaries on {nodes} nodes, POST to active{suffix}", seconds, limit, "s")
    finally:
        cluster.stop()
        cluster.kill_shards()


def _create(cluster: LocalCluster, shards: int, *, replication: bool, encrypted: bool) -> float:
    """Return the seconds until the database is active, and delete it."""
    uid, seconds = create(cluster, shards, replication=replication, encrypted=encrypted)
    delete(cluster, uid)
    return seconds


def delete(cluster: LocalCluster, uid: int) -> None:
    """Delete a database and wait until it is gone."""
    ok(cluster.api.delete(f"/v1/bdbs/{uid}"))
    cluster.wait_until(
        lambda: cluster.api.get(f"/v1/bdbs/{uid}").status_code == 404, "the database was not deleted", 120
    )


def create(
    cluster: LocalCluster, shards: int, *, replication: bool, encrypted: bool = False, **others: Any
) -> tuple[int, float]:
    """Return the uid of a new database, and the seconds from POST until it is active. Benchmarks that access shards directly use
    unencrypted connections. `others` are fields that override the defaults.
    """
    body: dict[str, Any] = {
        "name": "bench",
        "memory_size": 0,
        "sharding": True,
        "shards_count": shards,
        "replication": replication,
        "oss_cluster": True,
        "proxy_policy": "all-master-shards",
        "shards_placement": "sparse",
        "shard_key_regex": STANDARD,
        "data_internode_encryption": encrypted,
        **others,
    }
    start = time.monotonic()
    uid = ok(cluster.api.post("/v1/bdbs", json=body))["uid"]
    status = ""
    while status != "active":
        cluster.check()
        bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status,status_detail"}))
        status = bdb["status"]
        if status == "creation-failed" or time.monotonic() - start > 300:
            raise RuntimeError(f"the database is {status}: {bdb['status_detail']}")
        time.sleep(0.02)
    return uid, time.monotonic() - start


def _valkey_cli(directory: Path, addresses: Sequence[str]) -> float:
    """Measure the same processes and settings without a generated nodes.conf, with valkey-cli creating the cluster."""
    shutil.rmtree(directory, ignore_errors=True)
    bdb = BdbSpec(
        uid=1,
        cluster=True,
        peers=[],
        admin_password=secrets.token_urlsafe(),
        client_password="",
        maxmemory=0,
        eviction_policy="volatile-lru",
        appendonly=False,
        appendfsync="everysec",
        save=[],
        node_timeout_ms=5000,
        hz=10,
        maxclients=10000,
    )
    endpoints = [(addresses[index % 3], 20100 + index) for index in range(12)]
    processes: list[psutil.Popen] = []
    start = time.monotonic()
    try:
        for index, (address, port) in enumerate(endpoints):
            home = directory / str(index)
            home.mkdir(parents=True)
            shard = ShardSpec(
                uid=index, bdb_uid=1, engine_id=f"{index:040x}", port=port, bus_port=port + 5000, role="master"
            )
            (home / "valkey.conf").write_text(grant_all_to_default_user(shard_config.valkey_conf(bdb, shard, address)))
            processes.append(psutil.Popen(["valkey-server", "valkey.conf"], cwd=home))
        for address, port in endpoints:
            _wait_until(lambda host=address, number=port: _cli(host, number, "PING") == "PONG")  # type: ignore[misc]
        hosts = [f"{address}:{port}" for address, port in endpoints]
        command = ["valkey-cli", "--cluster", "create", *hosts, "--cluster-replicas", "1", "--cluster-yes"]
        result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
        if result.returncode:
            raise RuntimeError(f"valkey-cli --cluster create: {(result.stdout + result.stderr)[-500:]}")
        _wait_until(lambda: all(_in_sync(address, port) for address, port in endpoints))
        return time.monotonic() - start
    finally:
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=10)
        shutil.rmtree(directory, ignore_errors=True)


def grant_all_to_default_user(conf: str) -> str:
    """Give all rights to the default user that valkey-cli uses; clients of our databases lack some of them."""
    return re.sub(r"^user default .*$", "user default on nopass ~* &* +@all", conf, flags=re.MULTILINE)


def _in_sync(address: str, port: int) -> bool:
    replication = _cli(address, port, "INFO", "replication")
    return (
        "role:master" in replication and "connected_slaves:1" in replication
    ) or "master_link_status:up" in replication


def _cli(address: str, port: int, *argv: str) -> str:
    command = ["valkey-cli", "-h", address, "-p", str(port), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("valkey-cli's cluster did not become ready")
        time.sleep(0.02)
