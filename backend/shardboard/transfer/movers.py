"""Processes of `shardboard-mover`: their output, their end, and the lines that they report.

A run succeeded only if the last line is the `end` line and the exit status is 0.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, get_args

from shardboard.contract.transfers import ErrorCode
from shardboard.transfer.errors import TransferError

PASSWORD = "SHARDBOARD_MOVER_PASSWORD"  # noqa: S105 - the name of a variable
LOG = "mover.log"
READ_BYTES = 2**16
"""The C library returns larger buffers to the kernel after each read, and getting them again took a quarter of the CPU time."""
PIPE_BYTES = 2**20
TAIL_BYTES = 1_000


class Mover:
    """One process. A context manager that kills it at exit if it still runs."""

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        password: str,
        on_progress: Callable[[Mapping[str, Any]], None],
        *,
        reads_input: bool = False,
        writes_output: bool = False,
    ) -> None:
        """Start the process in the current directory. `on_progress` is called in another thread."""
        self._on_progress = on_progress
        self._last: dict[str, Any] = {}
        lines, lines_of_mover = os.pipe()
        try:
            with Path(LOG).open("ab") as log:
                self._process = subprocess.Popen(
                    [program, *arguments, f"--live-lines={lines_of_mover}"],
                    env={**os.environ, PASSWORD: password},
                    stdin=subprocess.PIPE if reads_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if writes_output else subprocess.DEVNULL,
                    stderr=log,
                    pass_fds=(lines_of_mover,),
                    bufsize=0,
                )
        except OSError as error:
            os.close(lines)
            raise TransferError("general-error", f"Starting {program} failed: {error.strerror}.") from error
        finally:
            os.close(lines_of_mover)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _enlarge(pipe)
        self._reader = threading.Thread(target=self._read_lines, args=[os.fdopen(lines, "rb")], daemon=True)
        self._reader.start()

    def __enter__(self) -> "Mover":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def kill(self) -> None:
        self._process.kill()

    def output(self) -> Iterator[bytes]:
        """Yield the output until it is closed."""
        pipe: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        while part := pipe.read(READ_BYTES):
            yield part

    def feed(self, part: bytes) -> bool:
        """Write to the input. Return whether the process still reads it."""
        pipe: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        remaining = memoryview(part)
        try:
            while remaining:
                remaining = remaining[pipe.write(remaining) :]
        except BrokenPipeError:
            return False
        return True

    def request(self, line: str) -> None:
        """Write a line to the input. Ignored if the process has ended: the caller notices when it reads."""
        pipe: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        with contextlib.suppress(BrokenPipeError):
            pipe.write(f"{line}\n".encode())

    def read_line(self) -> dict[str, Any] | None:
        """Return the next line of the output, an object; None at the end."""
        line = bytearray()
        while not line.endswith(b"\n"):
            if not (byte := self.read(1)):
                return None
            line += byte
        value = json.loads(line)
        return value if isinstance(value, dict) else None

    def read(self, size: int) -> bytes:
        """Return at most this number of bytes of the output; none at the end."""
        pipe: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        return pipe.read(size)

    def finish(self) -> dict[str, Any]:
        """Wait for the end and return the fields of the `end` line. Raises TransferError."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        status = self._process.wait()
        self._reader.join()
        line = dict(self._last)
        match line.pop("kind", ""):
            case "end" if status == 0:
                return line
            case "error":
                code: ErrorCode = line["code"] if line.get("code") in get_args(ErrorCode) else "general-error"
                message = str(line.get("message") or "The mover reported an error without a message.")
                raise TransferError(code, message)
        raise TransferError("general-error", f"The mover ended unexpectedly{_description(status)}")

    def _read_lines(self, pipe: IO[bytes]) -> None:
        with pipe:
            for text in pipe:
                try:
                    line = json.loads(text)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    self._last = line
                    if line.get("kind") == "progress":
                        self._on_progress(line)


def _enlarge(pipe: IO[bytes]) -> None:
    """Let a pipe hold more, so that the processes wait for each other less often. A user's limit can forbid this."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _description(status: int) -> str:
    how = f" by signal {-status}" if status < 0 else f" with status {status}"
    output = Path(LOG).read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
    return f"{how}: {output}" if output else f"{how}."
