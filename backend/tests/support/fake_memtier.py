"""A test double of memtier_benchmark 2.3.1: same output and files, at 20 times the speed.

`install` creates it in a directory for PATH. The key prefix selects how it ends: `hangs` runs until it is killed and ignores
SIGINT, `anew` loses its connections half-way and restarts, `fault` cannot reach the server.
"""

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

PACE = 0.05
VERSION = "memtier_benchmark v=2.3.1 sha=00000000:0 bits=64 libevent=2.1.12-stable openssl=OpenSSL 3.0.17"


def install(directory: Path) -> str:
    """Create the program in `directory`, and return the directory for PATH."""
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "memtier_benchmark"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    script.chmod(0o755)
    return str(directory)


def progress_line(t: int, ops: int, *, percent: str = "0", lost: int = 0, latency: str = " 0.21") -> str:
    """Return its progress line for one second, without the carriage return."""
    errors = f" {lost} conn errors" if lost else ""
    return (
        f"[RUN #1 {percent}%, {t:3} secs]  1 threads  2 conns{errors}: {ops:11} ops, {1000:7} (avg: {1000:7}) ops/sec, "
        f"1.58MB/sec (avg: 1.58MB/sec), {latency} (avg:  0.21) msec latency"
    )


def json_report(
    seconds: float, sets: int, gets: int, *, interrupted: bool = False, password: str = ""
) -> dict[str, Any]:
    """Return the content of its JSON file, without the parts that are never read."""

    def row(count: int) -> dict[str, Any]:
        rate = count / seconds if seconds else 0.0
        return {
            "Count": count,
            "Ops/sec": rate,
            "Hits/sec": rate / 2,
            "Misses/sec": rate / 2,
            "MOVED/sec": 0.0,
            "ASK/sec": 0.0,
            "Connection Errors/sec": 0.0,
            "Connection Errors": 0,
            "Latency": 0.213,
            "Average Latency": 0.213,
            "Min Latency": 0.039,
            "Max Latency": 1.599,
            "KB/sec": 30.0,
            "KB/sec RX/TX": 30.0,
            "KB/sec RX": 10.0,
            "KB/sec TX": 20.0,
            "Percentile Latencies": {"p50.00": 0.207, "p99.00": 0.399, "p99.90": 0.807},
        }

    steps = [
        {"<=msec": 0.207, "percent": 50.0},
        {"<=msec": 0.399, "percent": 99.0},
        {"<=msec": 1.599, "percent": 100.0},
    ]
    return {
        "configuration": {"server": "127.0.0.1", "authenticate": password, "uri": ""},
        "run information": {"Threads": 1, "Connections per thread": 2, "Seconds": int(seconds), "Format version": 2},
        "ALL STATS": {
            "Runtime": {
                "Start time": 0,
                "Finish time": round(seconds * 1000),
                "Total duration": round(seconds * 1000),
                "Time unit": "MILLISECONDS",
                "Interrupted": "true" if interrupted else "false",
            },
            "Sets": row(sets),
            "Gets": row(gets),
            "Waits": {"Ops/sec": 0.0, "Count": 0},
            "Totals": row(sets + gets),
            "SET": steps,
            "GET": steps,
        },
    }


def main() -> int:
    if "--version" in sys.argv:
        sys.stdout.write(f"{VERSION}\n")
        return 0
    options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    prefix, signals = options.get("key-prefix", ""), []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        signals.append(number)

    signal.signal(signal.SIGINT, on_signal)
    if prefix == "fault":
        sys.stderr.write(f"error: failed to resolve {options.get('server')}\n")
        return 1
    sys.stderr.write(
        "Writing results to stdout\n[RUN #1] Preparing benchmark client...\n[RUN #1] Launching threads now...\n"
    )
    t, ops, seconds = 0, 0, int(options.get("test-time", 3))
    while (t < seconds and not signals) or prefix == "hangs":
        time.sleep(PACE)
        t, ops = t + 1, 1000 if prefix == "anew" and t == seconds // 2 else ops + 1000
        latency = " -nan" if t == 1 else " 0.21"
        sys.stderr.write(progress_line(t, ops, percent=f"{100 * t / seconds:.0f}", latency=latency) + "\r")
        sys.stderr.flush()
    sys.stderr.write("\n\n")
    sys.stdout.write("ALL STATS\n")
    result = json_report(
        t, ops // 4, ops - ops // 4, interrupted=bool(signals), password=options.get("authenticate", "")
    )
    Path(options["json-out-file"]).write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
