"""A small client for shards: one connection, usually over a Unix socket, pipelined, with replies parsed by hiredis.

A full client library needs four times the CPU per polled shard, and asyncio's transports 50% more than a socket that the event
loop watches. With hundreds of shards polled ten times a second this matters.
"""

import asyncio
import os
import socket
import ssl
import struct
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hiredis

from shardboard.agent.databases import peer_tls


class EngineError(Exception):
    """The engine returned an error, or the connection failed."""


@dataclass
class OwnTraffic:
    """Traffic of this agent with one shard, to be subtracted from the shard's counters."""

    bytes_sent: int = 0
    bytes_received: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    """By lower-case command name."""


def packed(*argv: str | bytes) -> bytes:
    """Return a command in RESP format."""
    data: bytes = hiredis.pack_command(argv)  # type: ignore[arg-type]  # its stub knows one-element tuples only
    return data


READ_BYTES = 65_536
MAX_BLOCK_MICROSECONDS = 1_000
"""Maximum time that `send_and_wait` blocks in the kernel."""


class Connection:
    """Connection to one shard. `execute` can be called concurrently; replies arrive in order."""

    def __init__(self, own: OwnTraffic, connected: socket.socket, *, binary: bool = False) -> None:
        """Replies are text, or bytes with `binary`: needed for key names that are sent back."""
        # "replace": a key name or log line in a reply can contain any bytes, and an invalid byte must not break the connection.
        self._reader = hiredis.Reader() if binary else hiredis.Reader(encoding="utf-8", errors="replace")
        self._waiting: deque[tuple[Callable[[Any], None], float]] = deque()
        self._loop = asyncio.get_running_loop()
        self._socket = connected
        self._unsent = bytearray()
        self._own = own
        self.closed = False
        self.last_seconds = 0.0
        """Time from sending the oldest unanswered command to its reply, for the last reply."""
        # Blocking mode, so that a caller can wait for a reply without the event loop; all other calls use MSG_DONTWAIT.
        connected.setblocking(True)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, MAX_BLOCK_MICROSECONDS))
        self._loop.add_reader(connected, self._receive, socket.MSG_DONTWAIT)

    @classmethod
    async def open(cls, path: Path, user: str, password: str, own: OwnTraffic, *, binary: bool = False) -> "Connection":
        """Connect to a local shard and authenticate. The traffic is added to `own`. Raises EngineError."""
        # Unix socket paths are limited to 107 bytes, state directories are not: use a descriptor of the directory.
        try:
            directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        except OSError as error:
            raise EngineError(f"cannot connect: {error.strerror or error}") from error
        try:
            connection = await _connected(socket.AF_UNIX, f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
        return await cls(own, connection, binary=binary)._logged_in(user, password)

    @classmethod
    async def open_remote(
        cls, address: str, port: int, user: str, password: str, tls_context: ssl.SSLContext | None
    ) -> "Connection":
        """Connect to a shard on any node and authenticate; replies are bytes. `seal` is the TLS context for the shards of its
        database, None if they use unencrypted connections. Raises EngineError.
        """
        if tls_context is not None:
            try:
                connection = await peer_tls.connect(address, port, tls_context)
            except OSError as error:
                raise EngineError(f"cannot connect: {error.strerror or error}") from error
        else:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            connection = await _connected(family, (address, port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return await cls(OwnTraffic(), connection, binary=True)._logged_in(user, password)

    async def _logged_in(self, user: str, password: str) -> "Connection":
        try:
            await self.execute("AUTH", user, password)
        except BaseException:  # a cancelled caller must not leave a connection open
            self.close()
            raise
        return self

    async def execute(self, *argv: str | bytes) -> Any:
        """Send one command and return its reply. Raises EngineError."""
        return await self.send(argv)

    def send(self, argv: tuple[str | bytes, ...]) -> asyncio.Future[Any]:
        """Send one command now; the future holds its reply."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def set_result(reply: Any) -> None:
            if future.done():
                return
            if isinstance(reply, EngineError):
                future.set_exception(reply)
            else:
                future.set_result(reply)

        self.send_packed(packed(*argv), str(argv[0]).lower(), set_result)
        return future

    def send_many(self, commands: Sequence[tuple[str | bytes, ...]]) -> asyncio.Future[list[Any]]:
        """Send commands of the same name in one write. The future holds their replies, including errors."""
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        replies: list[Any] = []

        def collect(reply: Any) -> None:
            replies.append(reply)
            if len(replies) == len(commands) and not future.done():
                future.set_result(replies)

        if commands:
            self.send_packed(
                b"".join(packed(*argv) for argv in commands), str(commands[0][0]).lower(), collect, len(commands)
            )
        else:
            future.set_result(replies)
        return future

    def send_packed(self, data: bytes, name: str, on_reply: Callable[[Any], None], times: int = 1) -> None:
        """Send the command `name`, packed as `data`. `on_reply` is called with its reply or an EngineError. With `times`, `data`
        contains several commands of that name, and `on_reply` is called for each.
        """
        if self.closed:
            for _ in range(times):
                on_reply(EngineError("the connection is closed"))
            return
        self._own.bytes_sent += len(data)
        self._own.commands[name] += times
        now = time.perf_counter()
        self._waiting.extend((on_reply, now) for _ in range(times))
        if self._unsent:
            self._unsent += data
            return
        try:
            bytes_sent = self._socket.send(data, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            bytes_sent = 0
        except OSError:
            self._loop.call_soon(self.close)  # later: callers do not expect `on_reply` before this returns
            return
        if bytes_sent < len(data):
            self._unsent += data[bytes_sent:]
            self._loop.add_writer(self._socket, self._send_rest)

    def send_and_wait(self, data: bytes, name: str, on_reply: Callable[[Any], None]) -> None:
        """Send like `ask`, but wait for the reply for up to a millisecond. A later reply is delivered as usual.

        This measures the engine: through the event loop, which has other work, it would appear ten times slower.
        """
        self.send_packed(data, name, on_reply)
        if not self._unsent and not self.closed:
            self._receive(0)

    @property
    def idle(self) -> bool:
        """Whether the connection is open and no reply is pending."""
        return not self.closed and not self._waiting

    def close(self) -> None:
        """Close the connection. Pending commands get an EngineError."""
        if self.closed:
            return
        self.closed = True
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        while self._waiting:
            self._waiting.popleft()[0](EngineError("the shard closed the connection"))

    def _send_rest(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent, socket.MSG_DONTWAIT)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if not self._unsent:
            self._loop.remove_writer(self._socket)

    def _receive(self, flags: int) -> None:
        try:
            data = self._socket.recv(READ_BYTES, flags)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._own.bytes_received += len(data)
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                if not self._waiting:  # a reply without a request
                    self.close()
                    return
                callback, sent_at = self._waiting.popleft()
                self.last_seconds = time.perf_counter() - sent_at
                callback(EngineError(str(reply)) if isinstance(reply, hiredis.ReplyError) else reply)
        except hiredis.ProtocolError:
            self.close()


async def _connected(family: socket.AddressFamily, address: str | tuple[str, int]) -> socket.socket:
    new_socket = socket.socket(family)
    new_socket.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(new_socket, address)
    except BaseException as error:
        new_socket.close()
        if isinstance(error, OSError):
            raise EngineError(f"cannot connect: {error.strerror or error}") from error
        raise
    return new_socket
