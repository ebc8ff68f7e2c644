"""An endless HTTPS response, read line by line.

Each agent sends a line five times per second. A full HTTP client needs several times more CPU for a line than a single `read`,
which is used here. Errors are those of httpx, as in the rest of this package.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import httpx

from shardboard.kit.addresses import url_host

MAX_HEAD = 16_384
"""Bytes of the status line and the headers."""
READ_BYTES = 2**16


class LineTooLong(Exception):
    """The server sent a line over the limit. The text is a clause."""


class LineResponse:
    """A response that is being received: its status, and its body as lines without line ends."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        status: int,
        headers: Mapping[str, str],
        silence: float,
        max_line: Callable[[], int],
    ) -> None:
        self.status = status
        self.headers = headers
        """By lowercase name."""
        self._reader = reader
        self._silence = silence
        self._max_line = max_line
        self._received = bytearray()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            length = await self._receive_line()
            line = bytes(self._received[:length])
            del self._received[: length + 1]
            yield line

    async def _receive_line(self) -> int:
        """Return the length of the next line after it has been received."""
        searched = 0
        while (length := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > (limit := self._max_line()):
                raise LineTooLong(f"it sent a line of more than {limit >> 10} KiB")
            if not (part := await _read(self._reader, self._silence)):
                raise httpx.ReadError("the connection was closed")
            self._received += part
        return length


@asynccontextmanager
async def open_stream(
    tls: ssl.SSLContext,
    host: str,
    port: int,
    target: str,
    timeout: httpx.Timeout,
    headers: Mapping[str, str],
    max_line: Callable[[], int],
) -> AsyncIterator[LineResponse]:
    """Send a GET request for `target`; the connection is closed at the end of the block. `max_line` returns the current maximum of
    bytes that are read without a line end.
    """
    reader, writer = await connect(tls, host, port, timeout)
    try:
        # With HTTP/1.0 the body ends with the connection and needs no framing.
        header_text = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET {target} HTTP/1.0\r\nHost: {url_host(host)}\r\n{header_text}\r\n".encode())
        head, *lines = (await _head(reader, timeout.read or 0.0)).split(b"\r\n")
        reply_headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode("latin-1").partition(":")
            reply_headers[name.strip().lower()] = value.strip()
        words = head.split()
        if len(words) < 2 or not words[1].isdigit():
            raise httpx.RemoteProtocolError("the response is not HTTP")
        yield LineResponse(reader, int(words[1]), reply_headers, timeout.read or 0.0, max_line)
    finally:
        writer.close()


async def connect(
    tls: ssl.SSLContext, host: str, port: int, timeout: httpx.Timeout
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a separate connection. Raises httpx.ConnectTimeout or httpx.ConnectError."""
    try:
        async with asyncio.timeout(timeout.connect):
            return await asyncio.open_connection(host, port, ssl=tls, limit=READ_BYTES)
    except TimeoutError:
        raise httpx.ConnectTimeout("connection timed out") from None
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error


async def _head(reader: asyncio.StreamReader, silence: float) -> bytes:
    """Return the status line and the headers, without the empty line at their end."""
    head = b""
    try:
        async with asyncio.timeout(silence):
            while (line := await reader.readline()) not in (b"\r\n", b""):
                head += line
                if len(head) > MAX_HEAD:
                    raise httpx.RemoteProtocolError(f"the headers of the response are longer than {MAX_HEAD} bytes")
    except TimeoutError:
        raise httpx.ReadTimeout("no data received in time") from None
    except (OSError, ValueError) as error:  # ValueError: a line over the limit
        raise httpx.ReadError(str(error)) from error
    return head.removesuffix(b"\r\n")


async def _read(reader: asyncio.StreamReader, silence: float) -> bytes:
    try:
        async with asyncio.timeout(silence):
            return await reader.read(READ_BYTES)
    except TimeoutError:
        raise httpx.ReadTimeout("no data received in time") from None
    except OSError as error:
        raise httpx.ReadError(str(error)) from error
