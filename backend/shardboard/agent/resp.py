"""A small client for local shards: one connection over a Unix socket, pipelined, replies parsed by hiredis.

A full client library costs four times the CPU per polled shard; with hundreds of shards each second that matters.
"""

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import hiredis


class EngineError(Exception):
    """The engine answered with an error, or the connection broke."""


@dataclass
class OwnTraffic:
    """What this agent itself sent to and received from one shard, to be subtracted from what the shard counts."""

    bytes_sent: int = 0
    bytes_received: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    """By lower-case command name."""


def packed(*argv: str) -> bytes:
    """A command as it goes over the wire."""
    data: bytes = hiredis.pack_command(argv)  # type: ignore[arg-type]  # its stub knows one-element tuples only
    return data


class Connection(asyncio.Protocol):
    """`execute` may be called concurrently; replies come in order."""

    def __init__(self, own: OwnTraffic) -> None:
        # "replace": a key name or log line in a reply may be any bytes, and one bad byte must not break the connection.
        self._reader = hiredis.Reader(encoding="utf-8", errors="replace")
        self._waiting: deque[tuple[Callable[[Any], None], float]] = deque()
        self._transport: asyncio.Transport | None = None
        self._own = own
        self.last_seconds = 0.0
        """From the sending of the oldest unanswered command to its reply, for the last reply."""

    @classmethod
    async def open(cls, socket: Path, user: str, password: str, own: OwnTraffic) -> "Connection":
        """Connect and log in, adding to `own` what passes. Raises EngineError."""
        loop = asyncio.get_running_loop()
        # Unix socket paths end at 107 bytes, state directories may not: go through a descriptor of the directory.
        directory = os.open(socket.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            _, connection = await loop.create_unix_connection(
                lambda: cls(own), f"/proc/self/fd/{directory}/{socket.name}"
            )
        except OSError as error:
            raise EngineError(f"cannot connect: {error.strerror or error}") from error
        finally:
            os.close(directory)
        try:
            await connection.execute("AUTH", user, password)
        except BaseException:  # who waits no longer must not leave a connection behind
            connection.close()
            raise
        return connection

    async def execute(self, *argv: str) -> Any:
        """Send one command and return its reply. Raises EngineError."""
        return await self.send(argv)

    def send(self, argv: tuple[str, ...]) -> asyncio.Future[Any]:
        """Send one command now; the future holds its reply."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(reply: Any) -> None:
            if future.done():
                return
            if isinstance(reply, EngineError):
                future.set_exception(reply)
            else:
                future.set_result(reply)

        self.ask(packed(*argv), argv[0].lower(), settle)
        return future

    def ask(self, data: bytes, name: str, then: Callable[[Any], None]) -> None:
        """Send the command `name`, packed as `data`; `then` is called once, with its reply or an EngineError."""
        if self._transport is None or self._transport.is_closing():
            then(EngineError("the connection is closed"))
            return
        self._own.bytes_sent += len(data)
        self._own.commands[name] += 1
        self._waiting.append((then, time.perf_counter()))
        self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._own.bytes_received += len(data)
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            if not self._waiting:
                self.close()
                return
            then, sent = self._waiting.popleft()
            self.last_seconds = time.perf_counter() - sent
            then(EngineError(str(reply)) if isinstance(reply, hiredis.ReplyError) else reply)

    def connection_lost(self, exc: Exception | None) -> None:
        while self._waiting:
            self._waiting.popleft()[0](EngineError("the shard closed the connection"))
