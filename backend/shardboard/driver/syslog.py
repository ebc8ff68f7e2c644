"""Syslog over TCP and TLS."""

import asyncio
import ssl
from collections.abc import Sequence

from shardboard.domain.alerting import syslog
from shardboard.driver import tls_trust
from shardboard.driver.interfaces import DeliveryFailed

TIMEOUT_SECONDS = 5.0


class SyslogSender:
    """Opens a connection for each batch: syslog has no acknowledgement, and only a receiver that closes the connection after the
    sender has read everything."""

    async def send(self, url: str, ca: str, messages: Sequence[bytes]) -> None:
        """Send messages. Raises DeliveryFailed with a message for users."""
        try:
            async with asyncio.timeout(2 * TIMEOUT_SECONDS):
                await _send(url, ca, b"".join(syslog.frame(message) for message in messages))
        except TimeoutError:
            raise DeliveryFailed(f"It did not receive all messages within {2 * TIMEOUT_SECONDS:.0f} s.") from None
        except (OSError, ssl.SSLError, UnicodeError) as error:
            raise DeliveryFailed(f"It is unreachable: {error}.") from error


async def _send(url: str, ca: str, content: bytes) -> None:
    host, port, is_tls = syslog.address(url)
    reader, writer = await (
        asyncio.open_connection(host, port, ssl=tls_trust.context(ca), ssl_shutdown_timeout=TIMEOUT_SECONDS)
        if is_tls
        else asyncio.open_connection(host, port)
    )
    try:
        writer.write(content)
        await writer.drain()
        if is_tls:
            writer.close()  # sends close_notify and waits for the receiver's
            await writer.wait_closed()
        else:
            writer.write_eof()
            while await reader.read(4096):
                pass
    finally:
        writer.transport.abort()  # closing would wait until a receiver that no longer reads has read everything
