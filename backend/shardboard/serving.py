"""HTTP servers that live until the process is told to stop, for console and agent alike."""

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

from shardboard import connections

log = logging.getLogger("uvicorn.error")

DRAIN_SECONDS = 3
"""How long requests under way may take to end after that."""
PARTING_SECONDS = 0.1
IDLE_SECONDS = 75
"""After which an idle connection is closed. Longer than clients keep theirs: who sends in that very moment gets an error."""

_repeats = connections.Repeats()


def config(app: ASGIApp, host: str, port: int, *, proxies: Sequence[str] = (), **tls: Any) -> uvicorn.Config:
    """uvicorn's settings as we want them everywhere; `tls` are its ssl_* options. Only `proxies` are believed whom they forward
    for: anybody else would be who he says."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=IDLE_SECONDS,
        http=connections.Patience,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[*proxies],
        **tls,
    )


async def serve(
    configs: Sequence[uvicorn.Config], *, stopping: Callable[[], None], watch: asyncio.Future[None]
) -> None:
    """Serve until SIGTERM or SIGINT, until a server fails to start, or until `watch` is done (its exception is raised).

    `stopping` is called once before the servers are drained: the place to end endless replies.
    """
    connections.raise_file_limit()
    log.addFilter(_repeats)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    servers = [_Server(each) for each in configs]
    serving = [asyncio.create_task(server.serve()) for server in servers]
    waiting = asyncio.create_task(told.wait())
    endings: list[asyncio.Future[Any]] = [*serving, waiting, watch]
    await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    stopping()
    for server in servers:
        server.leave()
    await asyncio.gather(*serving)
    if watch.done():
        watch.result()


class _Server(uvicorn.Server):
    """Signals are handled once, by `serve`, for all servers together."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """With listeners of our own."""
        try:
            listeners = connections.listen(self.config.host, self.config.port, self.config.backlog)
        except OSError as error:
            log.error("%s:%s: %s", self.config.host, self.config.port, error)
            sys.exit(STARTUP_FAILURE)
        await super().startup([*listeners])

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    async def main_loop(self) -> None:
        """As uvicorn's, but once a second instead of ten times: it keeps the Date header right, and else only waits."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await self._leaving.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        parting = asyncio.create_task(self._part())
        try:
            await super().shutdown(sockets)
        finally:
            parting.cancel()

    async def _part(self) -> None:
        """Over TLS a closed connection waits for the client's farewell, and an idle client reads none: who has all is let go."""
        while True:
            await asyncio.sleep(PARTING_SECONDS)
            for connection in list(self.server_state.connections):
                transport = connection.transport
                if transport.is_closing() and not transport.get_write_buffer_size():
                    transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
