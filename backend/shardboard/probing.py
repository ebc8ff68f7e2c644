"""Does a shard answer? Asked by agents and console when a node is out of sight."""

import asyncio

PROBE_SECONDS = 0.4
"""How long a shard may take to answer a probe."""


async def answers(address: str, port: int) -> bool:
    """Whether the engine replies anything to PING in time: an error reply (it wants a password) is a sign of life, too.

    An accepted connection alone is none: the kernel accepts for a process that is frozen.
    """
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection(address, port)
            try:
                writer.write(b"PING\r\n")
                return bool(await reader.read(1))
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
