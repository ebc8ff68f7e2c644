"""`python -m bench [--smoke] [NAME…]` runs all benchmarks, or only those named: small, sixty, paper, failover, failover-silent,
failover-false, handover, resync, wires, reshard, slots, page, metrics, collection, endpoint, load, agreement, engine, tier,
tier-memory. Two run only when named: run-page (an hour) and engines (compares two engines). With `--smoke`, each runs in a short
form.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import creation, failover
from bench.agreement import agreement
from bench.collection import collection
from bench.endpoint import endpoint
from bench.engines import engine, engines
from bench.handover import handover
from bench.load import load
from bench.metrics import storing
from bench.page import page
from bench.report import Report
from bench.reshard import reshard
from bench.resync import resync
from bench.run_page import run_page
from bench.scale import SMOKE, scaled
from bench.slots import slot_views
from bench.smoke import SAME, smoke
from bench.tier import tier, tier_memory
from bench.unjustified import unjustified
from bench.wires import wires
from shardboard.lifeline import lifeline

NAMED = ("run-page", "engines")
"""Benchmarks that run only when named, because they take very long."""


def _benchmarks(report: Report, root: Path) -> dict[str, Callable[[], None]]:
    """Return all benchmarks by name. Each keeps its files below `root`."""
    return {
        "small": lambda: creation.small(report, root / "small"),
        "sixty": lambda: creation.large(report, root / "sixty", shards=scaled(60, 6), nodes=3, limit=8),
        "paper": lambda: creation.large(
            report, root / "paper", shards=scaled(360, 6), nodes=scaled(18, 3), limit=60, encrypted=False
        ),
        "failover": lambda: failover.killed(report, root / "failover"),
        "failover-silent": lambda: failover.silent(report, root / "failover-silent"),
        "failover-false": lambda: unjustified(report, root / "failover-false"),
        "handover": lambda: handover(report, root / "handover"),
        "resync": lambda: resync(report, root / "resync"),
        "wires": lambda: wires(report, root / "wires"),
        "reshard": lambda: reshard(report, root / "reshard"),
        "page": lambda: page(report),
        "metrics": lambda: storing(report),
        "collection": lambda: collection(report, root / "collection", shards=scaled(512, 8), nodes=scaled(26, 3)),
        "slots": lambda: slot_views(report),
        "endpoint": lambda: endpoint(report),
        "load": lambda: load(report),
        "agreement": lambda: agreement(report, root / "agreement"),
        "engine": lambda: engine(report, root / "engine"),
        "tier": lambda: tier(report, root / "tier"),
        "tier-memory": lambda: tier_memory(report),
        "run-page": lambda: run_page(report, root / "run-page"),
        "engines": lambda: engines(report, root / "engines"),
    }


def main() -> int:
    """Return exit status 1 if a limit was missed."""
    report = Report()
    # The default action would skip all clean-up; the lifeline is for SIGKILL.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    names = [name for name in sys.argv[1:] if name != "--smoke"]
    if "--smoke" in sys.argv[1:]:
        return smoke(names or [name for name in _benchmarks(report, Path()) if name not in SAME])
    # Short names: a browser uses a socket below this directory, whose path is limited to 107 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as directory,
        lifeline(Path(directory)),
    ):
        # All child processes inherit it, so the lifeline finds them.
        os.environ["TMPDIR"] = tempfile.tempdir = directory
        benchmarks = _benchmarks(report, Path(directory))
        for name in names or [name for name in benchmarks if name not in NAMED]:
            benchmarks[name]()
    print(f"{len(report.lines)} results, {report.missed} limits missed")
    return 1 if report.missed and not SMOKE else 0


if __name__ == "__main__":
    sys.exit(main())
