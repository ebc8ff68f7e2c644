"""Encryption and authentication of the copies that agents keep for the recovery of a console.

The key is derived from the private key of the console CA, so that only a console of this CA can write and read copies. The name and
version of a copy are authenticated with it: an agent can return an old copy, but cannot present it as a newer or another one.
"""

import base64
import binascii
import json
import secrets
import zlib
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.pki.signer import CertificateAuthority

FORMAT = 1
NONCE_BYTES, KEY_BYTES = 12, 32
MAX_PLAIN_BYTES = 64 << 20
"""Limit for the decompressed content."""
OPTIONAL_FIELDS = ("ca_for_store_key", "ca_for_shares", "share")
"""Fields of an envelope that only copies of the cluster have."""
CA_COLUMN = "recovery_copies.ca"
"""Name to which the CA in a copy is bound when the store key encrypts it (`StoreKeys.encrypt`)."""


class SealError(ValueError):
    """A copy cannot be used. The message continues a sentence that starts with the copy."""


@dataclass(frozen=True)
class Envelope:
    """The content of a copy for agents: what can be read without the console CA."""

    ca: str
    """Fingerprint of the CA whose key encrypts the copy."""
    sealed: str
    """Nonce and ciphertext in base64."""
    ca_for_store_key: str = ""
    """The CA with its private key, encrypted with the store key. Only in copies of the cluster, as are the following fields."""
    ca_for_shares: str = ""
    """The CA with its private key, encrypted with a key that is shared among the nodes (`pki/recovery_shares.py`)."""
    share: str = ""
    """The share of the node that keeps this copy."""

    @classmethod
    def parse(cls, content: str) -> "Envelope":
        """Raises SealError."""
        try:
            fields = json.loads(content)
            format_ = fields["format"]
            envelope = cls(fields["ca"], fields["sealed"], *(fields.get(name, "") for name in OPTIONAL_FIELDS))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SealError("is damaged") from error
        if format_ != FORMAT:
            raise SealError("has the format of another release. Use the release of the lost console")
        if not all(isinstance(each, str) for each in vars(envelope).values()):
            raise SealError("is damaged")
        return envelope

    def text(self) -> str:
        optional = {name: value for name in OPTIONAL_FIELDS if (value := getattr(self, name))}
        return json.dumps({"format": FORMAT, "ca": self.ca, "sealed": self.sealed} | optional)


def seal(ca: CertificateAuthority, version: CopyVersion, plain: bytes, ca_for_store_key: str = "") -> RecoveryCopy:
    """Return an encrypted copy. Raises ValueError if it is too large for agents."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    ciphertext = AESGCM(_key(ca)).encrypt(nonce, zlib.compress(plain), _bound_to(ca, version))
    sealed = base64.b64encode(nonce + ciphertext).decode()
    content = Envelope(ca.fingerprint, sealed, ca_for_store_key).text()
    return RecoveryCopy(**version.model_dump(), content=content)


def unseal(ca: CertificateAuthority, copy: RecoveryCopy) -> bytes:
    """Return the content of a copy. Raises SealError if a console with this CA has not written it exactly so."""
    envelope = Envelope.parse(copy.content)
    if envelope.ca != ca.fingerprint:
        raise SealError("was written with another console CA")
    try:
        raw = base64.b64decode(envelope.sealed, validate=True)
        compressed = AESGCM(_key(ca)).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bound_to(ca, copy))
    except (InvalidTag, binascii.Error, ValueError) as error:
        raise SealError("is damaged or forged") from error
    decompressor = zlib.decompressobj()
    plain = decompressor.decompress(compressed, MAX_PLAIN_BYTES)
    if not decompressor.eof:
        raise SealError("is too large")
    return plain


def _bound_to(ca: CertificateAuthority, version: CopyVersion) -> bytes:
    return f"{FORMAT} {version.name} {version.term} {version.counter} {ca.fingerprint}".encode()


def private_key(ca: CertificateAuthority) -> bytes:
    return ca.key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def derive_key(ca_key: bytes, purpose: str, length: int) -> bytes:
    """Return bytes that only a holder of the private key of the CA can compute, different for each purpose."""
    return HKDF(SHA256(), length, None, f"shardboard {purpose}".encode()).derive(ca_key)


@lru_cache(maxsize=4)
def _copy_key(ca_key: bytes) -> bytes:
    return derive_key(ca_key, "recovery copies", KEY_BYTES)


def _key(ca: CertificateAuthority) -> bytes:
    return _copy_key(private_key(ca))
