"""Transfers that work on files of a location, without shards."""

import hashlib
import heapq
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shardboard.contract.transfers import MAX_FILE_CHARACTERS, WriteFile
from shardboard.transfer.errors import TransferError
from shardboard.transfer.stores.store import Store

MAX_FILES = 10_000
"""In one list."""
VISIBLE_SECONDS = 60.0
"""Longer than NFS keeps the attributes of folders in its cache."""
_FORMATS = (b"REDIS", b"VALKEY", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""First bytes of RDB files, of gzip and of zstd."""
CHECK_FOLDER = ".shardboard-check"


def read_text(store: Store, path: str) -> str:
    """Return the content of a text file. Raises TransferError if it is too long or not UTF-8."""
    content = bytearray()
    for part in store.read(path):
        content += part
        if len(content) > MAX_FILE_CHARACTERS:
            raise TransferError("file-corrupted", f"{path} is longer than {MAX_FILE_CHARACTERS} bytes.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise TransferError("file-corrupted", f"{path} is not a text file.") from error


def write_text(store: Store, transfer: WriteFile) -> dict[str, Any]:
    """Write a text file, and return the result of WriteFile. Raises TransferError if a file that it describes is missing."""
    folder = transfer.path.rpartition("/")[0]
    check_sizes(store, folder, transfer.expected)
    content = transfer.text.encode()
    store.write(transfer.path, iter([content]))
    if transfer.expected:  # it completes the folder
        store.remove_incomplete(folder)
    return {"sha256": hashlib.sha256(content).hexdigest()}


def check_beginning(content: Iterator[bytes], path: str) -> None:
    """Read the beginning of a decrypted file. Raises TransferError if it cannot be an RDB file."""
    if not next(content, b"").startswith(_FORMATS):
        raise TransferError("file-corrupted", f"{path} is neither an RDB file nor compressed with gzip or zstd.")


def check_sizes(store: Store, folder: str, expected: Mapping[str, int]) -> None:
    """Raise TransferError unless the folder contains these files with these sizes.

    Network file systems show files of other nodes after a delay.
    """
    deadline = time.monotonic() + VISIBLE_SECONDS
    while missing := _missing_files(store, folder, expected):
        if time.monotonic() < deadline:
            time.sleep(1)
            continue
        message = (
            f"{missing[0]}, which another node wrote, is missing or has another size on this node. "
            "Check that all nodes mount the same folder."
        )
        raise TransferError("wrong-file-path", message)


def _missing_files(store: Store, folder: str, expected: Mapping[str, int]) -> list[str]:
    found = {file.path: file.bytes for file in store.list(folder)} if expected else {}
    return [path for path, size in expected.items() if found.get(path) != size]


def list_files(store: Store, folder: str, suffix: str = "", after: str = "") -> dict[str, Any]:
    """Return the result of ListFiles."""
    matching = (file for file in store.list(folder) if file.path > after and file.path.endswith(suffix))
    found = heapq.nsmallest(MAX_FILES + 1, matching, key=lambda file: file.path)
    files = [
        {
            "path": file.path,
            "bytes": file.bytes,
            "modified": file.modified.isoformat() if file.modified is not None else None,
        }
        for file in found[:MAX_FILES]
    ]
    return {"files": files, "truncated": len(found) > MAX_FILES}


def check_location(open_location: Callable[[], Store], *, only_read: bool = False) -> dict[str, Any]:
    """Write, read, list and delete a small file, or only read. Return the result of CheckLocation."""
    stores: list[Store] = []

    def connect() -> None:
        stores.append(open_location())

    steps = _read_steps(stores) if only_read else _file_steps(stores)
    try:
        return {"checks": list(_checks({"connect": connect, **steps}))}
    finally:
        for store in stores:
            store.close()


def _read_steps(stores: Sequence[Store]) -> dict[str, Callable[[], object]]:
    return {"read": lambda: next(iter(stores[0].read("file")), b"")}


def _file_steps(stores: Sequence[Store]) -> dict[str, Callable[[], object]]:
    """Return the checks that use a file."""
    path, content = f"{CHECK_FOLDER}/{uuid.uuid4().hex}.txt", b"Written by Shardboard to test this location.\n"

    def read() -> None:
        if b"".join(stores[0].read(path)) != content:
            raise TransferError("download-error", "The file that was read differs from the file that was written.")

    def find() -> None:
        if path not in [file.path for file in stores[0].list(CHECK_FOLDER)]:
            raise TransferError("download-error", "The list does not contain the file that was written.")

    return {
        "write": lambda: stores[0].write(path, iter([content])),
        "read": read,
        "list": find,
        "delete": lambda: stores[0].delete([path]),
    }


def _checks(steps: Mapping[str, Callable[[], object]]) -> Iterator[dict[str, Any]]:
    """Yield the result of one check after another, until one fails."""
    for name, step in steps.items():
        try:
            step()
        except TransferError as error:
            yield {"name": name, "ok": False, "error": str(error), "error_code": error.code}
            return
        yield {"name": name, "ok": True, "error": "", "error_code": ""}
