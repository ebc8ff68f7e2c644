"""`python -m perf.data_path [NAME...]`: measure the cost of the endpoint relative to direct access in the same run. See README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "engine" / "testkit"))

from perf.data_path.flash_rows import flash
from perf.data_path.endpoint_rows import SMOKE, idle, latency, long, nutcracker, throughput

from perf.data_path.load_rows import load
from perf.data_path.row_report import Report

ROWS = {"throughput": throughput, "long": long, "nutcracker": nutcracker, "idle": idle, "latency": latency}
# Rows of the load generator and the flash module. They run only if they are named.
OTHERS = {"load": load, "flash": flash}


def main() -> int:
    """Run the rows. Return 1 if a limit was missed."""
    binary = Path(__file__).resolve().parents[2] / "engine/target/release/shardboard-proxy"
    report = Report()
    for name in sys.argv[1:] or ROWS:
        (ROWS | OTHERS)[name](report, binary)
    return 1 if report.missed and not SMOKE else 0


sys.exit(main())
