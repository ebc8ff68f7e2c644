"""A test double of the mover. Its "snapshots" are text of a given length, and it "restores" whatever it reads.

The environment variable FAKE_MOVER contains fields of `Behavior` as JSON.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

VARIABLE = "FAKE_MOVER"
DEFAULTS: dict[str, Any] = {
    "size": 3_000_000,  # bytes of a snapshot
    "status": 0,
    "end": True,  # whether it writes the `end` line
    "error": None,  # `code` and `message` of the `error` line
    "hang": False,  # whether it continues to run after its output
    "reads": True,  # whether it reads its complete input
    "stderr": "",
}


def install(directory: Path, **behavior: Any) -> str:
    """Create the program in `directory` and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "shardboard-mover"
    variables = f"{VARIABLE}='{json.dumps(behavior)}'"
    script.write_text(f'#!/bin/sh\n{variables} exec {sys.executable} -S -I {Path(__file__).resolve()} "$@"\n')
    script.chmod(0o755)
    return str(script)


def content(size: int) -> bytes:
    """Return the content of a snapshot."""
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def main() -> int:
    behavior = DEFAULTS | json.loads(os.environ[VARIABLE])
    (lines,) = [int(word.partition("=")[2]) for word in sys.argv if word.startswith("--live-lines=")]
    Path("mover-arguments.json").write_text(json.dumps(sys.argv[1:]))
    sys.stderr.write(behavior["stderr"])
    sys.stderr.flush()

    def report(**fields: Any) -> None:
        os.write(lines, json.dumps(fields).encode() + b"\n")

    if sys.argv[1] == "snapshot":
        count = behavior["size"]
        sys.stdout.buffer.write(content(count))
        sys.stdout.buffer.flush()
    else:
        count = len(sys.stdin.buffer.read() if behavior["reads"] else b"")
    report(kind="progress", raw_bytes=2 * count, bytes=count, keys=7)
    if behavior["hang"]:
        time.sleep(600)
    if behavior["error"]:
        report(kind="error", **behavior["error"])
    elif behavior["end"]:
        report(kind="end", **_result(sys.argv[1], count))
    if behavior["status"] < 0:
        os.kill(os.getpid(), -behavior["status"])
        signal.pause()
    return int(behavior["status"])


def _result(command: str, count: int) -> dict[str, Any]:
    slots = [{"slot": 5, "keys": 7, "digest": "f" * 16}]
    if command == "restore":
        return {"restored": 7, "expired": 1, "skipped": 2, "bytes": count, "raw_bytes": 2 * count, "slots": slots}
    return {
        "bytes": count,
        "raw_bytes": 2 * count,
        "keys": 7,
        "expires": 1,
        "rdb_version": 80,
        "types": {"string": 7},
        "functions": ["lib"],
        "slots": slots,
        "analysis": {"largest": [{"key": "a", "bytes": 9}]},
    }


if __name__ == "__main__":
    sys.exit(main())
