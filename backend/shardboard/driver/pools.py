"""Connection pools for HTTP requests to agents."""

import ssl
import time

import httpx

KEEPALIVE_SECONDS = 60
"""Agents are polled every ten seconds or less, and a new connection costs a TLS handshake with two certificates. Less than the
time for which the agents' servers keep an idle connection (`serving.IDLE_SECONDS`)."""
UNUSED_SECONDS = 600
"""A pool that was not used for this long belongs to a removed node."""


class PoolByHost(httpx.AsyncBaseTransport):
    """A transport with one connection pool per host and port.

    httpcore checks all connections of a pool for each request, and the time grows with the square of their number: with 26 nodes
    and five connections to each in one pool, a request cost 10 ms of CPU instead of 1 ms.
    """

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._pools: dict[tuple[str, int | None], httpx.AsyncHTTPTransport] = {}
        self._used: dict[tuple[str, int | None], float] = {}
        """Time of the last request by pool."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        key = (request.url.host, request.url.port)
        now = time.monotonic()
        self._used[key] = now
        if key not in self._pools:
            limits = httpx.Limits(keepalive_expiry=KEEPALIVE_SECONDS)
            self._pools[key] = httpx.AsyncHTTPTransport(verify=self._tls, limits=limits, trust_env=False)
            await self._close(*(each for each, used_at in self._used.items() if now - used_at > UNUSED_SECONDS))
        return await self._pools[key].handle_async_request(request)

    async def aclose(self) -> None:
        await self._close(*self._pools)

    async def _close(self, *keys: tuple[str, int | None]) -> None:
        for key in keys:
            del self._used[key]
            await self._pools.pop(key).aclose()
