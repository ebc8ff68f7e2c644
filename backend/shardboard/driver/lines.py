"""An endless reply, line by line, over HTTPS.

Every agent says something five times a second. Through a full HTTP client each line costs the console several times what it
takes to read it; here it is one `readline`. Failures are those of httpx, as everywhere in this package.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

MAX_HEADERS = 100
MAX_LINE = 2**24
"""Bytes: a sample of thousands of shards."""


class LineResponse:
    """A reply under way: its status, and its body as lines without their end."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str], silence: float) -> None:
        self.status = status
        self.headers = headers
        """By their names in small letters."""
        self._reader = reader
        self._silence = silence

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            line = await _line(self._reader, self._silence)
            if not line.endswith(b"\n"):
                raise httpx.ReadError("the connection was closed")
            yield line[:-1]


@asynccontextmanager
async def opened(
    tls: ssl.SSLContext, host: str, port: int, target: str, timeout: httpx.Timeout, headers: Mapping[str, str]
) -> AsyncIterator[LineResponse]:
    """GET `target`; the connection is closed at the end of the block."""
    reader, writer = await connect(tls, host, port, timeout)
    try:
        # HTTP/1.0: the body ends with the connection, and needs no framing of its own.
        said = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"GET {target} HTTP/1.0\r\nHost: {host}\r\n{said}\r\n".encode())
        head = await _line(reader, timeout.read or 0.0)
        answered: dict[str, str] = {}
        while (line := await _line(reader, timeout.read or 0.0)) not in (b"\r\n", b"") and len(answered) < MAX_HEADERS:
            name, _, value = line.decode("latin-1").partition(":")
            answered[name.strip().lower()] = value.strip()
        words = head.split()
        if len(words) < 2 or not words[1].isdigit():
            raise httpx.RemoteProtocolError("it does not speak HTTP")
        yield LineResponse(reader, int(words[1]), answered, timeout.read or 0.0)
    finally:
        writer.close()


async def connect(
    tls: ssl.SSLContext, host: str, port: int, timeout: httpx.Timeout
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection of one's own. Raises httpx.ConnectTimeout or httpx.ConnectError."""
    try:
        async with asyncio.timeout(timeout.connect):
            return await asyncio.open_connection(host, port, ssl=tls, limit=MAX_LINE)
    except TimeoutError:
        raise httpx.ConnectTimeout("no connection in time") from None
    except OSError as error:
        raise httpx.ConnectError(str(error)) from error


async def _line(reader: asyncio.StreamReader, silence: float) -> bytes:
    try:
        async with asyncio.timeout(silence):
            return await reader.readline()
    except TimeoutError:
        raise httpx.ReadTimeout("silence") from None
    except (OSError, ValueError) as error:  # ValueError: a line over the limit
        raise httpx.ReadError(str(error)) from error
