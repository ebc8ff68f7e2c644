"""Secrets in environment variables."""

import ctypes
import os


def pop_secret(name: str) -> str | None:
    """Return the value of a variable and remove it: child processes do not inherit it, and `/proc/<pid>/environ` does not show
    it."""
    value = os.environ.get(name)
    if value is None:
        return None
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(os.fsencode(name))
    if address:  # removing a variable leaves its bytes in the memory that the kernel shows
        ctypes.memset(address, 0, len(os.fsencode(value)))
    del os.environ[name]
    return value
