"""`python engine/bench [NAME...]`: measure the cost of the endpoint relative to direct access in the same run. See README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from flash import flash
from rows import SMOKE, idle, latency, long, nutcracker, throughput

from load import load
from report import Report

ROWS = {"throughput": throughput, "long": long, "nutcracker": nutcracker, "idle": idle, "latency": latency}
# Rows of the load generator and the flash tier. They run only if they are named.
OTHERS = {"load": load, "flash": flash}


def main() -> int:
    """Run the rows. Return 1 if a limit was missed."""
    binary = Path(__file__).resolve().parent.parent / "target/release/shardboard-proxy"
    report = Report()
    for name in sys.argv[1:] or ROWS:
        (ROWS | OTHERS)[name](report, binary)
    return 1 if report.missed and not SMOKE else 0


sys.exit(main())
