"""An endless HTTPS response, read line by line.

Each agent sends a line five times per second. A full HTTP client needs several times more CPU for a line than a single `readline`,
which is used here. Errors are those of httpx, as in the rest of this package.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

MAX_HEADERS = 100
MAX_LINE = 2**24
"""Bytes; sufficient for a sample of thousands of shards."""


class LineResponse:
    """A response that is being received: its status, and its body as lines without line ends."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str], silence: float) -> None:
        self.status = status
        self.headers = headers
        """By lowercase name."""
        self._reader = reader
        self._silence = silence

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            line = await _line(self._reader, self._silence)
            if not line.endswith(b"\n"):
                raise httpx.ReadError("the connection was closed")
            yield line[:-1]


@asynccontextmanager
async def open_stream(
    tls: ssl.SSLContext, host: str, port: int, target: str, timeout: httpx.Timeout, headers: Mapping[str, str]
) -> AsyncIterator[LineResponse]:
    """Send a GET request for `target`; the connection is closed at the end of the block."""
    reader, writer = await connect(tls, host, port, timeout)
    try:
        # With HTTP/1.0 the body ends with the connection and needs no framing.
        sent = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET {target} HTTP/1.0\r\nHost: {host}\r\n{sent}\r\n".encode())
        head = await _line(reader, timeout.read or 0.0)
        received: dict[str, str] = {}
        while (line := await _line(reader, timeout.read or 0.0)) not in (b"\r\n", b"") and len(received) < MAX_HEADERS:
            name, _, value = line.decode("latin-1").partition(":")
            received[name.strip().lower()] = value.strip()
        words = head.split()
        if len(words) < 2 or not words[1].isdigit():
            raise httpx.RemoteProtocolError("the response is not HTTP")
        yield LineResponse(reader, int(words[1]), received, timeout.read or 0.0)
    finally:
        writer.close()


async def connect(
    tls: ssl.SSLContext, host: str, port: int, timeout: httpx.Timeout
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a separate connection. Raises httpx.ConnectTimeout or httpx.ConnectError."""
    try:
        async with asyncio.timeout(timeout.connect):
            return await asyncio.open_connection(host, port, ssl=tls, limit=MAX_LINE)
    except TimeoutError:
        raise httpx.ConnectTimeout("connection timed out") from None
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error


async def _line(reader: asyncio.StreamReader, silence: float) -> bytes:
    try:
        async with asyncio.timeout(silence):
            return await reader.readline()
    except TimeoutError:
        raise httpx.ReadTimeout("no data received in time") from None
    except (OSError, ValueError) as error:  # ValueError: a line over the limit
        raise httpx.ReadError(str(error)) from error
