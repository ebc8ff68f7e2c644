"""Certificates as an authority elsewhere would sign them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from shardboard import tls

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass
class Signed:
    certificate: x509.Certificate
    private: PrivateKey

    @property
    def pem(self) -> str:
        return tls.pem(self.certificate).decode()

    @property
    def key(self) -> str:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        return self.private.private_bytes(*form, serialization.NoEncryption()).decode()


def sign(
    name: str,
    above: Signed | None = None,
    *,
    names: Sequence[str] = ("console.example.com",),
    key: PrivateKey | None = None,
    usage: ObjectIdentifier | None = ExtendedKeyUsageOID.SERVER_AUTH,
    begins: timedelta = timedelta(days=-1),
    ends: timedelta = timedelta(days=100),
) -> Signed:
    """Signed by `above`, else by itself; `begins` and `ends` count from now."""
    private = key or ec.generate_private_key(ec.SECP256R1())
    issuer = above.certificate.subject if above else tls.subject(name)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(issuer, tls.subject(name), private.public_key(), x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.BasicConstraints(ca=above is None, path_length=None), critical=True)
    )
    if names:
        held = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(held, critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Signed(builder.sign(above.private if above else private, hashes.SHA256()), private)
