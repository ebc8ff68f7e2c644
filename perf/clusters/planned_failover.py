"""Time that planned failovers block writes: six pairs under load, all primaries switched over repeatedly, by the console and by
valkey-cli one after the other.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perf.clusters.node_failures import database_under_test, rows, wait_until_recovered
from perf.data_path.endpoint import ENGINE
from perf.data_path.load_generator import BUILD
from perf.kit.report import Report
from perf.kit.scale import counted, scaled
from perf.kit.writers import Writers
from shardboard.local.cluster import LocalCluster, ok

HANDOVERS = counted("HANDOVERS", 100, 6)
RATE = scaled(5_000, 1_000)
"""Requests per second of the load generator at the endpoint, half of them writes."""
SETTLE_SECONDS = 0.3
"""Seconds of writing before and after."""
MANAGED = ("--user", "shardboard", "--no-auth-warning", "-a")


def handover(report: Report, directory: Path) -> None:
    """Run rounds of six, alternating between console and valkey-cli on the same database."""
    subprocess.run(BUILD, cwd=ENGINE, check=True)
    own_waits: list[float] = []
    cli_waits: list[float] = []
    refused: list[str] = []
    lost = 0
    with database_under_test(directory) as (cluster, uid), _load(cluster, uid, directory):
        while min(len(own_waits), len(cli_waits)) < HANDOVERS:
            for wait_times, change in ((own_waits, _console), (cli_waits, _valkey_cli)):
                writers = _watch_writers(cluster, uid, change)
                wait_times += [writer.longest_wait(0) for writer in writers.by_pair.values()]
                refused += [
                    error for writer in writers.by_pair.values() for _, error in writer.refused if change is _console
                ]
                lost += writers.missing() if change is _console else 0
        attempts = [each for each in ok(cluster.api.get("/v1/logs")) if each["type"] == "shard_handover_failed"]
    report.fact("planned failover, longest time without a write to a slot", own_waits, "s")
    report.fact("the same with valkey-cli CLUSTER FAILOVER, one after the other", cli_waits, "s")
    note = f" ({len(attempts)} attempts repeated)" if attempts else ""
    report.limit(f"{len(own_waits)} planned failovers under load, longest", max(own_waits), 0.5, "s", note)
    report.limit("ratio of the longest to that of valkey-cli", max(own_waits) / max(cli_waits), 1.5, "x")
    report.limit(
        "writes refused", len(refused), 0, "writes", f" ({'; '.join(sorted(set(refused)))})" if refused else ""
    )
    report.limit("acknowledged writes lost", lost, 0, "writes")


@contextmanager
def _load(cluster: LocalCluster, uid: int, directory: Path) -> Iterator[None]:
    endpoint = ok(cluster.api.get(f"/v1/bdbs/{uid}"))["endpoints"][0]
    command = [
        str(ENGINE / "target" / "release" / "shardboard-load"),
        *("-h", endpoint["addr"][0], "-p", str(endpoint["port"])),
        *(
            "--rate",
            str(RATE),
            "--ratio",
            "1:1",
            "-c",
            "10",
            "-t",
            "1",
            "--test-time",
            "3600",
            "--key-maximum",
            "10000",
        ),
        *("--max-reconnect-attempts", "100", "-o", str(directory / "load.txt")),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
            if process.poll() is not None:
                raise RuntimeError(f"the load ended early with status {process.returncode}")
        finally:
            process.terminate()


def _watch_writers(
    cluster: LocalCluster, uid: int, change: Callable[[LocalCluster, Sequence[dict[str, Any]]], None]
) -> Writers:
    """Switch over all six primaries while a client writes to each."""
    wait_until_recovered(cluster, uid)
    before = rows(cluster, uid)
    with Writers(before) as writers:
        cluster.wait_until(writers.all_write, "the writers did not succeed")
        time.sleep(SETTLE_SECONDS)
        change(cluster, before)
        time.sleep(SETTLE_SECONDS)
    primaries = {row["uid"] for row in before if row["role"] == "master"}
    cluster.wait_until(
        lambda: primaries.isdisjoint(row["uid"] for row in rows(cluster, uid) if row["role"] == "master"),
        "not all primaries were switched over",
    )
    return writers


def _console(cluster: LocalCluster, before: Sequence[dict[str, Any]]) -> None:
    primary_uids = [row["uid"] for row in before if row["role"] == "master"]
    action_uid = ok(cluster.api.post("/v1/shards/actions/failover", json={"shard_uids": primary_uids}))["action_uid"]

    def has_ended() -> bool:
        action = ok(cluster.api.get(f"/v2/actions/{action_uid}"))
        if action["status"] == "failed":
            raise RuntimeError(str(action))
        return bool(action["status"] == "completed")

    cluster.wait_until(has_ended, "the planned failovers did not end", 180)


def _valkey_cli(cluster: LocalCluster, before: Sequence[dict[str, Any]]) -> None:
    homes = {Path(process.cwd()).name: Path(process.cwd()) for process in cluster.engines()}
    for row in before:
        if row["role"] != "master":
            home = homes[str(row["uid"])]
            _execute(home, "CLUSTER", "FAILOVER")
            cluster.wait_until(
                lambda home=home: "role:master" in _execute(home, "INFO", "replication"),
                "the failover of valkey-cli did not end",
            )  # type: ignore[misc]


def _execute(home: Path, *argv: str) -> str:
    lines = (home / "valkey.conf").read_text().splitlines()
    password = next(line.split(" ", 1)[1] for line in lines if line.startswith("masterauth "))
    command = ["valkey-cli", "-s", "valkey.sock", *MANAGED, password, *argv]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=10, check=False).stdout
