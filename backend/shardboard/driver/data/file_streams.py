"""Requests to agents about file streams: content that is sent or received without being stored on the way."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Protocol, TypeVar

import httpx

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.driver import replies
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.replies import ReplyShape
from shardboard.errors import AgentRefused

T = TypeVar("T")
STREAM_TIMEOUT = httpx.Timeout(400, connect=2)
"""For each part. Longer than a request of the agent to an object store, with its retries."""
PART_BYTES = 2**18


class _Streams(Protocol):
    def _open(
        self, node: NodeRef, path: str, timeout: httpx.Timeout, content: bytes | AsyncIterator[bytes]
    ) -> AbstractAsyncContextManager[httpx.Response]: ...

    async def _parse(self, node: NodeRef, reply: httpx.Response, shape: ReplyShape[T]) -> T: ...


class FileStreamCalls:
    """Part of `HttpAgents`."""

    async def send_file(self: _Streams, node: NodeRef, request: SendFile) -> AsyncGenerator[bytes]:
        """Yield the content of a file. Raises AgentError, also in the middle."""
        async with self._open(node, "/files/send", STREAM_TIMEOUT, _body(request)) as reply:
            if reply.headers.get("content-type", "").startswith("application/json"):
                raise AgentRefused((await self._parse(node, reply, replies.TRANSFER_STATE)).error)
            count = 0
            async with aclosing(reply.aiter_raw(PART_BYTES)) as parts:  # type: ignore[type-var]
                async for part in parts:
                    count += len(part)
                    if count > request.bytes:
                        raise AgentRefused(f"the agent of node {node.uid} sent more than the file contains")
                    yield part
            if count != request.bytes:
                raise AgentRefused(f"the agent of node {node.uid} sent {count} of {request.bytes} bytes")

    async def receive_file(
        self: _Streams, node: NodeRef, request: ReceiveFile, content: AsyncIterator[bytes]
    ) -> dict[str, Any]:
        """Send the content of a file, and return the result. Raises AgentError."""

        async def body() -> AsyncIterator[bytes]:
            yield _body(request) + b"\n"
            async for part in content:
                yield part

        async with self._open(node, "/files/receive", STREAM_TIMEOUT, body()) as reply:
            state = await self._parse(node, reply, replies.TRANSFER_STATE)
        if state.result is None:
            raise AgentRefused(state.error)
        return state.result


def _body(request: SendFile | ReceiveFile) -> bytes:
    """Serialize without default values, which an earlier release may not know, except the fields that select the models."""
    body: dict[str, Any] = request.model_dump(mode="json", exclude_defaults=True)
    body |= {"kind": request.kind}
    body["location"] |= {"type": request.location.type}
    return json.dumps(body).encode()
