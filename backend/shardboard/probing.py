"""Does a shard answer? Asked by agents and console when a node is out of sight."""

import asyncio
import contextlib
import ssl

PROBE_SECONDS = 0.4
"""How long a shard may take to answer a probe."""


async def answers(address: str, port: int, *, tls: bool = False) -> bool:
    """Whether the engine replies anything to PING in time: an error reply (it wants a password) is a sign of life, too. With
    `tls`, whether it says anything when hands are to be shaken: it will not go on with who has no certificate of its database.

    An accepted connection alone is none: the kernel accepts for a process that is frozen.
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
    """How a TLS connection begins."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is said to it that it could keep
    said = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    return said.read()
