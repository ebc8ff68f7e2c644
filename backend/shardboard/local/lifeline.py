"""End the processes of a run when its owner ends, even if the owner is killed.

Shards outlive their agent by design, so a run that is killed would leave them behind. The owner starts a lifeline and holds
its standard input; the pipe closes with the owner, and the lifeline then ends the processes:

    python -m shardboard.local.lifeline DIRECTORY            kill every process that works below DIRECTORY
    python -m shardboard.local.lifeline --delete DIRECTORY   the same, and then delete DIRECTORY
    python -m shardboard.local.lifeline --cluster DIRECTORY  stop the local cluster in DIRECTORY; its agents save their shards
    python -m shardboard.local.lifeline --list DIRECTORY     print the processes that still work below DIRECTORY, one per line
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

MODULE = "shardboard.local.lifeline"
DIRECTORIES = ("TMPDIR", "SHARDBOARD_STATE_DIR")
"""Variables that name the directory of a process. A console has its own only there."""
TIMEOUT = 10.0
"""Seconds to wait for processes to end."""


@contextmanager
def lifeline(directory: Path, *options: str, pass_fds: Sequence[int] = ()) -> Iterator[None]:
    """Run a lifeline for `directory` until the context or this process ends. It keeps the file descriptors in `pass_fds`."""
    # Isolated mode: the working directory of the owner must not be searched for modules.
    command = [sys.executable, "-P", "-m", MODULE, *options, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, pass_fds=pass_fds):
        yield


def remaining(directory: Path) -> str:
    """Return the processes that still work below `directory` after the timeout: pid, name and command, one per line."""
    command = [sys.executable, "-P", "-m", MODULE, "--list", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def describe_remaining(directory: Path, timeout: float = TIMEOUT) -> list[str]:
    """Wait at most `timeout` seconds for the processes below `directory`. Return pid, name and command of those that still run."""
    psutil.wait_procs(working_below(directory), timeout=timeout)
    lines = []
    for process in working_below(directory):
        with suppress(psutil.Error):
            lines.append(f"{process.pid} {process.info['name']} {' '.join(process.cmdline())[:120]}")
    return lines


def working_below(directory: Path) -> list[psutil.Process]:
    """Return the processes whose working directory, command line or a directory in the environment is below `directory`.

    An engine overwrites its command line and environment, so all of them are compared. This process and its parents are left out.
    `info["name"]` of each process is its name when it was found: it may end before the caller looks at it.
    """
    excluded = {os.getpid(), *(process.pid for process in psutil.Process().parents())}
    return [each for each in psutil.process_iter(["name"]) if each.pid not in excluded and _is_below(each, directory)]


def _is_below(process: psutil.Process, directory: Path) -> bool:
    with suppress(psutil.Error, OSError):
        words = process.cmdline()  # empty: the process has ended
        if not words or MODULE in words:
            return False
        # An argument may contain the path: `--basetemp=…`. The slash excludes a directory whose name starts with this one's.
        if Path(process.cwd()).is_relative_to(directory) or any(f"{directory}/" in f"{word}/" for word in words):
            return True
        environment = process.environ()
        return any(Path(environment.get(name, "/")).is_relative_to(directory) for name in DIRECTORIES)
    return False


def kill_all(directory: Path) -> None:
    """Kill the processes that work below `directory`, repeatedly, because one may start another before it ends."""
    deadline = time.monotonic() + TIMEOUT
    while (running := working_below(directory)) and time.monotonic() < deadline:
        for process in running:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(running, timeout=1)


def main() -> int:
    match sys.argv[1:]:
        case ["--list", directory]:
            for line in describe_remaining(Path(directory).resolve()):
                print(line)
        case ["--cluster", directory]:
            _wait_for_owner()
            # Imported here: the other commands must start quickly.
            from shardboard.local.cluster import stop_leftovers

            stop_leftovers(Path(directory))
        case ["--delete", directory]:
            _wait_for_owner()
            kill_all(Path(directory).resolve())
            shutil.rmtree(directory, ignore_errors=True)
        case [directory]:
            _wait_for_owner()
            kill_all(Path(directory).resolve())
        case _:
            sys.exit(__doc__)
    return 0


def _wait_for_owner() -> None:
    while sys.stdin.buffer.read(4096):
        pass


if __name__ == "__main__":
    sys.exit(main())
