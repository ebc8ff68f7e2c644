"""Certificates that a person brings, each with those of the authorities above it: whether they are what they should be."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from shardboard.errors import NotAcceptable
from shardboard.tls import names_of

UNREADABLE = (
    *(ValueError, TypeError, UnsupportedAlgorithm),
    *(x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType),
)
"""What `cryptography` raises, sooner or later, of certificates that are not well formed or that it does not know."""


class Wrong(ValueError):
    """A sentence for whoever brought it."""

    def __init__(self, sentence: str, field: str = "certificate") -> None:
        super().__init__(sentence)
        self.field = field


def read(content: bytes) -> tuple[x509.Certificate, ...]:
    """Of PEM. Raises Wrong, or one of UNREADABLE."""
    try:
        return tuple(x509.load_pem_x509_certificates(content))
    except (ValueError, x509.InvalidVersion) as error:
        raise Wrong("This is no certificate in PEM: it begins with -----BEGIN CERTIFICATE-----.") from error


def insist_on_order(chain: Sequence[x509.Certificate]) -> None:
    """Each was signed by the one after it. Raises Wrong."""
    for place, (below, above) in enumerate(pairwise(chain), 2):
        try:
            below.verify_directly_issued_by(above)
        except (*UNREADABLE, InvalidSignature) as error:
            sentence = (
                f"Certificate {place} of the chain ({name_of(above)}) did not sign the one before ({name_of(below)})."
            )
            raise Wrong(sentence) from error


def insist_on_time(chain: Sequence[x509.Certificate], now: datetime | None = None) -> None:
    """All of them hold now. Raises NotAcceptable."""
    now = now or datetime.now(UTC)
    for each in chain:
        if each.not_valid_after_utc <= now:
            sentence = f"The certificate of {name_of(each)} expired on {each.not_valid_after_utc:%Y-%m-%d %H:%M} UTC."
            raise NotAcceptable("certificate_expired", sentence, field="certificate")
        if each.not_valid_before_utc > now:
            begins = f"{each.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
            sentence = f"The certificate of {name_of(each)} does not hold before {begins}."
            raise NotAcceptable("invalid_certificate", sentence, field="certificate")


def name_of(certificate: x509.Certificate) -> str:
    return certificate.subject.rfc4514_string() or ", ".join(sorted(names_of(certificate))) or "unnamed"
