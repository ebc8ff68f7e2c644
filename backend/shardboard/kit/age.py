"""Encryption of files in the age format, version 1 (https://age-encryption.org/v1), for X25519 keys or with a passphrase.

The content is encrypted in chunks with ChaCha20-Poly1305. A counter and a mark of the last chunk make changed, missing, added, and
reordered chunks detectable. The program `age` reads and writes the same files.
"""

import base64
import binascii
import hmac
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from shardboard.kit import age_keys

VERSION = b"age-encryption.org/v1\n"
"""The beginning of each encrypted file."""
CHUNK_BYTES = 2**16
TAG_BYTES = 16
MAX_HEADER_BYTES = 2**16
FILE_KEY_BYTES = NONCE_BYTES = 16
_X25519, _SCRYPT = "X25519", "scrypt"
_LABEL, _SCRYPT_LABEL = b"age-encryption.org/v1/X25519", b"age-encryption.org/v1/scrypt"
SCRYPT_LOG_N = 18
"""Work factor of passphrases: one attempt takes about a second and 256 MiB of memory. The program `age` uses the same."""
MAX_SCRYPT_LOG_N = 20
"""Limit for files of other programs, because each step doubles the memory."""
_END = re.compile(rb"^---", re.MULTILINE)
_ARMOR_BEGIN, _ARMOR_END = "-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----"
_ARMOR_COLUMNS = 64


class AgeError(ValueError):
    """A file cannot be decrypted. The text completes a sentence whose subject is the file."""


class WrongKey(AgeError):
    """No identity belongs to the file, or the passphrase is wrong or missing."""


class DamagedFile(AgeError):
    """The file is incomplete, or was changed."""


def encrypt(parts: Iterable[bytes], recipients: Sequence[str]) -> Iterator[bytes]:
    """Yield a file that each of these public keys can decrypt. Raises InvalidKey."""
    keys = [age_keys.parse_recipient(each) for each in recipients]
    return _encrypt(parts, lambda file_key: b"".join(_stanza(file_key, key) for key in keys))


def encrypt_with_passphrase(parts: Iterable[bytes], passphrase: str) -> Iterator[bytes]:
    """Yield a file that can be decrypted with the passphrase."""
    return _encrypt(parts, lambda file_key: _scrypt_stanza(file_key, passphrase))


def _encrypt(parts: Iterable[bytes], stanzas: Callable[[bytes], bytes]) -> Iterator[bytes]:
    file_key = os.urandom(FILE_KEY_BYTES)
    header = VERSION + stanzas(file_key) + b"---"
    nonce = os.urandom(NONCE_BYTES)
    yield header + b" " + _base64(_header_mac(file_key, header)) + b"\n" + nonce
    cipher = _payload_cipher(file_key, nonce)
    for number, (chunk, is_last) in enumerate(_chunks(parts, CHUNK_BYTES)):
        yield cipher.encrypt(_chunk_nonce(number, is_last=is_last), chunk, None)


def decrypt(parts: Iterable[bytes], identities: Sequence[str], passphrase: str | None = None) -> Iterator[bytes]:
    """Yield the content of a file. Raises AgeError; what was yielded before is authentic but can be incomplete."""
    content = iter(parts)
    header, rest = _read_header(content)
    file_key = _file_key(header, [age_keys.parse_identity(each) for each in identities], passphrase)
    if not hmac.compare_digest(_header_mac(file_key, header.authenticated), header.mac):
        raise DamagedFile("was changed: its header is not authentic.")
    while len(rest) < NONCE_BYTES:
        rest += _next(content)
    cipher = _payload_cipher(file_key, bytes(rest[:NONCE_BYTES]))
    encrypted = _joined(bytes(rest[NONCE_BYTES:]), content)
    for number, (chunk, is_last) in enumerate(_chunks(encrypted, CHUNK_BYTES + TAG_BYTES)):
        try:
            plain = cipher.decrypt(_chunk_nonce(number, is_last=is_last), chunk, None)
        except InvalidTag:
            raise DamagedFile("is incomplete or was changed.") from None
        if number and not plain:
            raise DamagedFile("was changed: its last chunk is empty.")
        yield plain


def encrypt_text(text: str, recipients: Sequence[str]) -> str:
    """Return an encrypted text in ASCII armor."""
    encoded = base64.b64encode(b"".join(encrypt([text.encode()], recipients))).decode()
    lines = [encoded[start : start + _ARMOR_COLUMNS] for start in range(0, len(encoded), _ARMOR_COLUMNS)]
    return "\n".join([_ARMOR_BEGIN, *lines, _ARMOR_END, ""])


def decrypt_text(armored: str, identities: Sequence[str]) -> str:
    """Return the text of an encrypted text in ASCII armor. Raises AgeError."""
    lines = armored.split()
    begin, end = _ARMOR_BEGIN.split(), _ARMOR_END.split()
    if lines[: len(begin)] != begin or lines[-len(end) :] != end:
        raise DamagedFile("is not an encrypted text.")
    try:
        content = base64.b64decode("".join(lines[len(begin) : -len(end)]), validate=True)
        return b"".join(decrypt([content], identities)).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise DamagedFile("was changed: its encoding is invalid.") from None


@dataclass(frozen=True)
class _Header:
    stanzas: Sequence[tuple[list[str], bytes]]
    """Arguments and body."""
    authenticated: bytes
    mac: bytes


