"""Limit for concurrent requests for Prometheus metrics (`max_requests_in_flight` of `/v1/metrics_config`)."""

from collections.abc import AsyncIterator
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends

from shardboard.api.http.dependencies import ConsoleDep, ReadSession
from shardboard.errors import Unavailable
from shardboard.state.cluster import cluster
from shardboard.store.db import Store

_running: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
"""Number of requests that are being executed, by store of a console."""


async def _limit(console: ConsoleDep, session: ReadSession) -> AsyncIterator[None]:
    """Count the request while it is executed. Raises Unavailable if as many as allowed are running."""
    limit = (await cluster.load(session)).settings.metrics_max_requests_in_flight
    if limit and _running.get(console.store, 0) >= limit:
        message = (
            f"{limit} requests for metrics are running, the limit of `/v1/metrics_config`. Try again in a few seconds."
        )
        raise Unavailable("busy", message, retry_after=1)
    _running[console.store] = _running.get(console.store, 0) + 1
    try:
        yield
    finally:
        _running[console.store] -= 1


ScrapeLimit = Annotated[None, Depends(_limit, scope="function")]
