"""Wrapper around memtier_benchmark with the interface of the built-in load generator: it converts its output to lines.

`python -m shardboard.agent.benchmarks.memtier --live-lines=NUMBER --json-out-file=NAME [option of memtier_benchmark]…`, in a
separate directory. The process survives the agent, as the generator does. It receives the password in its environment.
memtier_benchmark only takes it as an argument, which is visible in the process list; users accept this when they choose the tool.
"""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import IO, Any, TextIO

from shardboard.agent.benchmarks.memtier_output import (
    CUT_OFF,
    DISCARDED,
    LIMITATIONS,
    ProgressParser,
    end_line,
    redacted,
)
from shardboard.agent.databases.engine import version_text

BINARY = "memtier_benchmark"
PASSWORD = "SHARDBOARD_LOAD_PASSWORD"  # noqa: S105 - the name of a variable
RAW = "memtier.json"
"""JSON file of memtier_benchmark. It contains the password and is deleted at the end."""
GRACE_SECONDS = 60
"""Extra time beyond the test time, because memtier_benchmark can start over several times."""
END_SECONDS = 10
POLL_SECONDS = 1.0
_VERSION = re.compile(r"v=(\d[\w.]*)|memtier_benchmark (\d[\w.]*)")


def version() -> str:
    """Return the version of the memtier_benchmark on PATH, such as `2.3.1`, or "" if there is none."""
    match = _VERSION.search(version_text(shutil.which(BINARY)))
    return next(filter(None, match.groups()), "") if match is not None else ""


class MemtierRun:
    """One run of memtier_benchmark, reported on `lines`."""

    def __init__(self, process: "subprocess.Popen[bytes]", lines: TextIO, seconds: float) -> None:
        """`seconds` is the longest time that the run may take."""
        self._process = process
        self._lines = lines
        self._seconds = ProgressParser()
        self._began = time.time()
        self._overdue = time.monotonic() + seconds
        self._last = float("inf")
        """When the process is killed after a request to stop; seconds of the monotonic clock."""
        self._warnings = list(LIMITATIONS)

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Stop the run. On SIGINT, memtier_benchmark prints what it has measured."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._last = min(self._last, time.monotonic() + END_SECONDS)

    def follow(self, output: IO[bytes]) -> None:
        """Convert the program's standard error until it is closed. Other lines go to our standard error, where the agent finds the
        reason of a failure.
        """
        self._write_begin()
        remaining = b""
        while True:
            self._enforce_deadlines()
            if not select.select([output], [], [], POLL_SECONDS)[0]:
                continue
            chunk = os.read(output.fileno(), 65_536)
            *complete_lines, remaining = re.split(rb"[\r\n]+", remaining + chunk) if chunk else (remaining, b"")
            for text in complete_lines:
                self._process_output(text.decode(errors="replace"))
            if not chunk:
                return

    def write_end(self, json_out: Path) -> None:
        """Write the last line, and the JSON file without the password."""
        try:
            text = Path(RAW).read_text(errors="replace")
            Path(RAW).unlink()
        except FileNotFoundError:
            text = ""
        if (last := end_line(text, time.time())) is not None:
            self._write(last)
            json_out.write_text(redacted(text))
        elif self._last < float("inf"):  # stopped, and ended without a report
            self._write(self._seconds.stopped_line(time.time(), time.time() - self._began))

    def _enforce_deadlines(self) -> None:
        now = time.monotonic()
        if now >= self._overdue:
            self._overdue = float("inf")
            self._warn(CUT_OFF)
            self.stop()
        if now >= self._last:
            self._process.kill()

    def _process_output(self, text: str) -> None:
        second = self._seconds.parse_line(text, time.time())
        if second is not None:
            if self._seconds.discarded:
                self._warn(DISCARDED)
            self._write(second)
        elif text.strip():
            sys.stderr.write(text + "\n")

    def _warn(self, warning: str) -> None:
        if warning not in self._warnings:
            self._warnings.append(warning)
            self._write_begin()  # replaces the earlier line

    def _write_begin(self) -> None:
        self._write({"kind": "begin", "at": self._began, "tool": BINARY, "warnings": self._warnings})

    def _write(self, line: dict[str, Any]) -> None:
        self._lines.write(json.dumps(line) + "\n")


def main() -> int:
    number, json_out, arguments = _split(sys.argv[1:])
    environment = dict(os.environ)
    longest = _max_seconds(arguments)
    if password := environment.pop(PASSWORD, ""):
        arguments.append(f"--authenticate={password}")
    path = shutil.which(BINARY)
    with os.fdopen(number, "w", buffering=1) as lines:
        if path is None:
            lines.write(json.dumps({"kind": "error", "message": f"{BINARY} is not on this node's PATH."}) + "\n")
            return 2
        command = [path, f"--json-out-file={RAW}", *arguments]
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            run = MemtierRun(process, lines, longest)
            signal.signal(signal.SIGTERM, run.stop)
            assert process.stderr is not None  # noqa: S101 - set by PIPE above
            run.follow(process.stderr)
        run.write_end(json_out)
    return 1 if process.returncode else 0


def _split(words: list[str]) -> tuple[int, Path, list[str]]:
    """Return the file descriptor for lines, the JSON file, and the arguments of memtier_benchmark."""
    output_options = {"--live-lines": "", "--json-out-file": ""}
    other_options = []
    for word in words:
        name, _, value = word.partition("=")
        if name in output_options:
            output_options[name] = value
        else:
            other_options.append(word)
    return int(output_options["--live-lines"]), Path(output_options["--json-out-file"]), other_options


def _max_seconds(arguments: list[str]) -> float:
    """Return the seconds after which the run is overdue: one day if it is limited by requests instead of time."""
    times = [word.partition("=")[2] for word in arguments if word.startswith("--test-time=")]
    return int(times[-1]) + GRACE_SECONDS if times else 86_400.0


if __name__ == "__main__":
    sys.exit(main())
