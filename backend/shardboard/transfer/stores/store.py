"""The interface of stores."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Protocol

from shardboard.transfer.errors import TransferError

PART_BYTES = 16 * 2**20
"""Size of parts that are written and read. S3 allows 10,000 parts per file."""
PART_SUFFIX = ".part"
"""Suffix of incomplete files in stores that write in place."""


@dataclass(frozen=True)
class StoredFile:
    """A file, with its path below the location."""

    path: str
    bytes: int
    modified: datetime | None


class Store(Protocol):
    """A location. All methods raise TransferError."""

    def write(self, path: str, parts: Iterable[bytes]) -> None:
        """Write a file, which becomes visible under its name after the last part. If `parts` raises, nothing becomes visible."""

    def read(self, path: str) -> Generator[bytes]:
        """Yield the content of a file in parts of at most PART_BYTES. It can be closed early."""
        ...

    def list(self, folder: str) -> Iterator[StoredFile]:
        """Yield all files below a folder. A folder that does not exist is empty."""
        ...

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files in this order. Files that do not exist are ignored."""

    def remove_incomplete(self, folder: str) -> None:
        """Remove what killed processes left in a folder whose files are complete, as far as the store shows it."""

    def close(self) -> None: ...


def safe_parts(path: str) -> tuple[str, ...]:
    """Return the parts of a path below a location. Raises TransferError if it could leave the location."""
    parts = tuple(path.split("/")) if path else ()
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise TransferError("wrong-file-path", f"The path {path!r} contains empty parts, `.`, `..` or backslashes.")
    return parts


def join(folder: str, path: str) -> str:
    """Return the path of a file below a folder whose slashes at the ends do not matter."""
    parts = (*(part for part in folder.split("/") if part), *safe_parts(path))
    safe_parts("/".join(parts))
    return str(PurePosixPath(*parts)) if parts else ""
