"""Encryption and decryption of the files of backups, with messages for users."""

from collections.abc import Iterable, Iterator, Sequence

from shardboard.transfer.errors import TransferError

_BEGINNING = b"age-encryption.org/"
"""Of encrypted files of all versions of the format. Its module is only imported for them: this takes CPU time in each transfer."""


def encrypted(parts: Iterable[bytes], recipients: Sequence[str]) -> Iterator[bytes]:
    """Return the content encrypted for these public keys; unchanged without public keys."""
    if not recipients:
        return iter(parts)
    from shardboard.kit import age

    return age.encrypt(parts, recipients)


def decrypted(parts: Iterator[bytes], path: str, identities: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of a file, decrypted if it is encrypted. Raises TransferError."""
    first = b""
    while len(first) < len(_BEGINNING) and (part := next(parts, b"")):
        first += part
    if not first.startswith(_BEGINNING):
        yield first
        yield from parts
        return
    if not identities:
        raise TransferError("wrong-key", f"{path} is encrypted. Send the private key of the backup.")
    from shardboard.kit import age

    try:
        yield from age.decrypt(_joined(first, parts), identities)
    except age.WrongKey as error:
        raise TransferError("wrong-key", f"{path} {error} Send the private key of the backup.") from error
    except age.AgeError as error:
        raise TransferError("file-corrupted", f"{path} {error}") from error


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
