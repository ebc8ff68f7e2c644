"""Data on disk from which a shard can start: its append-only file or its last snapshot."""

import shutil
from pathlib import Path

SNAPSHOT = "dump.rdb"
LOG = "appendonlydir"
"""File names of the engine."""


def uses_append_only_file(directory: Path) -> bool:
    """Return whether the engine starts from its append-only file. This reads the current settings, which can differ from the
    initial ones.
    """
    try:
        text = (directory / "valkey.conf").read_text()
    except OSError:
        return False
    return any(line.split() == ["appendonly", "yes"] for line in text.splitlines())


def saved_at(directory: Path, *, log: bool) -> float | None:
    """Return when the data was last written (epoch seconds); None if there is none. `log` selects the append-only file."""
    files = list((directory / LOG).glob("*")) if log else [directory / SNAPSHOT]
    times = []
    for file in files:
        try:
            times.append(file.stat().st_mtime)
        except OSError:
            continue  # it is not there, or is being replaced
    return max(times, default=None)


def is_saved_since(directory: Path, moment: float, *, log: bool) -> bool:
    """Return whether the data on disk is from the last stop. A primary started from older data, or without data, would make its
    replicas delete data that they still have.
    """
    if log:
        return True  # it is written continuously, not at the end
    saved_time = saved_at(directory, log=False)
    return saved_time is not None and saved_time >= moment - 0.1  # file systems round timestamps down


def delete_data(directory: Path) -> None:
    """Delete both, so that the engine starts empty."""
    shutil.rmtree(directory / LOG, ignore_errors=True)
    (directory / SNAPSHOT).unlink(missing_ok=True)
