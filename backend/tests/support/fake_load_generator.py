"""A test double of the load generator: prints the same lines with invented numbers, at 20 times the speed.

`install` creates it in a directory for PATH. It ends after `--test-time` of its seconds, or at SIGTERM, as the real program does.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

PACE = 0.05


def install(directory: Path) -> str:
    """Create the program in `directory` under the generator's name, and return the directory for PATH."""
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "shardboard-load"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    script.chmod(0o755)
    return str(directory)


def second_line(t: int, at: float, ops: int = 1000, micros: int = 200, **more: Any) -> dict[str, Any]:
    """Return the line for one second in which every operation took `micros` microseconds."""
    return {
        "kind": "second",
        "t": t,
        "at": at,
        "ops": ops,
        "reads": ops // 2,
        "writes": ops - ops // 2,
        "misses": 0,
        "redirected": 0,
        "errors": {},
        "sent_bytes": ops * 50,
        "received_bytes": ops * 40,
        "average_us": float(micros),
        "p50_us": float(micros),
        "p99_us": float(micros),
        "p999_us": float(micros),
        "max_us": float(micros),
        "histogram": {str(micros): ops} if ops else {},
        "in_flight": 4,
        "progress": None,
        "schedule_lag_us": None,
        "threads_cpu": [0.5],
        **more,
    }


def begin_line(at: float) -> dict[str, Any]:
    return {"kind": "begin", "at": at, "version": "0", "workload": {}, "warnings": []}


def end_line(at: float, seconds: float, ops: int, *, stopped: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "kind": "end",
        "at": at,
        "seconds": seconds,
        "ops": ops,
        "ops_per_second": ops / seconds if seconds else 0.0,
        "average_us": 200.0,
        "p50_us": 200.0,
        "p99_us": 200.0,
        "p999_us": 200.0,
        "errors": {},
        "redirected": 0,
        "outages": [],
        "stopped": stopped,
        "measured": ops > 0,
        **more,
    }


def main() -> int:
    options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    signals: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        signals.append(number)

    signal.signal(signal.SIGTERM, on_signal)
    with os.fdopen(int(options["live-lines"]), "w", buffering=1) as lines:
        start, seconds = time.time(), int(options.get("test-time", 3))
        if options.get("key-prefix") == "fault":
            lines.write(json.dumps({"kind": "error", "message": "The target does not answer."}) + "\n")
            return 2
        lines.write(json.dumps(begin_line(start)) + "\n")
        t = 0
        while t < seconds and not signals:
            time.sleep(PACE)
            t += 1
            lines.write(json.dumps(second_line(t - 1, start + t, progress=t / seconds)) + "\n")
        lines.write(json.dumps(end_line(start + t, t, 1000 * t, stopped=bool(signals))) + "\n")
        Path(options["json-out-file"]).write_text(json.dumps({"password": os.environ.get("SHARDBOARD_LOAD_PASSWORD")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
