"""HTTP servers of console and agents, which run until the process is asked to stop."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from shardboard.net import connection_limits

log = logging.getLogger("uvicorn.error")

DRAIN_SECONDS = 3
"""Seconds in which running requests can complete after a stop signal."""
ABORT_SECONDS = 0.1
IDLE_SECONDS = 75
"""Idle connections are closed after this time. It is longer than that of clients, because a client that sends at that moment gets
an error.
"""

_repeats = connection_limits.RateLimitFilter()


def config(app: ASGIApp, host: str, port: int, *, proxies: Sequence[str] = (), **tls: Any) -> uvicorn.Config:
    """Return uvicorn's settings for console and agents. `tls` contains its ssl_* options. Forwarded client addresses are only
    accepted from `proxies`: other clients could forge them.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=IDLE_SECONDS,
        http=connection_limits.TimeoutProtocol,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[*proxies],
        **tls,
    )


async def serve(
    configs: Sequence[uvicorn.Config], *, stopping: Callable[[], None], watch: asyncio.Future[None]
) -> None:
    """Serve until SIGTERM or SIGINT, until a server fails to start, or until `watch` is done (its exception is raised).

    `stopping` is called once before the servers are drained, to end endless replies.
    """
    connection_limits.raise_file_limit()
    log.addFilter(_repeats)
    stop_requested = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    servers = [_Server(each) for each in configs]
    tasks = [asyncio.create_task(server.serve()) for server in servers]
    stop_task = asyncio.create_task(stop_requested.wait())
    endings: list[asyncio.Future[Any]] = [*tasks, stop_task, watch]
    await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    stop_task.cancel()
    stopping()
    for server in servers:
        server.leave()
    await asyncio.gather(*tasks)
    if watch.done():
        watch.result()


class _Server(uvicorn.Server):
    """uvicorn server without signal handlers: `serve` handles signals for all servers together."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start with our own listeners."""
        try:
            listeners = connection_limits.listen(self.config.host, self.config.port, self.config.backlog)
        except OSError as error:
            log.error("%s:%s: %s", self.config.host, self.config.port, error)
            sys.exit(STARTUP_FAILURE)
        await super().startup([*listeners])

    def leave(self) -> None:
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Replace uvicorn's main loop: tick once a second, for the Date header, instead of ten times."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        disconnect_task = asyncio.create_task(self._abort_closed())
        try:
            await super().shutdown(sockets)
        finally:
            disconnect_task.cancel()

    async def _abort_closed(self) -> None:
        """Abort closed connections that have no data left. Over TLS a closed connection waits for a reply that idle clients do not
        send.
        """
        while True:
            await asyncio.sleep(ABORT_SECONDS)
            for connection in list(self.server_state.connections):
                transport = connection.transport
                if transport.is_closing() and not transport.get_write_buffer_size():
                    transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
