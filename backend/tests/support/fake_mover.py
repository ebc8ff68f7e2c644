"""A test double of the mover. Its "snapshots" are text of a given length, and it "restores" whatever it reads.

The environment variable FAKE_MOVER contains fields of `Behavior` as JSON.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
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
    "files": 2,  # files of a recording, each of 100 bytes
    "ends_alone": False,  # whether a recording ends without being stopped
    "changes": {},  # fields of the position of a checked file
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
    with Path("mover-commands.log").open("a") as log:
        log.write(f"{' '.join(sys.argv[1:])}\n")
    sys.stderr.write(behavior["stderr"])
    sys.stderr.flush()

    def report(**fields: Any) -> None:
        os.write(lines, json.dumps(fields).encode() + b"\n")

    if sys.argv[1] == "record":
        count = _record(behavior["files"], report, is_stopped=behavior["ends_alone"])
    elif sys.argv[1] == "snapshot":
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
        report(kind="end", **_result(sys.argv[1], count, behavior["changes"]))
    if behavior["status"] < 0:
        os.kill(os.getpid(), -behavior["status"])
        signal.pause()
    return int(behavior["status"])


def _record(files: int, report: Callable[..., None], *, is_stopped: bool) -> int:
    """Send files as requested, then wait until it is stopped. Return the offset after those that were stored."""
    report(kind="progress", replication_id="a" * 40, offset=0, recorded_until=0, waiting_bytes=7)
    stored = 0
    waits = False
    for line in sys.stdin.buffer:
        is_stopped |= line == b"stop\n"
        if line == b"stored\n":
            stored += 1
            report(kind="progress", replication_id="a" * 40, offset=100 * stored, recorded_until=stored)
        waits |= line == b"next\n"
        if waits and stored < files:
            fields = {"replication_id": "a" * 40, "start": 100 * stored, "end": 100 * (stored + 1)}
            header = json.dumps({**fields, "since": stored, "until": stored + 1, "bytes": 100})
            sys.stdout.buffer.write(header.encode() + b"\n" + content(100))
            sys.stdout.buffer.flush()
            waits = False
        elif waits and is_stopped:
            break
    return 100 * stored


def _result(command: str, count: int, changes: dict[str, Any]) -> dict[str, Any]:
    slots = [{"slot": 5, "keys": 7, "digest": "f" * 16}]
    if command == "check-changes":
        return {"replication_id": "a" * 40, "start": 100, "end": 200, "bytes": count, **changes}
    if command == "record":
        return {"replication_id": "a" * 40, "offset": count, "recorded_until": count // 100, "reason": "stopped"}
    if command == "replay":
        return {"replayed": 5, "bytes": count, "raw_bytes": 2 * count}
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
