"""What a shard has on disk to start again from: its append-only file, or its last snapshot."""

import shutil
from pathlib import Path

SNAPSHOT = "dump.rdb"
LOG = "appendonlydir"
"""The engine's names."""


def keeps_log(directory: Path) -> bool:
    """Whether the engine starts from its append-only file. Its settings say so, which may be others than at its birth."""
    try:
        text = (directory / "valkey.conf").read_text()
    except OSError:
        return False
    return any(line.split() == ["appendonly", "yes"] for line in text.splitlines())


def saved_at(directory: Path, *, log: bool) -> float | None:
    """When it was last written, epoch seconds; None when there is nothing. `log` says which of the two the engine reads."""
    files = list((directory / LOG).glob("*")) if log else [directory / SNAPSHOT]
    times = []
    for file in files:
        try:
            times.append(file.stat().st_mtime)
        except OSError:
            continue  # it is not there, or is being replaced
    return max(times, default=None)


def saved_since(directory: Path, moment: float, *, log: bool) -> bool:
    """Whether the data on disk are those of the last stop. Started from older ones, or none, a primary would make its
    replicas forget what they still have."""
    if log:
        return True  # it is written as it goes, not at the end
    written = saved_at(directory, log=False)
    return written is not None and written >= moment - 0.1  # file systems round times down to their own ticks


def discard(directory: Path) -> None:
    """Delete both, so that the engine starts empty."""
    shutil.rmtree(directory / LOG, ignore_errors=True)
    (directory / SNAPSHOT).unlink(missing_ok=True)
