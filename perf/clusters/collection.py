"""Cost of monitoring hundreds of real shards: on the nodes, in the browser, and compared with redis_exporter and Prometheus."""

import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from perf.clusters.web_ui import page_of_many
from perf.kit.kernel import AUTOGROUP, BACKLOG, changed
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from shardboard.local.cluster import LocalCluster, ok, private_cluster
from shardboard.local.loopback import free_port

SHARDS, NODES = 512, 26
SECONDS = counted("SECONDS", 600, 3)
SETTLE_SECONDS = scaled(15, 5)
"""Seconds between the creation and the first measurement."""
LOOPBACK_PACKETS = 100_000
"""Length of the kernel's queue of received packets. Shards of real clusters use the queues of their network interfaces, but all
connections of 512 shards on one machine share this one. Its default of 1,000 is too short: the kernel sends the keepalive probes of
idle connections in bursts, drops most of them, and closes connections whose three probes were dropped."""
ENGINES, PROXIES = "engines", "proxies"
REPLIES = 5
STORED = 3
"""Seconds after which the newest second is in the store."""
STANDARD = [{"regex": ".*\\{(?<tag>.*)\\}.*"}, {"regex": "(?<tag>.*)"}]
EXPORTERS = ("redis_exporter", "prometheus-redis-exporter")
"""Name of the program upstream and in Debian."""


def collection(report: Report, directory: Path, *, shards: int = SHARDS, nodes: int = NODES) -> None:
    """Measure one database of primaries only. The exporters, if installed, monitor the same processes."""
    with active_database(report, directory, shards, nodes, limit=60) as (cluster, uid):
        time.sleep(SETTLE_SECONDS)
        cores, memory, start, end = measured(cluster, SECONDS)
        title = f"{shards} shards at 1 Hz on {nodes} agents"
        console_cores = cores["console"] + sum(cores[name] for name in cluster.addresses)
        report.limit(f"{title}, console and agents together", console_cores, 0.30, "cores")
        report.limit(f"{title}, console", cores["console"], 0.15, "cores")
        report.limit(f"{title}, engines", cores[ENGINES], 0.6, "cores", f" (proxies {cores[PROXIES]:.3f})")
        report.limit(f"{title}, memory of the console", memory["console"], 250, "MB")
        report.limit(f"{title}, memory of the largest agent", max(memory[name] for name in cluster.addresses), 60, "MB")
        _report_replies(report, cluster, uid, shards)
        _report_gaps(report, cluster, uid, shards, start, end)
        page_of_many(report, cluster, uid, shards)
        if competitors := _competitors(directory, cluster, uid):
            try:
                _compare(report, cluster, competitors)
            finally:
                for competitor in competitors:
                    competitor.kill()
                psutil.wait_procs(competitors, timeout=10)


def short_collection(report: Report, directory: Path) -> None:
    """Measure 128 shards for a minute: short enough for a check of every release."""
    shards, nodes = scaled((128, 8), (8, 2))
    with active_database(report, directory, shards, nodes, limit=30) as (cluster, uid):
        time.sleep(SETTLE_SECONDS)
        cores, memory, start, end = measured(cluster, scaled(60, 3))
        title = f"{shards} shards at 1 Hz on {nodes} agents"
        console_cores = cores["console"] + sum(cores[name] for name in cluster.addresses)
        report.limit(
            f"{title}, CPU of console and agents per shard and second", 1000 * console_cores / shards, 1.5, "ms"
        )
        report.limit(f"{title}, CPU of engines per shard and second", 1000 * cores[ENGINES] / shards, 5, "ms")
        report.limit(f"{title}, memory of the console", memory["console"], 200, "MB")
        _report_gaps(report, cluster, uid, shards, start, end)


@contextmanager
def active_database(
    report: Report,
    directory: Path,
    shards: int,
    nodes: int,
    *,
    limit: float,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[LocalCluster, int]]:
    """Start a cluster with one active database of `shards` primaries. Yield the cluster and the UID of the database."""
    cluster = private_cluster(directory, nodes=nodes, environment=environment)
    # The agents have more weight than the engines, which autogroup would ignore.
    with changed(AUTOGROUP, 0), changed(BACKLOG, LOOPBACK_PACKETS) as is_long:
        if not is_long:
            print(f"      {BACKLOG} is not {LOOPBACK_PACKETS}: the kernel can drop packets between shards", flush=True)
        try:
            cluster.start_console()
            cluster.start_agents()
            start = time.monotonic()
            uid = _create(cluster, shards)
            report.limit(f"{shards} primaries active", time.monotonic() - start, limit, "s")
            yield cluster, uid
        finally:
            cluster.stop()
            cluster.kill_shards()


def _create(cluster: LocalCluster, shards: int) -> int:
    body: dict[str, Any] = {
        "name": "bench",
        "memory_size": 0,
        "sharding": True,
        "shards_count": shards,
        "data_internode_encryption": False,
        "oss_cluster": True,
        "proxy_policy": "all-master-shards",
        "shards_placement": "sparse",
        "shard_key_regex": STANDARD,
    }
    uid: int = ok(cluster.api.post("/v1/bdbs", json=body))["uid"]

    def is_active() -> bool:
        try:
            bdb = ok(cluster.api.get(f"/v1/bdbs/{uid}", params={"fields": "status,status_detail"}))
        except httpx.TimeoutException:  # hundreds of processes are starting
            return False
        if bdb["status"] == "creation-failed":
            raise RuntimeError(bdb["status_detail"])
        return bool(bdb["status"] == "active")

    cluster.wait_until(is_active, "the database did not become active", 600)
    return uid


