"""Files that are sent to the agent, or received from it, through a pipe."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.contract.locations import Url
from shardboard.transfer.errors import STOPPED, TransferError
from shardboard.transfer.specification import Specification
from shardboard.transfer.stores.store import Store

READ_BYTES = 2**20


def run(store: Store, specification: Specification) -> dict[str, Any]:
    """Return the result. Raises TransferError."""
    if specification.pipe is None:
        raise ValueError("a file stream has no pipe")
    if isinstance(specification.transfer, SendFile):
        return _send(store, specification.transfer, specification.pipe)
    if isinstance(specification.transfer, ReceiveFile):
        return _receive(store, specification.transfer, specification.pipe)
    raise ValueError(specification.transfer.kind)


def _send(store: Store, transfer: SendFile, pipe: int) -> dict[str, Any]:
    """Write the content of a file to a pipe. The last part follows after the checks."""
    if isinstance(transfer.location, Url):  # only imports read URLs, so that their content is not returned
        raise TransferError("general-error", "A URL is a source of imports. Its content cannot be returned.")
    sha256, count, held = hashlib.sha256(), 0, b""
    for part in store.read(transfer.path):
        _write(pipe, held)
        sha256.update(part)
        count += len(part)
        if count > transfer.bytes:
            break
        held = part
    if count != transfer.bytes or transfer.sha256 not in (None, sha256.hexdigest()):
        message = f"The content of {transfer.path} has changed: its size or checksum differs from the manifest."
        raise TransferError("file-corrupted", message)
    _write(pipe, held)
    return {}


def _receive(store: Store, transfer: ReceiveFile, pipe: int) -> dict[str, Any]:
    """Write the content from a pipe to a file, which becomes visible only if it is complete."""
    content = _Received(transfer.bytes, pipe)
    try:
        store.write(transfer.path, content.parts())
    except Exception as error:
        raise content.error or error from error
    return {"bytes": transfer.bytes, "sha256": content.sha256.hexdigest()}


class _Received:
    def __init__(self, size: int, pipe: int) -> None:
        self._size = size
        self._pipe = pipe
        self.sha256 = hashlib.sha256()
        self.error: TransferError | None = None
        """Why `parts` raised. Stores can wrap it."""

    def parts(self) -> Iterator[bytes]:
        count = 0
        while part := os.read(self._pipe, READ_BYTES):
            count += len(part)
            self.sha256.update(part)
            yield part
        if count != self._size:
            message = f"The connection ended after {count} of {self._size} bytes."
            self.error = TransferError("stopped", message)
            raise self.error


def _write(pipe: int, part: bytes) -> None:
    remaining = memoryview(part)
    try:
        while remaining:
            remaining = remaining[os.write(pipe, remaining) :]
    except BrokenPipeError:
        raise TransferError("stopped", STOPPED) from None
