"""Content of files of storage locations, which requests send or receive through a node. The console stores nothing of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.driver.interfaces import Agents, NodeRef
from shardboard.errors import AgentError, Unavailable
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Store

MAX_STREAMS = 8
"""At the same time: each uses a process on a node, and bandwidth and CPU of the console."""
MAX_ATTEMPTS = 3
"""Nodes that are tried until one can read a file."""


class LocationFiles:
    """Sends and receives files through nodes that reach their location."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents
        self._running = 0

    async def open(self, request: SendFile, node_uid: int = 0) -> AsyncGenerator[bytes]:
        """Return the content of a file after its first part was received. A node can be preferred.

        Raises Unavailable with the reason. The content raises AgentError if it is interrupted.
        """
        parts = self._content(request, node_uid)
        first = await anext(parts, b"")

        async def content() -> AsyncGenerator[bytes]:
            async with aclosing(parts):
                yield first
                async for part in parts:
                    yield part

        return content()

    async def _content(self, request: SendFile, node_uid: int) -> AsyncGenerator[bytes]:
        with self._limited():
            for attempt, node in enumerate(candidates := await self._nodes(node_uid), start=1):
                is_started = False
                try:
                    async with aclosing(self._agents.send_file(node, request)) as parts:
                        async for part in parts:
                            is_started = True
                            yield part
                    return
                except AgentError as error:
                    if is_started:
                        raise
                    if attempt == min(len(candidates), MAX_ATTEMPTS):
                        message = f"Node {node.uid} cannot read {request.path}: {error.reason}"
                        raise Unavailable("location_failed", message) from None

    async def receive(self, request: ReceiveFile, content: AsyncIterator[bytes]) -> dict[str, Any]:
        """Write a file. Return `{"bytes", "sha256"}`. Raises Unavailable with the reason."""
        with self._limited():
            node = (await self._nodes(0))[0]
            try:
                return await self._agents.receive_file(node, request, content)
            except AgentError as error:
                message = f"Node {node.uid} cannot write the file: {error.reason}"
                raise Unavailable("location_failed", message) from None

    async def _nodes(self, preferred: int) -> Sequence[NodeRef]:
        async with self._store.read() as session:
            available = [node for node in await nodes.list_all(session) if node.is_available]
        if not available:
            raise Unavailable("node_not_connected", "No agent responds, so no node can access the location.")
        return [_reference(node) for node in sorted(available, key=lambda node: (node.uid != preferred, node.uid))]

    @contextmanager
    def _limited(self) -> Iterator[None]:
        if self._running >= MAX_STREAMS:
            message = f"{MAX_STREAMS} files are already being uploaded or downloaded. Try again later."
            raise Unavailable("busy", message)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1


def _reference(node: Node) -> NodeRef:
    return NodeRef(node.uid, node.addr, node.agent_port)
