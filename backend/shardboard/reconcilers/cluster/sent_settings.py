"""Settings that agents have got from this console, so that loops send each one only when necessary."""

import asyncio
from collections.abc import Mapping
from typing import Generic, TypeVar

from shardboard.driver.interfaces import NodeRef

Setting = TypeVar("Setting")


class SentSettings(Generic[Setting]):
    """The last setting of each connected agent, and when it was sent."""

    def __init__(self) -> None:
        self._sent: dict[NodeRef, tuple[Setting, float]] = {}

    def due(self, desired: Mapping[NodeRef, Setting], repeat_seconds: float) -> list[NodeRef]:
        """Return the connected agents that do not have their setting, or got it before `repeat_seconds`."""
        since = asyncio.get_running_loop().time() - repeat_seconds
        self._sent = {
            node: (setting, at)
            for node, (setting, at) in self._sent.items()
            if desired.get(node) == setting and at > since
        }
        return [node for node in desired if node not in self._sent]

    def mark_sent(self, node: NodeRef, setting: Setting) -> None:
        self._sent[node] = (setting, asyncio.get_running_loop().time())
