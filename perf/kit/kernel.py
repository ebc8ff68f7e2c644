"""Kernel settings for the time of a benchmark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
BACKLOG = Path("/proc/sys/net/core/netdev_max_backlog")


@contextmanager
def changed(setting: Path, value: int) -> Iterator[bool]:
    """Set a kernel setting until the end of the block. Yield whether it has the value; changing it needs root."""
    try:
        before = setting.read_text().strip()
        if before != str(value):
            setting.write_text(f"{value}\n")
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        if before != str(value):
            setting.write_text(f"{before}\n")
