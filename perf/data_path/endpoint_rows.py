"""Rows of the table in docs/benchmarks/proxy.md. Both sides of a ratio alternate within one run."""

import json
import os
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import Any

from lab import Lab, Proxy, command, wait_for

from perf.data_path.row_report import Report

from shardboard.local.loopback import claim_network

ADDRESS = f"{claim_network()}.2"
PORTS = [21950, 21951, 21952]
PLAIN = [21960, 21961, 21962]
ENDPOINT = 12950
SMOKE = os.environ.get("SHARDBOARD_BENCH_SMOKE") == "1"
"""Run as little as possible, to check that it works."""
ROUNDS = 1 if SMOKE else 4
KEYS = "1000"
RATE = 10_000
LONG = 1_000_000
LOAD = Path(__file__).resolve().parents[2] / "engine/target/release/shardboard-load"
PACE = Path(__file__).resolve().parents[2] / "engine/target/release/examples/pace"


def endpoint(lab: Lab, shards: list[dict[str, Any]], binary: Path, *, local: bool = True) -> Proxy:
    """Start a proxy with one thread that hides the shards. With `local`, shards are on its node and have a Unix socket."""
    proxy = Proxy(lab, binary)
    if local:
        shards = [{**shard, "unix_socket": lab.unix_socket(shard["port"])} for shard in shards]
    database = {"uid": 1, "address": ADDRESS, "port": ENDPOINT, "mode": "hidden", "version": 1, "shards": shards}
    proxy.apply({**database, "max_connections": 20_000})
    return proxy


def benchmark(*target: str, test: str, pipeline: int, threads: int = 3) -> float:
    """Return requests per second of valkey-benchmark with 50 connections, over two or three seconds.

    With --cluster it uses one thread per shard, so the other side uses the same number. It also puts all keys of a shard into
    one slot, while the keys of the other side are in as many slots as there are keys, each with a separate table. With many
    keys, the comparison would include the cache misses of the engine. With a thousand keys, this has no effect."""
    count = 15_000 if SMOKE else 1_500_000 if pipeline > 1 else 120_000
    if "--cluster" not in target and threads > 1:
        target = (*target, "--threads", str(threads))
    options = ["-t", test, "-P", str(pipeline), "-n", str(count), "-c", "50", "-r", KEYS, "--csv"]
    output = subprocess.run(["valkey-benchmark", *target, *options], capture_output=True, text=True, check=True).stdout
    return float(output.strip().splitlines()[-1].split(",")[1].strip('"'))


