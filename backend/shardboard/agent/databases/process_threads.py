"""Threads and child processes of a process, from /proc. A process that has ended has none."""

from contextlib import suppress
from pathlib import Path


def threads(pid: int) -> list[int]:
    with suppress(OSError):  # it has ended
        return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    return []


def child_processes(pid: int) -> list[int]:
    """Return the child processes that any thread has started."""
    children = []
    for thread in threads(pid):
        with suppress(OSError):  # it has ended
            children += Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    return [int(child) for child in children]