def _read_header(parts: Iterator[bytes]) -> tuple[_Header, bytearray]:
    """Return the header, and what was read after it."""
    content = bytearray()
    while True:
        end = _END.search(content)
        line_end = content.find(b"\n", end.start()) if end is not None else -1
        if end is not None and line_end >= 0:
            break
        if not VERSION.startswith(bytes(content[: len(VERSION)])):
            raise DamagedFile("is not encrypted in the age format.")
        if len(content) > MAX_HEADER_BYTES:
            raise DamagedFile("was changed: its header is too long.")
        content += _next(parts)
    if not content.startswith(VERSION):
        raise DamagedFile("is not encrypted in the age format.")
    authenticated, mac = bytes(content[: end.end()]), bytes(content[end.end() : line_end])
    try:
        stanzas = _stanzas(bytes(content[len(VERSION) : end.start()]).decode("ascii"))
        header = _Header(stanzas, authenticated, _unbase64(mac.removeprefix(b" ").decode("ascii")))
    except (ValueError, IndexError):
        raise DamagedFile("was changed: its header is invalid.") from None
    return header, content[line_end + 1 :]


def _stanzas(text: str) -> list[tuple[list[str], bytes]]:
    """Parse the stanzas, one for each recipient. Raises ValueError or IndexError."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("-> "):
            found.append((line.split(" ")[1:], []))
        else:
            _, body = found[-1]
            body.append(line)
    return [(arguments, _unbase64("".join(body))) for arguments, body in found]


def _file_key(header: _Header, identities: Sequence[X25519PrivateKey], passphrase: str | None) -> bytes:
    if any(arguments[:1] == [_SCRYPT] for arguments, _ in header.stanzas):
        return _file_key_of_passphrase(header, passphrase)
    if not identities:
        raise WrongKey("is encrypted with a public key. Its private key is required.")
    for arguments, body in header.stanzas:
        if len(arguments) != 2 or arguments[0] != _X25519 or len(body) != FILE_KEY_BYTES + TAG_BYTES:
            continue
        for identity in identities:
            if (file_key := _unwrap(identity, arguments[1], body)) is not None:
                return file_key
    raise WrongKey("cannot be decrypted with this private key.")


def _file_key_of_passphrase(header: _Header, passphrase: str | None) -> bytes:
    if passphrase is None:
        raise WrongKey("is encrypted with a passphrase, which is required.")
    try:
        [([_, salt, log_n], body)] = header.stanzas  # the only stanza, otherwise the file would not be authentic
        salt_bytes, exponent = _unbase64(salt), int(log_n)
    except ValueError:
        raise DamagedFile("was changed: its header is invalid.") from None
    if not 0 < exponent <= MAX_SCRYPT_LOG_N:
        raise DamagedFile(f"requires a work factor of {exponent}. At most {MAX_SCRYPT_LOG_N} is supported.")
    try:
        return ChaCha20Poly1305(_scrypt(passphrase, salt_bytes, exponent)).decrypt(bytes(12), body, None)
    except InvalidTag:
        raise WrongKey("cannot be decrypted with this passphrase.") from None


def _scrypt_stanza(file_key: bytes, passphrase: str) -> bytes:
    """Return the file key, encrypted with a passphrase."""
    salt = os.urandom(NONCE_BYTES)
    body = ChaCha20Poly1305(_scrypt(passphrase, salt, SCRYPT_LOG_N)).encrypt(bytes(12), file_key, None)
    return b"-> scrypt " + _base64(salt) + f" {SCRYPT_LOG_N}\n".encode() + _base64(body) + b"\n"


def _scrypt(passphrase: str, salt: bytes, log_n: int) -> bytes:
    return Scrypt(salt=_SCRYPT_LABEL + salt, length=32, n=2**log_n, r=8, p=1).derive(passphrase.encode())


def _stanza(file_key: bytes, recipient: X25519PublicKey) -> bytes:
    """Return the file key, encrypted for a recipient."""
    ephemeral = X25519PrivateKey.generate()
    share = _raw(ephemeral.public_key())
    key = _derive(ephemeral.exchange(recipient), share + _raw(recipient), _LABEL)
    body = ChaCha20Poly1305(key).encrypt(bytes(12), file_key, None)
    return b"-> X25519 " + _base64(share) + b"\n" + _base64(body) + b"\n"


def _unwrap(identity: X25519PrivateKey, share: str, body: bytes) -> bytes | None:
    """Return the file key, if it was encrypted for this identity."""
    try:
        public = _unbase64(share)
        shared = identity.exchange(X25519PublicKey.from_public_bytes(public))
        key = _derive(shared, public + _raw(identity.public_key()), _LABEL)
        return ChaCha20Poly1305(key).decrypt(bytes(12), body, None)
    except (InvalidTag, ValueError):
        return None


def _header_mac(file_key: bytes, header: bytes) -> bytes:
    return hmac.digest(_derive(file_key, b"", b"header"), header, "sha256")


def _payload_cipher(file_key: bytes, nonce: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(_derive(file_key, nonce, b"payload"))


def _derive(secret: bytes, salt: bytes, label: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, label).derive(secret)


def _chunk_nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _chunks(parts: Iterable[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Yield the content in chunks of `size` bytes, and whether each is the last one, which can be shorter."""
    buffer = bytearray()
    for part in parts:
        buffer += part
        end = max(0, (len(buffer) - 1) // size * size)
        with memoryview(buffer) as content:
            for start in range(0, end, size):
                yield bytes(content[start : start + size]), False
        del buffer[:end]
    yield bytes(buffer), True


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _next(parts: Iterator[bytes]) -> bytes:
    for part in parts:
        return part
    raise DamagedFile("is incomplete or not encrypted in the age format.")


def _raw(key: X25519PublicKey) -> bytes:
    return key.public_bytes_raw()


def _base64(content: bytes) -> bytes:
    return base64.b64encode(content).rstrip(b"=")


def _unbase64(text: str) -> bytes:
    """Raises ValueError unless the text is the only encoding of its content."""
    content = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    if _base64(content).decode() != text:
        raise ValueError
    return content
