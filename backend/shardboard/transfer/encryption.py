"""Encryption and decryption of the files of backups, with messages for users."""

from collections.abc import Iterable, Iterator, Sequence

from shardboard.kit import age
from shardboard.transfer.errors import TransferError


def encrypted(parts: Iterable[bytes], recipients: Sequence[str]) -> Iterator[bytes]:
    """Return the content encrypted for these public keys; unchanged without public keys."""
    return age.encrypt(parts, recipients) if recipients else iter(parts)


def decrypted(parts: Iterator[bytes], path: str, identities: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of a file, decrypted if it is encrypted. Raises TransferError."""
    first = b""
    while len(first) < len(age.VERSION) and (part := next(parts, b"")):
        first += part
    if not first.startswith(age.VERSION):
        yield first
        yield from parts
        return
    if not identities:
        raise TransferError("wrong-key", f"{path} is encrypted. Send the private key of the backup.")
    try:
        yield from age.decrypt(_joined(first, parts), identities)
    except age.WrongKey as error:
        raise TransferError("wrong-key", f"{path} {error} Send the private key of the backup.") from error
    except age.AgeError as error:
        raise TransferError("file-corrupted", f"{path} {error}") from error


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
