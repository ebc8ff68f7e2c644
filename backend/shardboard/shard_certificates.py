"""What the shards and proxies of one database prove to each other: a certificate of an authority that only they trust.

Every database has an authority of its own, because engines do not look at names: whoever shows a certificate of an authority
that they trust is let in. So a shard of one database cannot speak to those of another, and an agent's certificate opens no
shard. All of a database show the same certificate: who holds one of its shards has its data and its administrative password.
"""

from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard import tls

NAME = "shard.internal"
"""Proxies insist on it (`engine/proxy/src/tls.rs`)."""
DAYS = 90
RENEW_DAYS = 30
"""Days before its end from which a certificate is replaced."""
AUTHORITY_DAYS = 3650


@dataclass(frozen=True)
class ShardCertificates:
    """PEM texts of one database, as they are stored with it."""

    authority: str
    authority_key: str = field(repr=False)
    certificate: str
    key: str = field(repr=False)
    number: int = 1
    """Of the certificate: how many there have been. Shards are born with the present one, so the first reaches all by itself."""

    @classmethod
    def issue(cls) -> Self:
        """For a new database."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = tls.subject(f"Shardboard database {tls.random_part()}")
        authority = (
            tls.builder(name, name, AUTHORITY_DAYS)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(tls.key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(*_texts(authority, key), *_signed(authority, key))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        return cls(**stored)

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def ends(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for another certificate."""
        return self.ends < now + timedelta(days=RENEW_DAYS)

    def renewed(self) -> "ShardCertificates":
        """With another certificate of the same authority: old and new ones trust each other while they are replaced."""
        authority = x509.load_pem_x509_certificate(self.authority.encode())
        key = serialization.load_pem_private_key(self.authority_key.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority of a database has a key on an elliptic curve")
        return ShardCertificates(self.authority, self.authority_key, *_signed(authority, key), self.number + 1)


def _signed(authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey) -> tuple[str, str]:
    """A certificate for both ends of a connection, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        tls.builder(tls.subject(NAME), authority.subject, DAYS)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(tls.key_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return _texts(certificate, key)


def _texts(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> tuple[str, str]:
    return tls.pem(certificate).decode(), tls.key_pem(key).decode()
