"""Files of locations that the console sends or receives through this agent, for uploads and downloads of users.

A process (`shardboard.transfer`) opens the location, and is connected to the request by a pipe. It ends with the request, so
neither the agent nor a killed console leaves one behind.
"""

import asyncio
import fcntl
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import IO, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from shardboard.agent.data.transfers import final_state, spawn
from shardboard.agent.detached_processes import DetachedProcesses
from shardboard.agent.settings import AgentSettings
from shardboard.contract.file_streams import MAX_HEADER_BYTES, ReceiveFile, SendFile
from shardboard.contract.transfers import TransferState
from shardboard.net.connection_limits import allow_streamed_body
from shardboard.net.streamed_response import StreamedResponse
from shardboard.transfer.specification import Specification

MAX_STREAMS = 8
"""At the same time; each is a process."""
PART_BYTES = 2**18
PIPE_BYTES = 2**20
END_SECONDS, POLL_SECONDS = 330.0, 0.02
"""How long a process may take to complete a file after its last byte. Longer than a request to an object store."""
T = TypeVar("T", SendFile, ReceiveFile)


class StreamFailed(Exception):
    """A process failed after the response started. The connection is closed without the end of the response."""

    def __init__(self, state: TransferState) -> None:
        super().__init__(state.error)
        self.state = state


class FileStreams:
    """The file streams of this node."""

    def __init__(self, settings: AgentSettings, on_start: Callable[[int], None] = lambda _: None) -> None:
        """`on_start` is called with the pid of each new process."""
        self._settings = settings
        self._on_start = on_start
        self._processes = DetachedProcesses(settings.state_dir / "streams")

    async def adopt(self) -> None:
        """End the processes of an earlier agent, whose requests ended with it."""
        await self._processes.adopt()
        await self._processes.remove([directory.name for directory in self._processes.root.iterdir()])

    def routes(self) -> list[Route]:
        return [
            Route("/files/send", self.send, methods=["POST"]),
            Route("/files/receive", self.receive, methods=["POST"]),
        ]

    async def send(self, request: Request) -> Response:
        """Return the content of a file, or a TransferState if it cannot be read."""
        try:
            message = _parse(SendFile, await request.body())
        except ValidationError as error:
            return _invalid(error)
        parts = self._content(message)
        try:
            first = await anext(parts)
        except StopAsyncIteration:
            first = b""
        except StreamFailed as error:
            return _json(error.state)
        return StreamedResponse(_chain(first, parts), media_type="application/octet-stream")

    async def receive(self, request: Request) -> Response:
        """Write the content of the request to a file, and return a TransferState."""
        allow_streamed_body(request.scope)
        content = request.stream()
        header, rest = b"", b""
        async for part in content:
            header += part
            if b"\n" in header or len(header) > MAX_HEADER_BYTES:
                header, _, rest = header.partition(b"\n")
                break
        try:
            message = _parse(ReceiveFile, header)
        except ValidationError as error:
            return _invalid(error)
        if len(self._processes.running()) >= MAX_STREAMS:
            return _json(self._busy())
        identity = uuid.uuid4().hex
        async with self._process(identity, message) as pipe:
            writer = await _writer(pipe)
            with suppress(ConnectionError, ClientDisconnect):  # the process knows how many bytes it needs
                try:
                    writer.write(rest)
                    async for part in content:
                        writer.write(part)
                        await writer.drain()
                finally:
                    writer.close()
            return _json(await self._end(identity))

    async def _content(self, message: SendFile) -> AsyncGenerator[bytes]:
        """Yield the content of a file. Raises StreamFailed with the state of the process."""
        if len(self._processes.running()) >= MAX_STREAMS:
            raise StreamFailed(self._busy())
        identity = uuid.uuid4().hex
        async with self._process(identity, message) as pipe:
            reader = asyncio.StreamReader(limit=PART_BYTES)
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            try:
                while part := await reader.read(PART_BYTES):
                    yield part
            finally:
                transport.close()
            state = await self._end(identity)
            if state.result is None:
                raise StreamFailed(state)

    @asynccontextmanager
    async def _process(self, identity: str, message: SendFile | ReceiveFile) -> AsyncIterator[IO[bytes]]:
        """Run a process, and yield the agent's end of its pipe. It is killed at the end of the block."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        own, inherited = (reading, writing) if isinstance(message, SendFile) else (writing, reading)
        with open(own, "rb" if own == reading else "wb", buffering=0) as pipe:  # noqa: ASYNC230, PTH123 - a descriptor
            try:
                with suppress(OSError):
                    fcntl.fcntl(own, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
                specification = Specification(
                    transfer=message,
                    backup_roots=list(self._settings.backup_roots),
                    private_folders=[self._settings.state_dir.absolute()],
                    pipe=inherited,
                )
                self._on_start(await asyncio.to_thread(spawn, self._processes, identity, specification, inherited))
            finally:
                os.close(inherited)
            try:
                yield pipe
            finally:
                await asyncio.shield(self._processes.remove([identity]))

    async def _end(self, identity: str) -> TransferState:
        """Wait until a process has ended, and return its state."""
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                while self._processes.is_running(identity):  # noqa: ASYNC110 - a process is polled
                    await asyncio.sleep(POLL_SECONDS)
        return await asyncio.to_thread(final_state, self._processes, identity, self._settings.address)

    def _busy(self) -> TransferState:
        message = f"Node {self._settings.address} sends and receives {MAX_STREAMS} files already. Try again later."
        return TransferState(id="0" * 32, state="ended", error=message, error_code="general-error")


async def _chain(first: bytes, parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(parts):
        yield first
        async for part in parts:
            yield part


async def _writer(pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _parse(shape: type[T], content: bytes) -> T:
    return TypeAdapter(shape).validate_json(content)


def _invalid(error: ValidationError) -> Response:
    return Response(error.json(include_input=False), 422, media_type="application/json")


def _json(state: TransferState) -> Response:
    return Response(to_json(state), media_type="application/json")
