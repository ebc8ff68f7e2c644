"""The error of a transfer."""

from collections.abc import Mapping
from errno import EACCES, EDQUOT, EISDIR, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS
from types import MappingProxyType

from shardboard.contract.transfers import ErrorCode

_CODES: Mapping[int, ErrorCode] = MappingProxyType(
    {
        **dict.fromkeys((EACCES, EPERM, EROFS), "no-permission"),
        **dict.fromkeys((ENOENT, ENOTDIR, EISDIR), "wrong-file-path"),
    }
)
STOPPED = "The transfer was stopped."


class TransferError(Exception):
    """The transfer failed; the text is a message for users."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def from_os_error(error: OSError, path: str, otherwise: ErrorCode) -> TransferError:
    """Return the error for a failed operation on a file."""
    if error.errno in (ENOSPC, EDQUOT):
        return TransferError(otherwise, f"The disk or quota is full: {path}. Free space, or choose another location.")
    code = _CODES.get(error.errno or 0, otherwise)
    return TransferError(code, f"{error.strerror or error}: {path}")
