"""Certificates signed by an external CA."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from shardboard.pki import tls

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass
class SignedCertificate:
    certificate: x509.Certificate
    private_key: PrivateKey

    @property
    def pem(self) -> str:
        return tls.pem(self.certificate).decode()

    @property
    def key_pem(self) -> str:
        form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        return self.private_key.private_bytes(*form, serialization.NoEncryption()).decode()


def sign(
    name: str,
    issued_by: SignedCertificate | None = None,
    *,
    names: Sequence[str] = ("console.example.com",),
    key: PrivateKey | ec.EllipticCurvePublicKey | None = None,
    usage: ObjectIdentifier | None = ExtendedKeyUsageOID.SERVER_AUTH,
    valid_from: timedelta = timedelta(days=-1),
    valid_until: timedelta = timedelta(days=100),
    is_ca: bool | None = None,
    extensions: Sequence[x509.ExtensionType] = (),
) -> SignedCertificate:
    """Return a certificate signed by `above`, or a self-signed CA certificate if `above` is missing.

    `begins` and `ends` are relative to the current time. If `key` is only a public key, `above` must sign the certificate, and the
    result cannot sign other certificates.
    """
    is_public = isinstance(key, ec.EllipticCurvePublicKey)
    private_key = key if key and not is_public else ec.generate_private_key(ec.SECP256R1())
    issuer = issued_by.certificate.subject if issued_by else tls.subject(name)
    now = datetime.now(UTC)
    signs = issued_by is None if is_ca is None else is_ca
    builder = (
        x509.CertificateBuilder(
            issuer, tls.subject(name), key if is_public else private_key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now + valid_from)
        .not_valid_after(now + valid_until)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=None), critical=True)
    )
    if names:
        names_extension = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
        builder = builder.add_extension(names_extension, critical=False)
    if usage:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return SignedCertificate(
        builder.sign(issued_by.private_key if issued_by else private_key, hashes.SHA256()), private_key
    )


def sign_intermediate_ca(
    root: SignedCertificate,
    key: PrivateKey | ec.EllipticCurvePublicKey,
    *more: x509.ExtensionType,
    valid_until: timedelta = timedelta(days=400),
    name: str = "shardboard ca",
) -> SignedCertificate:
    """Return a CA certificate for `key`, signed by `root`."""
    return sign(name, root, names=(), key=key, usage=None, is_ca=True, valid_until=valid_until, extensions=more)


def create_root_ca(name: str = "corporate root") -> SignedCertificate:
    """Return a self-signed corporate root CA."""
    return sign(name, names=(), usage=None, valid_until=timedelta(days=3000))
