"""Files with private keys, and what OpenSSL reads of them."""

import os
import secrets
import ssl
from pathlib import Path

_PART = "." + "[0-9a-f]" * 8
"""What the name of a file ends with while it is written; it begins with a dot."""


def write_private(path: Path, content: bytes) -> None:
    """Put a file in place whole, never readable by others, not even for a moment. Raises OSError; then nothing has changed."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def remove_parts(directory: Path) -> None:
    """Of files that a process was writing there when it was killed. No other may be writing there."""
    for part in directory.glob(f".*{_PART}"):
        part.unlink(missing_ok=True)


def show(context: ssl.SSLContext, pair: bytes) -> None:
    """Let a context show this certificate, with its key (PEM). Raises ssl.SSLError when one is not for the other."""
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:  # OpenSSL wants a file; this one is on no disk
        file.write(pair)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
