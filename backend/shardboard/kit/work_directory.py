"""Temporary directories for files with secrets, which a killed process leaves behind only until the next use."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def work_directory(parent: Path, prefix: str) -> Iterator[Path]:
    """Create a directory for this process only, and delete it afterwards, with those of processes that were killed."""
    for leftover in parent.glob(f"{prefix}*"):
        with _locked(leftover) as is_mine:
            if is_mine:
                shutil.rmtree(leftover, ignore_errors=True)
    with ExitStack() as locks:
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # A process that starts in the same moment can delete the directory before it is locked.
        while not (locks.enter_context(_locked(directory)) and directory.is_dir()):
            directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Lock a directory, and yield whether no other process has locked it."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # its owner has just deleted it
        yield False
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)
