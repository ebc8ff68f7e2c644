"""Load of `shardboard-load` at a database, and its latencies by second."""

import json
import math
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perf.data_path.endpoint import ENGINE

PROGRAM = ENGINE / "target" / "release" / "shardboard-load"
Interval = tuple[float, float]
"""Start and end, Unix seconds."""


class RateLoad:
    """A running load whose lines are written to a file."""

    def __init__(self, lines: Path) -> None:
        self._lines = lines

    def p99(self, intervals: Sequence[Interval]) -> float:
        """Return the 99th percentile in milliseconds, of all seconds that are within one of the intervals."""
        total: Counter[int] = Counter()
        for second in _seconds(self._lines):
            end = second["at"]
            if any(first <= end - 1 and end <= last for first, last in intervals):
                total.update({int(latency): number for latency, number in second["histogram"].items()})
        left = math.ceil(0.99 * total.total())
        if not left:
            raise RuntimeError("no second is within the intervals; increase the amount of data")
        for latency in sorted(total):
            left -= total[latency]
            if left <= 0:
                break
        return latency / 1_000


@contextmanager
def rate_load(endpoint: dict[str, Any], options: Sequence[str], rate: float, lines: Path) -> Iterator[RateLoad]:
    """Send requests on a schedule until the end of the block."""
    with lines.open("wb") as file:
        command = [*_command(endpoint, options), f"--rate={rate:.0f}", "--endless", "--live-lines=-"]
        with subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL) as process:
            try:
                yield RateLoad(lines)
                if process.poll() is not None:
                    raise RuntimeError(f"the load ended early with status {process.returncode}")
            finally:
                process.terminate()


def highest_rate(endpoint: dict[str, Any], options: Sequence[str], p99_ms: float, step_seconds: int) -> float:
    """Return the highest rate at which the 99th percentile stays within a limit."""
    search = [f"--find-max=p99:{p99_ms:g}", f"--find-max-step={step_seconds}", "--live-lines=-"]
    command = [*_command(endpoint, options), *search]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    rate: float = json.loads(result.stdout.splitlines()[-1])["rate"]
    return rate


def write(endpoint: dict[str, Any], options: Sequence[str], requests_per_client: int) -> None:
    """Write values of random keys as fast as possible."""
    command = [*_command(endpoint, options), "--ratio=1:0", f"--requests={requests_per_client}", "--pipeline=16"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def write_all_keys(endpoint: dict[str, Any], options: Sequence[str]) -> None:
    """Write each key of the load once."""
    command = [*_command(endpoint, options), "--ratio=1:0", "--key-pattern=P:P", "--requests=allkeys"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _command(endpoint: dict[str, Any], options: Sequence[str]) -> list[str]:
    return [str(PROGRAM), "-h", endpoint["addr"][0], "-p", str(endpoint["port"]), "-o", "/dev/null", *options]


def _seconds(lines: Path) -> list[dict[str, Any]]:
    text = lines.read_text()
    complete = text[: text.rfind("\n") + 1].splitlines()
    return [line for line in map(json.loads, complete) if line["kind"] == "second"]
