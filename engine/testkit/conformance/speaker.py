"""A connection that returns replies as raw bytes."""

import socket
from typing import Any

from lab import command


class Speaker:
    """A client that reads exactly one reply per command."""

    def __init__(self, address: str, port: int) -> None:
        self.connection = socket.create_connection((address, port), timeout=10)
        self.file = self.connection.makefile("rb")

    def raw(self, *args: str) -> bytes:
        """Send one command and return the bytes of its reply."""
        self.connection.sendall(command(*args))
        return self.frame()

    def group(self, lines: list[list[str]]) -> list[bytes]:
        """Empty the database, send commands in one pipeline, and return their replies."""
        self.connection.sendall(command("FLUSHALL") + b"".join(command(*line) for line in lines))
        self.frame()
        return [self.frame() for _ in lines]

    def frame(self) -> bytes:
        """Return the bytes of the next reply."""
        line = self.file.readline()
        if not line:
            raise ConnectionError("the connection was closed")
        kind, value = line[:1], line[1:-2]
        if kind in b"$=!":
            size = int(value)
            return line if size < 0 else line + self.file.read(size + 2)
        if kind in b"*~>":
            return line + b"".join(self.frame() for _ in range(max(0, int(value))))
        if kind in b"%|":
            pairs = b"".join(self.frame() for _ in range(2 * int(value)))
            return line + pairs + (self.frame() if kind == b"|" else b"")
        return line

    def ask(self, *args: str) -> Any:
        """Send one command and return its reply as Python values."""
        self.connection.sendall(command(*args))
        return self.value()

    def value(self) -> Any:
        """Return the next reply as Python values."""
        line = self.file.readline()
        kind, value = line[:1], line[1:-2]
        if kind == b"$":
            size = int(value)
            return None if size < 0 else self.file.read(size + 2)[:-2].decode()
        if kind == b"*":
            return [self.value() for _ in range(int(value))]
        return int(value) if kind == b":" else value.decode()
