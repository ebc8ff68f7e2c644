"""`python engine/bench [NAME...]`: what the endpoint costs, against direct access in the same run. See README.md."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lab"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from flash import flash
from rows import SMOKE, idle, latency, long, nutcracker, throughput

from load import load
from report import Report

ROWS = {"throughput": throughput, "long": long, "nutcracker": nutcracker, "idle": idle, "latency": latency}
# Of the load generator and the flash tier; not among those of the endpoint unless named.
OTHERS = {"load": load, "flash": flash}


def main() -> int:
    """Exit status 1 when a limit was missed."""
    binary = Path(__file__).resolve().parent.parent / "target/release/shardboard-proxy"
    report = Report()
    for name in sys.argv[1:] or ROWS:
        (ROWS | OTHERS)[name](report, binary)
    return 1 if report.missed and not SMOKE else 0


sys.exit(main())
