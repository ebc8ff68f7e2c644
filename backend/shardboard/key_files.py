"""Files with private keys, and what OpenSSL reads of them."""

import os
import secrets
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PART = "." + "[0-9a-f]" * 8
"""What the name of a file ends with while it is written; it begins with a dot."""


def write_private(path: Path, content: bytes, like: os.stat_result | None = None) -> None:
    """Put a file in place whole, never readable by others, not even for a moment, and there to stay when power fails. It belongs to
    who writes it, or has owner and mode of `like`. Raises OSError; then nothing has changed, unless the disk itself failed."""
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
    """Have names of files in it survive a power failure. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_parts(directory: Path, name: str = "*") -> None:
    """Of files, or of one, that a process was writing there when it was killed. No other may be writing there."""
    for part in directory.glob(f".{name}{_PART}"):
        part.unlink(missing_ok=True)


def show(context: ssl.SSLContext, pair: bytes) -> None:
    """Let a context show this certificate, with its key (PEM). Raises ssl.SSLError when one is not for the other."""
    with readable(pair) as path:
        context.load_cert_chain(path)


@contextmanager
def readable(content: bytes) -> Iterator[str]:
    """The path of a file with this content, for OpenSSL, which wants one. It is on no disk."""
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
