"""`python -m bench [NAME…]`: all benchmarks, or those named: small, sixty, paper, failover,
failover-silent, failover-false, resync, reshard, page, metrics, collection,
endpoint, agreement."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import creation, failover
from bench.agreement import agreement
from bench.collection import collection
from bench.endpoint import endpoint
from bench.metrics import storing
from bench.page import page
from bench.report import Report
from bench.reshard import reshard
from bench.resync import resync
from bench.unjustified import unjustified


def main() -> int:
    """Exit status 1 when a limit was missed."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="shardboard-bench-") as name:
        root = Path(name)
        benchmarks: dict[str, Callable[[], None]] = {
            "small": lambda: creation.small(report, root / "small"),
            "sixty": lambda: creation.large(report, root / "sixty", shards=60, nodes=3, limit=8),
            "paper": lambda: creation.large(report, root / "paper", shards=360, nodes=18, limit=60),
            "failover": lambda: failover.killed(report, root / "failover"),
            "failover-silent": lambda: failover.silent(report, root / "failover-silent"),
            "failover-false": lambda: unjustified(report, root / "failover-false"),
            "resync": lambda: resync(report, root / "resync"),
            "reshard": lambda: reshard(report, root / "reshard"),
            "page": lambda: page(report),
            "metrics": lambda: storing(report),
            "collection": lambda: collection(report, root / "collection"),
            "endpoint": lambda: endpoint(report),
            "agreement": lambda: agreement(report, root / "agreement"),
        }
        for chosen in sys.argv[1:] or benchmarks:
            benchmarks[chosen]()
    print(f"{len(report.lines)} results, {report.missed} limits missed")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
