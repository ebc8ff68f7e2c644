"""`python -m perf [--smoke | --check | --record] [NAME…]` runs all benchmarks, or only those named: small, sixty, paper, failover,
failover-silent, failover-false, handover, resync, wires, reshard, slots, page, metrics, collection, collection-128, endpoint, load,
agreement, engine, tier, tier-memory, backup, encryption, consoles, standby. Three run only when named: run-page (an hour), engines
(compares two engines), and scenarios (all published benchmarks, ten minutes in short form).

`--smoke` runs each in a short form. `--check` runs those that need less than five minutes each, and compares their figures with
perf/figures.toml; `--record` writes that table.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from perf.check import CHECKED, check
from perf.clusters import creation, failover
from perf.clusters.backup import backup
from perf.clusters.collection import collection, short_collection
from perf.clusters.consoles import consoles, standby
from perf.clusters.engines import engine, engines
from perf.clusters.false_failovers import unjustified
from perf.clusters.internode_encryption import wires
from perf.clusters.latency_agreement import agreement
from perf.clusters.metric_history import storing
from perf.clusters.planned_failover import handover
from perf.clusters.resharding import reshard
from perf.clusters.resync import resync
from perf.clusters.run_web_ui import run_page
from perf.clusters.scenarios import scenarios
from perf.clusters.slot_map import slot_views
from perf.clusters.web_ui import page
from perf.data_path.encryption import encryption
from perf.data_path.endpoint import endpoint
from perf.data_path.flash import tier, tier_memory
from perf.data_path.load_generator import load
from perf.kit.report import Report
from perf.kit.scale import SMOKE, scaled
from perf.smoke import LONG, SAME, smoke
from shardboard.local.lifeline import lifeline

NAMED = ("run-page", "engines", "scenarios")
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
        "collection-128": lambda: short_collection(report, root / "collection-128"),
        "slots": lambda: slot_views(report),
        "endpoint": lambda: endpoint(report),
        "load": lambda: load(report),
        "agreement": lambda: agreement(report, root / "agreement"),
        "engine": lambda: engine(report, root / "engine"),
        "tier": lambda: tier(report, root / "tier"),
        "tier-memory": lambda: tier_memory(report),
        "backup": lambda: backup(report, root / "backup"),
        "encryption": lambda: encryption(report),
        "consoles": lambda: consoles(report, root / "consoles"),
        "standby": lambda: standby(report, root / "standby"),
        "run-page": lambda: run_page(report, root / "run-page"),
        "engines": lambda: engines(report, root / "engines"),
        "scenarios": lambda: scenarios(report, root / "scenarios"),
    }


def main() -> int:
    """Return exit status 1 if a limit was missed, or with `--check` if a figure is worse than the committed one."""
    report = Report()
    # The default action would skip all clean-up; the lifeline is for SIGKILL.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    available = _benchmarks(report, Path())
    if len(options) > 1 or set(options) - {"--smoke", "--check", "--record"} or set(names) - set(available):
        sys.exit(__doc__)
    if "--smoke" in options:
        return smoke(names or [name for name in available if name not in SAME and name not in LONG])
    compared = bool(options)
    names = names or [name for name in available if (name in CHECKED if compared else name not in NAMED)]
    # Short names: a browser uses a socket below this directory, whose path is limited to 107 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as directory,
        lifeline(Path(directory)),
    ):
        # All child processes inherit it, so the lifeline finds them.
        os.environ["TMPDIR"] = tempfile.tempdir = directory
        benchmarks = _benchmarks(report, Path(directory))
        selected = {name: benchmarks[name] for name in names}
        if compared:
            is_as_good = check(report, selected, record="--record" in options)
        else:
            is_as_good = True
            for benchmark in selected.values():
                benchmark()
    print(f"{len(report.lines)} results, {report.missed} limits missed")
    return 1 if (report.missed and not SMOKE) or not is_as_good else 0


if __name__ == "__main__":
    sys.exit(main())
