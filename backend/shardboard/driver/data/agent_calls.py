"""Methods of `HttpAgents` that its parts use."""

from collections.abc import Awaitable
from typing import Protocol, TypeVar

import httpx

from shardboard.driver.interfaces import NodeRef
from shardboard.driver.replies import ReplyShape

T = TypeVar("T")


class AgentCalls(Protocol):
    def _call(
        self,
        node: NodeRef,
        method: str,
        path: str,
        timeout: httpx.Timeout,
        shape: ReplyShape[T],
        body: bytes | None = None,
    ) -> Awaitable[T]: ...
