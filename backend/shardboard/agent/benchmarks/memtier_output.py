"""Conversion of memtier_benchmark's output to the lines of `shardboard-load` (`engine/load/src/report/live.rs`).

Values that it does not report are omitted: its seconds have neither percentiles nor command types.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NUMBER = r"-?(?:nan|inf|[\d.]+)"
PROGRESS_LINE = re.compile(
    rf"\[RUN #\d+ (?P<percent>{_NUMBER})%, +\d+ secs\] +\d+ threads(?: +\d+ conns)?(?: (?P<lost>\d+) conn errors)?: "
    rf"+(?P<ops>\d+) ops, +\d+ \(avg: +\d+\) ops/sec, \S+/sec \(avg: \S+/sec\), +(?P<latency>{_NUMBER}) "
)
"""Progress line of one second, which ends with a carriage return; versions 2.1 to 2.4."""
_QUANTILES = {"p50_us": "p50.00", "p99_us": "p99.00", "p999_us": "p99.90"}
LIMITATIONS = [
    "memtier_benchmark counts error replies and redirections as operations.",
    "memtier_benchmark measures latency from the write of a request: requests that a stall delays are not included.",
    "memtier_benchmark stores latency with two digits and reports percentiles only for the complete run.",
]
DISCARDED = "memtier_benchmark lost connections and started over: its figures exclude everything before."
CUT_OFF = "memtier_benchmark was still running a minute after its test time and was stopped."


@dataclass
class ProgressParser:
    """Consecutive progress lines. Converts totals to differences from the previous line."""

    ops: int = 0
    lost: int = 0
    number: int = 0
    discarded: bool = False
    """Whether a total decreased: since version 2.3, memtier_benchmark starts over after losing its connections."""

    def parse_line(self, text: str, at: float) -> dict[str, Any] | None:
        """Return the line about the second that ended at `at` (epoch seconds); None if the text is not a progress line."""
        match = PROGRESS_LINE.search(text)
        if match is None:
            return None
        ops, lost_connections = int(match["ops"]), int(match["lost"] or 0)
        if ops < self.ops:
            self.discarded, self.ops, self.lost = True, 0, min(lost_connections, self.lost)
        percent, latency = _finite(match["percent"]), _finite(match["latency"])
        newly_lost = max(0, lost_connections - self.lost)
        line = {
            "kind": "second",
            "t": self.number,
            "at": at,
            "ops": ops - self.ops,
            "errors": {"connection": newly_lost} if newly_lost else {},
            "average_us": latency * 1000 if latency is not None and ops > self.ops else None,
            "progress": min(1.0, percent / 100) if percent is not None else None,
        }
        self.ops, self.lost, self.number = ops, lost_connections, self.number + 1
        return line

    def stopped_line(self, at: float, seconds: float) -> dict[str, Any]:
        """Return the last line of a run that was stopped without a report."""
        return {"kind": "end", "at": at, "seconds": seconds, "ops": self.ops, "stopped": True, "measured": self.ops > 0}


def end_line(text: str, at: float) -> dict[str, Any] | None:
    """Return the last line, from the JSON file; None if the file is incomplete."""
    try:
        return _end_fields(json.loads(text)["ALL STATS"], at)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _end_fields(section: Mapping[str, Any], at: float) -> dict[str, Any]:
    run, totals = section["Runtime"], section["Totals"]
    seconds, ops = max(0.0, float(run["Total duration"]) / 1000), int(totals["Count"])
    lost_connections = int(totals.get("Connection Errors") or 0)

    def total(*names: str) -> int:
        return round(sum(_finite(totals.get(name)) or 0.0 for name in names) * seconds)

    line: dict[str, Any] = {
        "kind": "end",
        "at": at,
        "seconds": seconds,
        "ops": ops,
        "ops_per_second": _finite(totals.get("Ops/sec")) or 0.0,
        "misses": total("Misses/sec"),
        "redirected": total("MOVED/sec", "ASK/sec"),
        "received_bytes": total("KB/sec RX") * 1024,
        "sent_bytes": total("KB/sec TX") * 1024,
        "errors": {"connection": lost_connections} if lost_connections else {},
        "outages": [],
        "stopped": str(run.get("Interrupted", "")).lower() == "true",
        "measured": ops > 0,
    }
    if {"Sets", "Gets"} <= section.keys():
        line |= {"writes": int(section["Sets"]["Count"]), "reads": int(section["Gets"]["Count"])}
    if ops > 0:
        shares = totals.get("Percentile Latencies", {})
        line |= {name: _micros(shares.get(key)) for name, key in _QUANTILES.items()}
        line |= {"average_us": _micros(totals.get("Average Latency")), "max_us": _micros(totals.get("Max Latency"))}
        line["histogram"] = _histogram(section)
    return line


def redacted(text: str) -> str:
    """Return the JSON file without the password; empty if it is not valid."""
    try:
        report = json.loads(text)
        for name in ("authenticate", "uri"):
            if report["configuration"].get(name):
                report["configuration"][name] = "(not shown)"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
    return json.dumps(report, indent=2)


def _histogram(section: Mapping[str, Any]) -> dict[str, int]:
    """Return counts by latency in microseconds, from the cumulative percentages of each command type."""
    counts: dict[str, int] = {}
    for name, steps in section.items():
        row = section.get(f"{name.capitalize()}s")
        if not isinstance(steps, list) or not isinstance(row, Mapping):
            continue
        total, previous = int(row.get("Count") or 0), 0
        for step in steps:
            cumulative = round(total * float(step["percent"]) / 100)
            value = str(round(float(step["<=msec"]) * 1000))
            if cumulative > previous:
                counts[value] = counts.get(value, 0) + cumulative - previous
                previous = cumulative
    return counts


def _micros(milliseconds: Any) -> float | None:
    value = _finite(milliseconds)
    return None if value is None else value * 1000


def _finite(printed: Any) -> float | None:
    """Return a float; None for `nan`, which memtier_benchmark prints before the first operation."""
    try:
        value = float(printed)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
