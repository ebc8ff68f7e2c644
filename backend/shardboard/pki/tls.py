"""Contents and lifetimes of certificates."""

import contextlib
import secrets
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from shardboard.errors import NotAcceptable

CA_DAYS = 3650
SERVER_DAYS = 825
"""Some browsers reject certificates with a longer lifetime, even from a trusted CA."""
PEER_DAYS = 90
"""Lifetime of the certificates between console and agents."""
RENEW_DAYS = 90
"""Remaining days at which certificates with longer lifetimes are renewed. More than the days of the expiry alert."""
_CLOCK_SKEW = timedelta(hours=1)

AgentKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey


def is_due(valid_until: datetime, days: int, now: datetime) -> bool:
    """Return whether a certificate with this lifetime must be renewed: it expires soon (after a third of a short lifetime), or an
    earlier release issued it for longer.
    """
    return not timedelta(days=min(RENEW_DAYS, days * 2 // 3)) < valid_until - now < timedelta(days=days + 1)


def public_key_of_request(csr_pem: str) -> AgentKey:
    """Return the public key of a signing request if the signature is valid and the key is strong enough. Raises NotAcceptable."""
    problem = "The certificate request is not readable."
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
        request = x509.load_pem_x509_csr(csr_pem.encode())
        key = request.public_key()
        if not request.is_signature_valid:
            problem = "The signature of the certificate request is invalid."
        elif not is_strong(key):
            problem = "The key of the certificate request is too weak. Use an elliptic curve of 256 bits or RSA with 2048 bits."
        else:
            assert isinstance(key, AgentKey)  # noqa: S101 - `is_strong` accepts no other types
            return key
    raise NotAcceptable("invalid_certificate", problem, field="csr")


def is_strong(key: object) -> bool:
    match key:
        case ec.EllipticCurvePublicKey():
            return key.curve.key_size >= 256
        case rsa.RSAPublicKey():
            return key.key_size >= 2048
    return isinstance(key, ed25519.Ed25519PublicKey)


def subject_names(certificate: x509.Certificate) -> set[str]:
    """Return host names and addresses of a certificate. Raises ValueError if its extensions are malformed."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(name.value) for name in names}


def random_part() -> str:
    """Return a random suffix that distinguishes CAs in one trust store."""
    return secrets.token_hex(4)


def certificate_builder(
    owner: x509.Name, issuer: x509.Name, days: int, valid_from: datetime | None = None, latest: datetime | None = None
) -> x509.CertificateBuilder:
    """Return a builder for this lifetime, ending at `latest` at most: if that has passed, the certificate is expired from the
    start.
    """
    now = datetime.now(UTC)
    valid_until = min(now + timedelta(days=days), latest or datetime.max.replace(tzinfo=UTC))
    return (
        x509.CertificateBuilder()
        .subject_name(owner)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(valid_from or now - _CLOCK_SKEW, valid_until - _CLOCK_SKEW))
        .not_valid_after(valid_until)
    )


def subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def serial_of(certificate: str) -> str:
    """Return the serial number of a certificate (PEM) in lower-case hexadecimal."""
    return f"{x509.load_pem_x509_certificate(certificate.encode()).serial_number:x}"


def signing_key_of(certificate: x509.Certificate) -> str:
    """Return the identifier of the key that signed the certificate, hexadecimal; empty if it has none. Raises ValueError if its
    extensions are malformed.
    """
    try:
        identifier = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    except x509.ExtensionNotFound:
        return ""
    return (identifier.key_identifier or b"").hex()


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
