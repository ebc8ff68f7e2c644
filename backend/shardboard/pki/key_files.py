"""Files with private keys, and their use with OpenSSL."""

import os
import secrets
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PART = "." + "[0-9a-f]" * 8
"""Suffix of a file's name while it is being written; the name starts with a dot."""


def write_private(path: Path, content: bytes, like: os.stat_result | None = None) -> None:
    """Write a file atomically and durably, never readable by other users. It belongs to the current user, or gets owner and mode of
    `like`. Raises OSError; then nothing has changed, unless the disk itself failed.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if like is not None:
                os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names of files in this directory durable. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_partial_files(directory: Path, name: str = "*") -> None:
    """Remove partial files, left by a process that was killed while writing. No other process may be writing there."""
    for part in directory.glob(f".{name}{_PART}"):
        part.unlink(missing_ok=True)


def load_certificate(context: ssl.SSLContext, pair: bytes) -> None:
    """Make a context present this certificate and key (PEM). Raises ssl.SSLError if they do not match."""
    with memory_file(pair) as path:
        context.load_cert_chain(path)


@contextmanager
def memory_file(content: bytes) -> Iterator[str]:
    """Yield the path of an in-memory file with this content, for OpenSSL, which requires a path."""
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
