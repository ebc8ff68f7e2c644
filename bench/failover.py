"""How soon writes to the slots of a lost node are good again: 6+6 shards on 3 nodes, under mixed load."""

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.outages import SEED, Round, Struck, freeze, kill, lose, shop
from bench.report import Report
from bench.scale import counted
from shardboard import demo_load
from shardboard.local import LocalCluster

KILLS = counted("KILLS", 20, 1)
FREEZES = counted("FREEZES", 10, 1)


def killed(report: Report, directory: Path) -> None:
    """Processes killed, connections reset; the same database again once it is whole."""
    rounds = _rounds(directory, KILLS, kill)
    _gaps(report, "node killed", rounds, 0.6, 1.5)
    lost = sum(each.lost for each in rounds)
    report.limit(f"node killed: acknowledged writes lost in {KILLS} kills", lost, 0, "writes")


def silent(report: Report, directory: Path) -> None:
    """Processes frozen: connections stay open and nobody answers."""
    rounds = _rounds(directory, FREEZES, freeze)
    _gaps(report, "node silent", rounds, 1.5, 3.0)
    # A primary that is frozen has acknowledged what it had not sent yet: replication is asynchronous.
    report.fact("node silent: acknowledged writes lost in each", [float(each.lost) for each in rounds], "writes")


def _rounds(directory: Path, count: int, strike: Callable[[LocalCluster], Callable[[str], Struck]]) -> list[Round]:
    choice = random.Random(SEED)
    with shop(directory) as (cluster, uid):
        primary = next(row for row in cluster.api.get(f"/v1/bdbs/{uid}/shards").json() if row["role"] == "master")
        demo_load.start(cluster, "traffic", [(primary["address"], primary["port"])])
        return [lose(cluster, uid, choice, strike(cluster)) for _ in range(count)]


def _gaps(report: Report, what: str, rounds: list[Round], middle: float, worst: float) -> None:
    gaps = [gap for each in rounds for gap in each.gaps]
    report.fact(f"{what}: writes to its slots good again", gaps, "s")
    report.limit(f"{what}: median", median(gaps), middle, "s")
    report.limit(f"{what}: worst", max(gaps), worst, "s")
    report.fact(f"{what}: longest wait at living nodes", [each.waited for each in rounds], "s")
    refused = [said for each in rounds for said in each.refused]
    note = f" ({'; '.join(sorted(set(refused)))})" if refused else ""
    report.limit(f"{what}: writes refused by primaries of living nodes", len(refused), 0, "writes", note)
