"""Snapshots with `valkey-cli --rdb`: of all shards of a node at the same time."""

import resource
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from obstore import put

from perf.kit.object_store import client
from shardboard.local.cluster import LocalCluster


@dataclass(frozen=True)
class CliSnapshots:
    """Result of one round."""

    seconds: float
    processor_seconds: float
    """Of `valkey-cli`."""
    bytes: int


def cli_snapshots(cluster: LocalCluster, directory: Path, endpoint: str = "") -> CliSnapshots:
    """Write the snapshots to files, and upload them if an endpoint is given."""
    files = [directory / f"cli-{number}.rdb" for number, _ in enumerate(cluster.engines())]
    before, start = _processor_seconds(), time.monotonic()
    processes = [
        subprocess.Popen(_command(Path(engine.cwd()), file), cwd=engine.cwd(), stderr=subprocess.DEVNULL)
        for engine, file in zip(cluster.engines(), files, strict=True)
    ]
    if any(process.wait() for process in processes):
        raise RuntimeError("valkey-cli --rdb failed")
    used = _processor_seconds() - before
    if endpoint:
        store = client(endpoint)
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda file: put(store, file.name, file), files))
    seconds = time.monotonic() - start
    size = sum(file.stat().st_size for file in files)
    for file in files:
        file.unlink()
    return CliSnapshots(seconds, used, size)


def _command(home: Path, file: Path) -> list[str]:
    lines = (home / "valkey.conf").read_text().splitlines()
    password = next(line.split(" ", 1)[1] for line in lines if line.startswith("masterauth "))
    access = ["-s", "valkey.sock", "--user", "shardboard", "--no-auth-warning", "-a", password]
    return ["valkey-cli", *access, "--rdb", str(file)]


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