def _used_resources(cluster: LocalCluster) -> dict[str, tuple[float, int]]:
    """Return CPU seconds and resident bytes by name: console, agents, all engines together and all proxies together."""
    usage = {}
    for name, child in cluster.children.items():
        process = psutil.Process(child.pid)
        usage[name] = (_seconds([process]), process.memory_info().rss)
    for name, processes in ((ENGINES, cluster.engines()), (PROXIES, cluster.proxies())):
        usage[name] = (_seconds(processes), sum(process.memory_info().rss for process in processes))
    return usage


def _seconds(processes: Iterable[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def measured(cluster: LocalCluster, seconds: int) -> tuple[dict[str, float], dict[str, float], int, int]:
    """Wait. Return cores and resident megabytes by name as in `_used_resources`, and first and last second of the measurement."""
    start, before = int(time.time()), _used_resources(cluster)
    time.sleep(seconds)
    after, end = _used_resources(cluster), int(time.time())
    cores = {name: (after[name][0] - before[name][0]) / (end - start) for name in after}
    return cores, {name: memory[1] / 1e6 for name, memory in after.items()}, start, end


def _report_replies(report: Report, cluster: LocalCluster, uid: int, shards: int) -> None:
    """Measure the console's two largest replies while it collects."""
    now = int(time.time())
    query = {"topic": f"shards:{uid}", "metrics": "used_memory", "from": now - 300, "to": now, "max_points": 4000}
    for path, parameters, limit in (("/v1/history", query, 1.0), ("/v1/shards", {}, 0.5)):
        times = []
        for _ in range(REPLIES):
            before = time.monotonic()
            ok(cluster.api.get(path, params=parameters))
            times.append(time.monotonic() - before)
        report.limit(f"GET {path} of {shards} shards, median", median(times), limit, "s", f" (worst {max(times):.2f})")


def _report_gaps(report: Report, cluster: LocalCluster, uid: int, shards: int, first: int, last: int) -> None:
    """Report the shard-seconds without a value, as charts show them, and the agents that the console lost."""
    time.sleep(STORED)
    missed = _missed(cluster, uid, shards, first, last)
    report.limit(f"missed seconds of {shards} shards", missed, 0, "shard-seconds", f" (in {last - first} s)")
    report.limit("agents lost", _lost_agents(cluster), 0, "agents")


def _lost_agents(cluster: LocalCluster) -> int:
    logs = ok(cluster.api.get("/v1/logs"))
    return sum(entry["type"] == "node_agent_lost" for entry in logs)


def _missed(cluster: LocalCluster, uid: int, shards: int, first: int, last: int) -> int:
    """Return the number of shard-seconds without a value, as in the charts."""
    query = {"topic": f"shards:{uid}", "metrics": "used_memory", "from": first, "to": last, "max_points": 4000}
    history = ok(cluster.api.get("/v1/history", params=query))
    assert history["step"] == 1
    known_count = sum(value is not None for columns in history["series"].values() for value in columns[0])
    return shards * int(history["count"]) - known_count


def _competitors(directory: Path, cluster: LocalCluster, uid: int) -> list[psutil.Popen]:
    """Start redis_exporter and Prometheus, which scrape every shard each second. Return no processes if they are not installed."""
    exporter = next((path for name in EXPORTERS if (path := shutil.which(name))), None)
    prometheus = shutil.which("prometheus")
    if exporter is None or prometheus is None:
        print("      not compared: prometheus and prometheus-redis-exporter (Debian packages) are not on PATH")
        return []
    address, listen = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    targets = [f"redis://{row['address']}:{row['port']}" for row in rows]
    relabel = [
        {"source_labels": ["__address__"], "target_label": "__param_target"},
        {"source_labels": ["__param_target"], "target_label": "instance"},
        {"target_label": "__address__", "replacement": address},
    ]
    job = {
        "job_name": "shards",
        "metrics_path": "/scrape",
        "static_configs": [{"targets": targets}],
        "relabel_configs": relabel,
    }
    settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]}
    config = directory / "prometheus.yml"
    config.write_text(json.dumps(settings))  # JSON is YAML
    data = f"--storage.tsdb.path={directory / 'prometheus'}"
    commands = (
        [exporter, f"-web.listen-address={address}", "-redis.addr="],
        [prometheus, f"--config.file={config}", data, f"--web.listen-address={listen}"],
    )
    with (directory / "competitors.log").open("ab") as log:
        return [psutil.Popen(command, stdout=log, stderr=log) for command in commands]


def _compare(report: Report, cluster: LocalCluster, competitors: list[psutil.Popen]) -> None:
    """Measure both at the same time, so that both are affected equally by the machine."""
    time.sleep(SETTLE_SECONDS)
    console_processes = [psutil.Process(child.pid) for child in cluster.children.values()]
    before, competitor_times = _seconds(console_processes), _seconds(competitors)
    time.sleep(min(SECONDS, 60))
    ratio = (_seconds(console_processes) - before) / (_seconds(competitors) - competitor_times)
    report.limit("our CPU time / that of redis_exporter and Prometheus at 1 s", ratio, 0.5, "x")