class CpuTime:
    """CPU seconds used by the processes of a lab and by finished children since creation."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.before = self.now()

    def now(self) -> float:
        """Return the total until now."""
        total = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        for process in self.lab.processes:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def spent(self) -> float:
        """Return the seconds since creation."""
        return self.now() - self.before


def answered(metrics: dict[str, Any]) -> int:
    """Return the number of replies so far."""
    return sum(metrics["databases"][0]["responses"].values())


def throughput(report: Report, binary: Path) -> None:
    """Compare with a cluster client that accesses the shards directly, and measure the CPU time per request in the proxy."""
    lab = Lab(ADDRESS)
    try:
        proxy = endpoint(lab, lab.cluster(PORTS), binary)
        direct = ["--cluster", "-h", ADDRESS, "-p", str(PORTS[0])]
        through = ["-h", ADDRESS, "-p", str(ENDPOINT)]
        for pipeline, least, cpu_limit in ((16, 0.70, 1.0), (1, 0.85, 9.0)):
            ratios, cpu = [], []
            for test in ("set", "get"):
                endpoint_results, competitor_results, spent = [], [], {"direct": [], "through": []}
                for _ in range(ROUNDS):
                    cpu_time = CpuTime(lab)
                    competitor_results.append(benchmark(*direct, test=test, pipeline=pipeline))
                    spent["direct"].append(cpu_time.spent())
                    before, cpu_time = proxy.metrics(), CpuTime(lab)
                    endpoint_results.append(benchmark(*through, test=test, pipeline=pipeline))
                    spent["through"].append(cpu_time.spent())
                    after = proxy.metrics()
                    cpu_seconds = after["cpu_seconds"] - before["cpu_seconds"]
                    cpu.append(cpu_seconds * 1e6 / (answered(after) - answered(before)))
                single_thread = [benchmark(*through, test=test, pipeline=pipeline, threads=1)]
                report.fact(f"through the proxy by one client thread, -P {pipeline} {test}", single_thread, "/s")
                report.fact(f"direct, -P {pipeline} {test}", competitor_results, "/s")
                report.fact(f"through the proxy, -P {pipeline} {test}", endpoint_results, "/s")
                # On busy cores, rates depend on other processes; CPU time hardly does.
                all_cpu = median(spent["direct"]) / median(spent["through"])
                report.fact(f"CPU of client, shards and proxy, -P {pipeline} {test}, direct / through", [all_cpu], "x")
                ratios.append(median(endpoint_results) / median(competitor_results))
            for test, ratio in zip(("set", "get"), ratios, strict=True):
                report.limit(f"-P {pipeline} {test}, through the proxy / direct", ratio, least, "x", at_least=True)
            report.limit(f"CPU of the proxy per request, -P {pipeline}", median(cpu), cpu_limit, "us")
    finally:
        lab.close()


def long_value_rate(*target: str, ratio: str) -> float:
    """Return requests per second of ten connections with one request at a time each. All keys exist."""
    seconds = 1 if SMOKE else 4
    keys = ["--key-minimum=1", "--key-maximum=30", f"--data-size={LONG}", "--distinct-client-seed"]
    load = ["--threads=1", "--clients=10", f"--ratio={ratio}", f"--test-time={seconds}"]
    line = [str(LOAD), "-s", ADDRESS, *target, *load, *keys, "--live-lines=-", "--hide-histogram"]
    end = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert end["misses"] == 0
    return float(end["ops_per_second"])


def long(report: Report, binary: Path) -> None:
    """Compare values of 1 MB with direct access, and measure the memory of the proxy."""
    lab = Lab(ADDRESS)
    try:
        proxy = endpoint(lab, lab.cluster(PORTS), binary)
        direct, through = ["-p", str(PORTS[0]), "--cluster-mode"], ["-p", str(ENDPOINT)]
        for test, ratio, least in (("set", "1:0", None), ("get", "0:1", 0.8)):
            endpoint_results, competitor_results = [], []
            for _ in range(ROUNDS):
                competitor_results.append(long_value_rate(*direct, ratio=ratio))
                endpoint_results.append(long_value_rate(*through, ratio=ratio))
            report.fact(f"direct, {test} of 1 MB", competitor_results, "/s")
            report.fact(f"through the proxy, {test} of 1 MB", endpoint_results, "/s")
            median_ratio = median(endpoint_results) / median(competitor_results)
            if least is None:
                report.fact(f"{test} of 1 MB, through the proxy / direct", [median_ratio], "x")
            else:
                report.limit(f"{test} of 1 MB, through the proxy / direct", median_ratio, least, "x", at_least=True)
        report.fact("memory of the proxy after that", [proxy.metrics()["rss_bytes"] / 1e6], "MB")
    finally:
        lab.close()


def nutcracker(report: Report, binary: Path) -> None:
    """Compare with nutcracker, which supports only servers without cluster mode. The proxy is tested with the cluster,
    nutcracker with the same number of plain servers."""
    program = shutil.which("nutcracker", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        print("      our proxy / nutcracker: skipped, nutcracker is not installed", flush=True)
        return
    lab = Lab(ADDRESS)
    try:
        endpoint(lab, lab.cluster(PORTS), binary)
        for port in PLAIN:
            lab.server(port)
        servers = "".join(f"    - {ADDRESS}:{port}:1\n" for port in PLAIN)
        config = lab.directory / "nutcracker.yml"
        config.write_text(
            f"bench:\n  listen: {ADDRESS}:12960\n  redis: true\n  hash: fnv1a_64\n  distribution: ketama\n"
            f"  auto_eject_hosts: false\n  servers:\n{servers}"
        )
        log = (lab.directory / "nutcracker.log").open("wb")
        lab.processes.append(
            subprocess.Popen([program, "-c", str(config), "-m", "16384", "-s", "12961"], stdout=log, stderr=log)
        )
        wait_for(lambda: socket.create_connection((ADDRESS, 12960)).close() is None, "nutcracker")
        for test in ("set", "get"):
            endpoint_results, competitor_results, spent = [], [], {"ours": [], "theirs": []}
            for _ in range(ROUNDS):
                cpu_time = CpuTime(lab)
                endpoint_results.append(benchmark("-h", ADDRESS, "-p", str(ENDPOINT), test=test, pipeline=16))
                spent["ours"].append(cpu_time.spent())
                cpu_time = CpuTime(lab)
                competitor_results.append(benchmark("-h", ADDRESS, "-p", "12960", test=test, pipeline=16))
                spent["theirs"].append(cpu_time.spent())
            report.fact(f"nutcracker, -P 16 {test}", competitor_results, "/s")
            report.fact(f"our proxy, -P 16 {test}", endpoint_results, "/s")
            all_cpu = median(spent["theirs"]) / median(spent["ours"])
            report.fact(f"CPU of client, servers and proxy, -P 16 {test}, nutcracker / ours", [all_cpu], "x")
            ratio = median(endpoint_results) / median(competitor_results)
            report.limit(f"-P 16 {test}, our proxy / nutcracker", ratio, 2.0, "x", at_least=True)
    finally:
        lab.close()


def idle(report: Report, binary: Path) -> None:
    """Measure memory without clients and with ten thousand idle ones."""
    connection_count = 100 if SMOKE else 10_000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    lab = Lab(ADDRESS)
    connections: list[socket.socket] = []
    try:
        proxy = endpoint(lab, lab.cluster(PORTS), binary)
        before = proxy.metrics()["rss_bytes"]
        for _ in range(min(connection_count, hard - 200)):
            connection = socket.create_connection((ADDRESS, ENDPOINT))
            connection.sendall(command("SET", "key", "value"))
            connections.append(connection)
        for connection in connections:
            assert connection.recv(64) == b"+OK\r\n"
        time.sleep(2)
        metrics = proxy.metrics()
        open_connections = metrics["databases"][0]["connections"]
        report.limit("idle connections held", open_connections, min(connection_count, hard - 200), "", at_least=True)
        report.limit("memory without clients", before / 1e6, 25, "MB")
        report.limit("memory per idle connection", (metrics["rss_bytes"] - before) / open_connections / 1e3, 20, "kB")
    finally:
        for connection in connections:
            connection.close()
        lab.close()


def paced_latencies(ports: list[int]) -> dict[str, float]:
    """Return P50 and P99 in microseconds. `ports[n]` serves the keys of shard n."""
    target = [f"{ADDRESS}:{port}" for port in ports]
    output = subprocess.run([PACE, str(RATE), "2", *target], capture_output=True, text=True, check=True).stdout
    return json.loads(output)


def latency(report: Report, binary: Path) -> None:
    """Measure the P50 and P99 that the proxy adds at a steady rate from 48 connections."""
    lab = Lab(ADDRESS)
    try:
        endpoint(lab, lab.cluster(PORTS), binary)
        direct, endpoint_results = [], []
        for _ in range(2 * ROUNDS):
            direct.append(paced_latencies(PORTS))
            endpoint_results.append(paced_latencies([ENDPOINT] * len(PORTS)))
        for name, limit in (("p50", 60), ("p99", 300)):
            report.fact(f"direct {name}", [sample[name] for sample in direct], "us")
            report.fact(f"through the proxy {name}", [sample[name] for sample in endpoint_results], "us")
            added = median(sample[name] for sample in endpoint_results) - median(sample[name] for sample in direct)
            report.limit(f"added {name} at {RATE:,}/s", added, limit, "us")
    finally:
        lab.close()
