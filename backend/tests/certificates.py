"""Certificates signed by an external CA."""

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
    key: PrivateKey | ec.EllipticCurvePublicKey | None = None,
    usage: ObjectIdentifier | None = ExtendedKeyUsageOID.SERVER_AUTH,
    begins: timedelta = timedelta(days=-1),
    ends: timedelta = timedelta(days=100),
    is_authority: bool | None = None,
    more: Sequence[x509.ExtensionType] = (),
) -> Signed:
    """Return a certificate signed by `above`, or a self-signed CA certificate if `above` is missing.

    `begins` and `ends` are relative to the current time. If `key` is only a public key, `above` must sign the certificate, and the
    result cannot sign other certificates.
    """
    is_public = isinstance(key, ec.EllipticCurvePublicKey)
    private = key if key and not is_public else ec.generate_private_key(ec.SECP256R1())
    issuer = above.certificate.subject if above else tls.subject(name)
    now = datetime.now(UTC)
    signs = above is None if is_authority is None else is_authority
    builder = (
        x509.CertificateBuilder(
            issuer, tls.subject(name), key if is_public else private.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
    )
    if names:
        names_extension = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(names_extension, critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    for extension in more:
        builder = builder.add_extension(extension, critical=False)
    return Signed(builder.sign(above.private if above else private, hashes.SHA256()), private)


def below(
    root: Signed,
    key: PrivateKey | ec.EllipticCurvePublicKey,
    *more: x509.ExtensionType,
    ends: timedelta = timedelta(days=400),
    name: str = "shardboard ca",
) -> Signed:
    """Return a CA certificate for `key`, signed by `root`."""
    return sign(name, root, names=(), key=key, usage=None, is_authority=True, ends=ends, more=more)


def root(name: str = "corporate root") -> Signed:
    """Return a self-signed corporate root CA."""
    return sign(name, names=(), usage=None, ends=timedelta(days=3000))
