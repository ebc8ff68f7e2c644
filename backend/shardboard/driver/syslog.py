"""Syslog over TCP and TLS."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress

from shardboard.domain import syslog
from shardboard.driver import trust
from shardboard.driver.ports import HookFailed

PATIENCE_SECONDS = 5.0


class SyslogSender:
    """A connection for each batch: syslog knows no answer, and only a receiver that closes after us has read all of it."""

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        """Raises HookFailed with a sentence."""
        try:
            async with asyncio.timeout(2 * PATIENCE_SECONDS):
                await _send(url, ca, b"".join(syslog.frame(message) for message in messages))
        except TimeoutError:
            raise HookFailed(f"It does not take what is sent within {2 * PATIENCE_SECONDS:.0f} s.") from None
        except (OSError, ssl.SSLError) as error:
            raise HookFailed(f"It cannot be reached: {error}.") from error


async def _send(url: str, ca: str, content: bytes) -> None:
    host, port, is_tls = syslog.address(url)
    reader, writer = await (
        asyncio.open_connection(host, port, ssl=trust.context(ca), ssl_shutdown_timeout=PATIENCE_SECONDS)
        if is_tls
        else asyncio.open_connection(host, port)
    )
    try:
        writer.write(content)
        await writer.drain()
        if is_tls:
            writer.close()  # says that it is the end, and waits for the other side to say so
            await writer.wait_closed()
        else:
            writer.write_eof()
            while await reader.read(4096):
                pass
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
