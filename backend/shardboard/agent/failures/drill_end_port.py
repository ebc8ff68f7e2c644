"""The UDP port at which an isolated node receives the request to end its drill, because it cannot reply to other requests."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from shardboard.contract import Drill, drill_end_address

log = logging.getLogger(__name__)


@asynccontextmanager
async def listen(drill: Drill, address: str, port: int, on_end: Callable[[], None]) -> AsyncIterator[None]:
    """Call `on_end` when a datagram with the token of the drill arrives during the block."""
    if not drill.end_token:
        yield
        return
    try:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _EndRequests(drill.end_token.encode(), on_end), local_addr=(drill_end_address(address), port)
        )
    except OSError as error:  # the drill still ends after its duration
        log.warning("drill: it cannot be ended early, because UDP port %s is unavailable: %s", port, error)
        yield
        return
    try:
        yield
    finally:
        transport.close()


class _EndRequests(asyncio.DatagramProtocol):
    def __init__(self, token: bytes, on_end: Callable[[], None]) -> None:
        self._token = token
        self._on_end = on_end

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if hmac.compare_digest(data, self._token):
            log.warning("drill: the console ends it early")
            self._on_end()
