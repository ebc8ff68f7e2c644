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
    report.limit("age of a sample on the page, p99", found["sample_age_p99_ms"] / 1000, 1.5, "s")
    report.limit("JavaScript of the first view, compressed", found["first_view_js_bytes"] / 1000, 300, "kB")
    report.limit("page interactive, from localhost", found["interactive_ms"] / 1000, 1.0, "s")
