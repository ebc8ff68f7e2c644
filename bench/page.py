"""What only a browser can tell; measured by the e2e project `bench`, which writes its numbers to a file."""

import json
import subprocess
from pathlib import Path

from bench.report import Report

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "e2e" / "results.json"


def page(report: Report) -> None:
    """Age of samples in the browser, size of the first view, time to interactive."""
    RESULTS.unlink(missing_ok=True)
    subprocess.run(["npm", "run", "--silent", "--workspace", "e2e", "bench"], cwd=ROOT, check=True, timeout=600)
    found = json.loads(RESULTS.read_text())
    report.limit(
        "age of a sample when the page has drawn it, p99", found["sample_age_ms"]["painted"]["p99"] / 1000, 1.5, "s"
    )
    report.limit("JavaScript of the first view, compressed", found["overview"]["script_bytes"] / 1000, 300, "kB")
    report.limit("login interactive, from localhost", found["login"]["interactive_ms"] / 1000, 1.0, "s")
    report.limit("overview interactive, from localhost", found["overview"]["interactive_ms"] / 1000, 1.0, "s")
