"""Two consoles on one PostgreSQL: interruptions when the leader fails or is changed, also together with a node, and the CPU time of
the console that does not lead.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psutil

from perf.clusters.collection import SETTLE_SECONDS, active_database, measured
from perf.clusters.creation import create
from perf.clusters.node_failures import processes, rows, wait_until_recovered
from perf.kit.report import Report
from perf.kit.rest_writer import RestWriter
from perf.kit.scale import counted
from perf.kit.writers import Writers
from shardboard.local.cluster import LocalCluster, private_cluster
from shardboard.local.consoles import ConsolePair, ConsoleProcess, console_pair

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = counted("CONSOLE_ROUNDS", 20, 1)
MAX_ROUNDS = 2 * ROUNDS
PRIMARIES = (1, 2, 3)
"""Primaries of the databases that lose a node. Databases with one or two cannot elect a new primary without a console."""
STANDBY_SECONDS = counted("STANDBY_SECONDS", 120, 3)
SETTLED_SECONDS = 1.0
DATABASE = "SHARDBOARD_DATABASE_URL"


def consoles(report: Report, directory: Path) -> None:
    """Measure changes of the leader, in a child process with a private PostgreSQL."""
    _run_with_postgres(report, "changes", directory)


def standby(report: Report, directory: Path) -> None:
    """Measure the CPU time of both consoles, in a child process with a private PostgreSQL."""
    _run_with_postgres(report, "standby", directory)


def _run_with_postgres(report: Report, part: str, directory: Path) -> None:
    command = ["scripts/with-postgres", sys.executable, "-m", "perf.clusters.consoles", part, str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                report.repeat(line.rstrip())
        except BaseException:
            process.terminate()  # otherwise, this waits until all is measured
            raise
    if process.returncode:
        raise RuntimeError(f"the part with PostgreSQL ended with status {process.returncode}")


def _changes(report: Report, directory: Path) -> None:
    environment = {DATABASE: os.environ["SHARDBOARD_TEST_POSTGRES_URL"]}
    cluster = private_cluster(directory, nodes=3, environment=environment)
    try:
        cluster.start_console()
        cluster.start_agents()
        databases = {count: _create(cluster, count) for count in PRIMARIES}
        with console_pair(cluster) as pair:
            _planned(report, pair)
            _killed(report, pair)
            _killed_with_node(report, pair, databases)
    finally:
        cluster.stop()
        cluster.kill_shards()


def _create(cluster: LocalCluster, primaries: int) -> int:
    """Return the uid of a new database. With one primary, the engine is not in cluster mode."""
    single = {"sharding": False, "oss_cluster": False, "proxy_policy": "single"} if primaries == 1 else {}
    return create(cluster, primaries, replication=True, name=f"bench-{primaries}", **single)[0]


def _planned(report: Report, pair: ConsolePair) -> None:
    failures, durations, pauses = [], [], []
    for _ in range(ROUNDS):
        leader, other = pair.by_role()
        with RestWriter(leader.api) as first, RestWriter(other.api) as second:
            _wait_for_writes(pair.cluster, first, second)
            start = time.monotonic()
            pair.change_leader(other)
            durations.append(time.monotonic() - start)
            time.sleep(SETTLED_SECONDS)
            pauses += [writer.longest_pause(start) for writer in (first, second)]
        failures += [error for writer in (first, second) for _, error in writer.failures]
    report.fact("planned change of the leader: until the other console leads", durations, "s")
    report.fact("planned change of the leader: longest time without a successful write to REST", pauses, "s")
    report.limit("planned change of the leader: failed requests", len(failures), 0, "requests", _note(failures))


def _killed(report: Report, pair: ConsolePair) -> None:
    durations, pauses, failures = [], [], []
    for _ in range(ROUNDS):
        leader, other = pair.by_role()
        with RestWriter(other.api) as writer:
            _wait_for_writes(pair.cluster, writer)
            start = time.monotonic()
            pair.cluster.kill(leader.name)
            pair.wait_for_leader(other)
            durations.append(time.monotonic() - start)
            time.sleep(SETTLED_SECONDS)
            pauses.append(writer.longest_pause(start))
        failures += [error for _, error in writer.failures]
        pair.start(leader)
    report.fact("leader killed: until the other console leads", durations, "s")
    report.limit("leader killed: until the other console leads, P95", _p95(durations), 2, "s")
    report.fact("leader killed: longest time without a successful write at the other console", pauses, "s")
    report.limit("leader killed: the same, P95", _p95(pauses), 2, "s", f"; {len(failures)} failed{_note(failures)}")


def _killed_with_node(report: Report, pair: ConsolePair, databases: Mapping[int, int]) -> None:
    gaps: dict[int, list[float]] = {count: [] for count in databases}
    durations: list[float] = []
    for _ in range(MAX_ROUNDS):
        if all(len(each) >= ROUNDS for each in gaps.values()):
            break
        found, seconds = _kill_with_node(pair, databases, target=min(gaps, key=lambda count: len(gaps[count])))
        durations.append(seconds)
        for count, each in found.items():
            gaps[count] += each
    report.fact("leader and node killed: until the other console leads", durations, "s")
    for count, each in gaps.items():
        name = f"leader and node killed: until writes succeed, {count} {'primary' if count == 1 else 'primaries'}"
        report.fact(name, each, "s")
        report.limit(f"{name}, median", median(each), 2.5, "s", f" (P95 {_p95(each):.3g} s, n={len(each)})")


def _kill_with_node(
    pair: ConsolePair, databases: Mapping[int, int], *, target: int
) -> tuple[dict[int, list[float]], float]:
    """Kill the leader and a node with a primary of the target. Return the gaps of lost primaries by database, and the time until
    the other console leads.
    """
    cluster = pair.cluster
    for uid in databases.values():
        wait_until_recovered(cluster, uid)
    leader, other = pair.by_role()
    before = {count: rows(cluster, uid) for count, uid in databases.items()}
    victim = _node_with_most_primaries(before, target)
    victims = processes(cluster, victim)
    with ExitStack() as stack:
        writers = {count: stack.enter_context(Writers(shards)) for count, shards in before.items()}
        cluster.wait_until(lambda: all(each.all_write() for each in writers.values()), "the writers did not succeed")
        time.sleep(SETTLED_SECONDS)
        start = time.monotonic()
        psutil.Process(leader.process.pid).kill()
        for process in victims:
            process.kill()
        killed_at = time.monotonic()
        cluster.kill(leader.name)  # already dead: this reaps it
        cluster.kill(victim)
        pair.wait_for_leader(other)
        seconds = time.monotonic() - start
        affected = {
            count: [writers[count].by_pair[row["pair"]] for row in shards if _is_lost(row, victim)]
            for count, shards in before.items()
        }
        cluster.wait_until(
            lambda: all(each.recovered_at(killed_at) for found in affected.values() for each in found),
            "the lost slots did not recover",
        )
    pair.start(leader)
    cluster.start_agents()
    gaps = {
        count: [(each.recovered_at(killed_at) or 0.0) - start for each in found] for count, found in affected.items()
    }
    return gaps, seconds


def _is_lost(row: Mapping[str, Any], victim: str) -> bool:
    return bool(row["role"] == "master" and row["address"] == victim)


def _node_with_most_primaries(before: Mapping[int, list[dict[str, Any]]], target: int) -> str:
    """Return the node with a primary of the target that has primaries of most databases."""
    addresses = {row["address"] for row in before[target] if row["role"] == "master"}
    return max(
        sorted(addresses),
        key=lambda address: sum(any(_is_lost(row, address) for row in shards) for shards in before.values()),
    )


def _standby(report: Report, directory: Path) -> None:
    shards, nodes = counted("STANDBY_SHARDS", 512, 8), counted("STANDBY_NODES", 26, 3)
    environment = {DATABASE: os.environ["SHARDBOARD_TEST_POSTGRES_URL"]}
    with active_database(report, directory, shards, nodes, limit=60, environment=environment) as (cluster, _):
        time.sleep(SETTLE_SECONDS)
        cores, _, _, _ = measured(cluster, STANDBY_SECONDS)
        single_agents, title = _agents(cluster, cores), f"{shards} shards on {nodes} agents"
        report.fact(f"{title}, one console: console", [cores["console"]], "cores")
        report.fact(f"{title}, one console: agents", [single_agents], "cores")
        with console_pair(cluster) as pair:
            leader, other = pair.by_role()
            time.sleep(SETTLE_SECONDS)
            cores, memory, _, _ = measured(cluster, STANDBY_SECONDS)
            if not leader.leads():
                raise RuntimeError("the leader changed during the measurement: the machine is overloaded")
            report.fact(f"{title}, two consoles: agents", [_agents(cluster, cores)], "cores")
            report.fact(f"{title}, two consoles: memory of the other console", [memory[other.name]], "MB")
            _report_ratio(report, title, cores, leader, other)


def _report_ratio(
    report: Report, title: str, cores: Mapping[str, float], leader: ConsoleProcess, other: ConsoleProcess
) -> None:
    note = f" ({cores[other.name]:.3f} / {cores[leader.name]:.3f} cores)"
    report.limit(
        f"{title}, CPU time of the other console / leader", cores[other.name] / cores[leader.name], 0.6, "x", note
    )


def _agents(cluster: LocalCluster, cores: Mapping[str, float]) -> float:
    return sum(cores[address] for address in cluster.addresses)


def _wait_for_writes(cluster: LocalCluster, *writers: RestWriter) -> None:
    cluster.wait_until(lambda: all(len(each.succeeded) > 5 for each in writers), "the consoles do not accept writes")


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def _note(failures: list[str]) -> str:
    return f" ({'; '.join(sorted(set(failures)))[:500]})" if failures else ""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    {"changes": _changes, "standby": _standby}[sys.argv[1]](Report(), Path(sys.argv[2]))
