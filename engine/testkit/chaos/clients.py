"""The client libraries: how each is built and started, and whether it is available on this machine."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

DIRECTORY = Path(__file__).resolve().parent / "clients"
TARGET = DIRECTORY.parents[2] / "target"
WORKERS = 3


@dataclass
class Library:
    """A client library. `needs` is the program that it requires."""

    name: str
    command: list[str]
    needs: str = ""
    build: list[str] = field(default_factory=list)

    def prepare(self) -> bool:
        """Build the client. Return `False` if its language is not installed."""
        if self.needs and shutil.which(self.needs) is None:
            return False
        if self.build:
            subprocess.run(self.build, cwd=DIRECTORY, check=True)
        return True


LIBRARIES = [
    Library("valkey-py", [sys.executable, str(DIRECTORY / "python.py"), "valkey"]),
    Library("redis-py", [sys.executable, str(DIRECTORY / "python.py"), "redis"]),
    Library("ioredis", ["node", str(DIRECTORY / "ioredis.mjs")], needs="node"),
    Library("node-redis", ["node", str(DIRECTORY / "node-redis.mjs")], needs="node"),
    Library(
        "redis-rs",
        [str(TARGET / "release/chaos-redis-rs")],
        needs="cargo",
        build=["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", "redis-rs/Cargo.toml"]
        + ["--target-dir", str(TARGET)],
    ),
    Library(
        "go-redis",
        [str(TARGET / "chaos-go-redis")],
        needs="go",
        build=["go", "build", "-C", "go", "-o", str(TARGET / "chaos-go-redis"), "."],
    ),
]


class Running:
    """A client process. It writes to a file, so that it never waits for the harness."""

    def __init__(self, library: Library, kind: str, at: tuple[str, int], log: Path) -> None:
        self.name, self.kind, self.log = f"{library.name} {kind}", kind, log
        self.key = self.name.replace(" ", "-")
        self.output: IO[bytes] = log.open("wb")
        arguments = [kind, at[0], str(at[1]), self.key, str(WORKERS)]
        self.process = subprocess.Popen(
            [*library.command, *arguments], stdin=subprocess.PIPE, stdout=self.output, stderr=subprocess.PIPE
        )

    def is_ready(self) -> bool:
        """Whether the client has started. Raise if it has exited."""
        if self.process.poll() is not None:
            assert self.process.stderr is not None
            raise RuntimeError(f"{self.name} ended: {self.process.stderr.read().decode()}")
        return b"ready" in self.log.read_bytes()

    def finish(self) -> list[str]:
        """Stop the client and return its output. Raise `TimeoutExpired` if a connection is stuck."""
        _, error_output = self.process.communicate(timeout=60)
        self.output.close()
        if self.process.returncode != 0:
            raise RuntimeError(f"{self.name} failed: {error_output.decode()[-500:]}")
        return self.log.read_text().splitlines()

    def abandon(self) -> None:
        """Kill the client."""
        self.process.kill()
        self.process.wait()
