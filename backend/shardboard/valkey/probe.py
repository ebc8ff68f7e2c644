"""Probes: whether a shard responds. Agents and the console send them when a node is unreachable."""

import asyncio
import contextlib
import ssl

PROBE_SECONDS = 0.4
"""Timeout of a probe."""


async def responds(address: str, port: int, *, tls: bool = False) -> bool:
    """Return whether the engine sends any reply to PING in time. An error reply (authentication required) counts. With `tls`,
    return whether it replies to a TLS handshake, which it does not complete without a certificate of its database. An accepted
    connection alone does not count, because the kernel also accepts connections for a frozen process.
    """
    hello = _client_hello() if tls else b"PING\r\n"
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                writer.write(hello)
                return bool(await reader.read(1))
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def _client_hello() -> bytes:
    """Return the first bytes of a TLS connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # no secret is sent to the server
    output = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), output).do_handshake()
    return output.read()
