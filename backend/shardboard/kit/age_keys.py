"""Keys of the age file format: recipients (public keys) and identities (private keys), both X25519 in Bech32."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

RECIPIENT_PREFIX, IDENTITY_PREFIX = "age", "age-secret-key-"
KEY_BYTES = 32
MAX_KEYS = 16
_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_VALUES = 6
_HINT = "Create a key with `age-keygen`"


class InvalidKey(ValueError):
    """The text is a message for users. It does not contain the key."""


def generate_identity() -> str:
    return encode_identity(X25519PrivateKey.generate())


def encode_identity(key: X25519PrivateKey) -> str:
    return _encode(IDENTITY_PREFIX, key.private_bytes_raw()).upper()


def recipient_of(identity: str) -> str:
    """Return the public key of an identity. Raises InvalidKey."""
    return _encode(RECIPIENT_PREFIX, parse_identity(identity).public_key().public_bytes_raw())


def parse_recipient(text: str) -> X25519PublicKey:
    """Raises InvalidKey."""
    if text.lower().startswith(IDENTITY_PREFIX):
        raise InvalidKey("is a private key. Send the public key, which starts with `age1`.")
    key = _decode(text, RECIPIENT_PREFIX)
    if key is None or text != text.lower():
        raise InvalidKey(f"is not an age public key, which starts with `age1`. {_HINT}.")
    return X25519PublicKey.from_public_bytes(key)


def parse_identity(text: str) -> X25519PrivateKey:
    """Raises InvalidKey."""
    key = _decode(text, IDENTITY_PREFIX)
    if key is None:
        raise InvalidKey(f"is not an age private key, which starts with `AGE-SECRET-KEY-1`. {_HINT}.")
    return X25519PrivateKey.from_private_bytes(key)


def identities_in(text: str) -> list[str]:
    """Return the identities in the content of an age identity file: one per line, with comments and empty lines.

    Raises InvalidKey.
    """
    lines = [line.strip() for line in text.splitlines()]
    found = [line.upper() for line in lines if line and not line.startswith("#")]
    if len(found) > MAX_KEYS:
        raise InvalidKey(f"contains more than {MAX_KEYS} private keys.")
    for each in found:
        parse_identity(each)
    return list(dict.fromkeys(found))


def matching(identities: Sequence[str], recipients: Sequence[str]) -> list[str]:
    """Return the identities whose public key is one of these recipients."""
    return [each for each in identities if recipient_of(each) in recipients]


def _encode(prefix: str, key: bytes) -> str:
    values = _regroup(key, 8, 5)
    checksum = _polymod([*_expanded(prefix), *values, *([0] * _CHECKSUM_VALUES)]) ^ 1
    values += [(checksum >> 5 * (5 - position)) & 31 for position in range(_CHECKSUM_VALUES)]
    return f"{prefix}1{''.join(_ALPHABET[value] for value in values)}"


def _decode(text: str, prefix: str) -> bytes | None:
    """Return the key; None if the text is not a key with this prefix."""
    if text not in (text.lower(), text.upper()):
        return None
    head, separator, data = text.lower().rpartition("1")
    if not separator or head != prefix or any(each not in _ALPHABET for each in data):
        return None
    values = [_ALPHABET.index(each) for each in data]
    if len(values) <= _CHECKSUM_VALUES or _polymod([*_expanded(prefix), *values]) != 1:
        return None
    key = bytes(_regroup(values[:-_CHECKSUM_VALUES], 5, 8))
    # Encoding it again rejects keys of another length and padding that is not zero.
    return key if len(key) == KEY_BYTES and _encode(prefix, key) == text.lower() else None


def _expanded(prefix: str) -> list[int]:
    codes = prefix.encode()
    return [*(code >> 5 for code in codes), 0, *(code & 31 for code in codes)]


def _polymod(values: Sequence[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for position, generator in enumerate(_GENERATORS):
            checksum ^= generator if top >> position & 1 else 0
    return checksum


def _regroup(values: Sequence[int], bits: int, other: int) -> list[int]:
    """Convert numbers of `bits` bits to numbers of `other` bits. Incomplete ones are padded only if they get smaller."""
    whole = 0
    for value in values:
        whole = whole << bits | value
    total = len(values) * bits
    padding = -total % other if other < bits else 0
    whole <<= padding
    excess = 0 if other < bits else total % other
    whole >>= excess
    count = (total + padding - excess) // other
    return [whole >> other * (count - 1 - position) & (1 << other) - 1 for position in range(count)]
