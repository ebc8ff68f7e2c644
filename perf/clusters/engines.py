"""Comparison of two engines: the same benchmarks with the engine that the setup built and with the distribution's, in turn.

`SHARDBOARD_BENCH_ENGINES` names others: paths separated by colons.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from perf.clusters.creation import create
from perf.kit.report import Report
from perf.kit.scale import scaled
from shardboard.agent.databases.engine import engine_path, engine_version
from shardboard.local.cluster import LocalCluster, ok, private_cluster

ROWS = scaled(("small", "failover", "resync", "engine"), ("engine",))
"""Creation, failover, resync; idle cost and throughput."""
DISTRIBUTION = "/usr/bin/valkey-server"
IDLE_SECONDS = scaled(30, 2)
ROUNDS = scaled(3, 1)
REQUESTS = scaled(1_000_000, 20_000)
LINE = re.compile(r"(?:ok  |MISS|    )  (?P<what>.+): (?:median )?(?P<value>[\d.e+-]+ \S+)(?:,| \(limit|$)")


def engines(report: Report, directory: Path) -> None:
    """Run each benchmark with each engine in turn, so that a slower machine affects both."""
    selected = _selected_engines()
    values_by_engine: dict[str, dict[str, str]] = {}
    for row in ROWS:
        for version, path in selected.items():
            print(f"      {row} with Valkey {version}", flush=True)
            for line in _run(row, path, directory / version):
                report.repeat(line)
                if (match := LINE.match(line)) is not None:
                    values_by_engine.setdefault(match["what"], {})[version] = match["value"]
    print(table(list(selected), values_by_engine), flush=True)


def table(versions: Sequence[str], found: Mapping[str, Mapping[str, str]]) -> str:
    """Return a Markdown table for an ADR."""
    lines = [f"| | {' | '.join(versions)} |", "|---" * (len(versions) + 1) + "|"]
    lines += [
        f"| {quantity} | {' | '.join(values.get(each, '–') for each in versions)} |"
        for quantity, values in found.items()
    ]
    return "\n".join(lines)


def engine(report: Report, directory: Path) -> None:
    """Measure idle cost and throughput of the selected engine."""
    cluster = private_cluster(directory, nodes=3)
    try:
        cluster.start_console()
        cluster.start_agents()
        uid, _ = create(cluster, 6, replication=True)
        report.fact("6+6 idle shards, CPU time", [_idle(cluster)], "cores")
        address, port = _primary(cluster, uid)
        for depth in (1, 16):
            rates = [_rates(address, port, depth) for _ in range(ROUNDS)]
            for name in ("SET", "GET"):
                report.fact(f"six shards, {name} -P {depth}", [each[name] for each in rates], "requests/s")
    finally:
        cluster.stop()
        cluster.kill_shards()


def _selected_engines() -> dict[str, str]:
    """Return engine paths by version, starting with the setup's engine."""
    names = os.environ.get("SHARDBOARD_BENCH_ENGINES")
    paths = names.split(":") if names else [engine_path("valkey-server") or "valkey-server", DISTRIBUTION]
    return {version: path for path in paths if (version := engine_version(path))}


def _run(row: str, engine: str, directory: Path) -> list[str]:
    """Return the report lines with that engine. It is also put on PATH, for processes that the benchmark starts itself."""
    binaries = directory / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    (binaries / "valkey-server").unlink(missing_ok=True)
    (binaries / "valkey-server").symlink_to(Path(engine).resolve())
    environment = {
        **os.environ,
        "SHARDBOARD_ENGINE": engine,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "TMPDIR": str(directory),
    }
    command = [sys.executable, "-m", "perf", row]
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in result.stdout.splitlines() if line.startswith(("ok  ", "MISS", "      "))]
    if not lines:
        raise RuntimeError(f"{row} with {engine} exited with status {result.returncode} without results")
    return lines


def _idle(cluster: LocalCluster) -> float:
    """Return the cores used by all shards together."""
    shards = [
        process
        for process in psutil.process_iter(["name", "cwd"])
        if process.info["name"] == "valkey-server" and str(process.info["cwd"]).startswith(str(cluster.directory))
    ]

    def cpu_seconds() -> float:
        return sum(sum(shard.cpu_times()[:2]) for shard in shards)

    before = cpu_seconds()
    psutil.wait_procs(shards, timeout=IDLE_SECONDS)  # none of them ends; this measures the elapsed time
    return (cpu_seconds() - before) / IDLE_SECONDS


def _primary(cluster: LocalCluster, uid: int) -> tuple[str, int]:
    rows = ok(cluster.api.get(f"/v1/bdbs/{uid}/shards"))
    return next((row["address"], row["port"]) for row in rows if row["role"] == "master")


def _rates(address: str, port: int, depth: int) -> dict[str, float]:
    """Return requests per second of all primaries together, for a client that uses all of them."""
    command = ["valkey-benchmark", "-h", address, "-p", str(port), "--cluster", "-P", str(depth)]
    command += ["-n", str(REQUESTS), "-d", "100", "-r", "100000", "-t", "set,get", "--csv"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    rows = [line.replace('"', "").split(",") for line in result.stdout.splitlines() if line.startswith('"')]
    return {row[0]: float(row[1]) for row in rows if row[0] in ("SET", "GET")}
