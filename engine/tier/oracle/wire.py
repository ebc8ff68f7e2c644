"""A client connection that sends batches of commands and reads their replies."""

import socket
from typing import Any, BinaryIO

from lab import command


class Failure(str):
    """An error reply. Two errors are equal if their first words are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and self.split(" ")[0] == other.split(" ")[0]

    __hash__ = str.__hash__


class Connection:
    """A client connection to a server."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines: BinaryIO = self.socket.makefile("rb")

    def send(self, *args: Any) -> None:
        """Send a command without reading its reply."""
        self.socket.sendall(command(*args))

    def execute(self, *args: Any) -> Any:
        """Send a command. Return its reply."""
        self.send(*args)
        return self.reply()

    def batch(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """Send many commands. Return their replies."""
        self.socket.sendall(b"".join(command(*args) for args in commands))
        return [self.reply() for _ in commands]

    def reply(self) -> Any:
        """Read the next RESP2 reply."""
        line = self.lines.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest
        if kind == b"-":
            return Failure(rest.decode())
        if kind == b":":
            return int(rest)
        if rest == b"-1":
            return None
        if kind == b"$":
            return self.lines.read(int(rest) + 2)[:-2]
        return [self.reply() for _ in range(int(rest))]

    def close(self) -> None:
        """Close the connection."""
        self.lines.close()
        self.socket.close()
