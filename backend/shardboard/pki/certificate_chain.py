"""Validation of certificate chains that users provide: a certificate followed by those of its issuers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from shardboard.errors import NotAcceptable
from shardboard.pki.tls import subject_names

UNREADABLE = (
    *(ValueError, TypeError, UnsupportedAlgorithm),
    *(x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType),
)
"""Exceptions that `cryptography` raises for malformed or unsupported certificates."""


class InvalidCertificateChain(ValueError):
    """The certificate chain is invalid. The message is for the user."""

    def __init__(self, message: str, field: str = "certificate") -> None:
        super().__init__(message)
        self.field = field


def parse_chain(content: bytes) -> tuple[x509.Certificate, ...]:
    """Parse a PEM chain. Raises Wrong, or one of UNREADABLE."""
    try:
        return tuple(x509.load_pem_x509_certificates(content))
    except (ValueError, x509.InvalidVersion) as error:
        raise InvalidCertificateChain(
            "This is not a certificate in PEM format, which starts with -----BEGIN CERTIFICATE-----."
        ) from error


def check_order(chain: Sequence[x509.Certificate]) -> None:
    """Check that each certificate was signed by the next one. Raises Wrong."""
    for index, (certificate, issuer) in enumerate(pairwise(chain), 2):
        try:
            certificate.verify_directly_issued_by(issuer)
        except (*UNREADABLE, InvalidSignature) as error:
            certificate_name, signer_name = display_name(certificate), display_name(issuer)
            message = (
                f"Certificate {index} of the chain ({signer_name}) did not sign the previous one ({certificate_name})."
            )
            raise InvalidCertificateChain(message) from error


def check_validity_period(chain: Sequence[x509.Certificate], now: datetime | None = None) -> None:
    """Check that all certificates are valid now. Raises NotAcceptable."""
    now = now or datetime.now(UTC)
    for each in chain:
        if each.not_valid_after_utc <= now:
            message = (
                f"The certificate of {display_name(each)} expired on {each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC."
            )
            raise NotAcceptable("certificate_expired", message, field="certificate")
        if each.not_valid_before_utc > now:
            start = f"{each.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
            message = f"The certificate of {display_name(each)} is not valid before {start}."
            raise NotAcceptable("invalid_certificate", message, field="certificate")


def display_name(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or ", ".join(sorted(subject_names(certificate))) or "unnamed"
