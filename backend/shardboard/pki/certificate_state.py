"""The certificates that all consoles of a store share: the console CA, its replacement, the certificate that consoles present to
agents, and the certificate that an administrator installed for browsers.

A value never changes. Each step of a replacement returns the next one, which `state/cluster/console_certificates.py` stores in one
transaction, so that a killed console leaves the previous or the next value. `stored` are the columns of that table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shardboard.pki import tls
from shardboard.pki.signer import CertificateAuthority
from shardboard.pki.tls import CA_DAYS, PEER_DAYS, key_pem, pem, random_part, signing_key_of, subject_names

ReplacementStep = Literal["", "announced", "served"]
"""Step of the CA replacement; empty if none is in progress."""
_KEY = "-----BEGIN PRIVATE"


@dataclass(frozen=True)
class CaRequest:
    """Certificate request for an intermediate CA."""

    key: ec.EllipticCurvePrivateKey
    csr: str
    """PEM."""

    @property
    def subject(self) -> str:
        return x509.load_pem_x509_csr(self.csr.encode()).subject.rfc4514_string()

    @classmethod
    def create(cls, common_name: str, organization: str) -> "CaRequest":
        """Create a key and a request. Without a name, a unique one is generated."""
        common_name = common_name or f"Shardboard CA {random_part()}"
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [(NameOID.ORGANIZATION_NAME, organization), (NameOID.COMMON_NAME, common_name)]
        csr = (
            x509.CertificateSigningRequestBuilder()
            .subject_name(x509.Name([x509.NameAttribute(kind, text) for kind, text in parts if text]))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, csr.public_bytes(serialization.Encoding.PEM).decode())

    @classmethod
    def read(cls, text: str) -> "CaRequest":
        """Parse PEM. Raises ValueError or TypeError."""
        key = serialization.load_pem_private_key(text.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("its key is not of an elliptic curve")
        return cls(key, text.partition(_KEY)[0])

    def stored(self) -> str:
        """Return request and key (PEM) for `read`."""
        return self.csr + key_pem(self.key).decode()


@dataclass(frozen=True)
class CertificateState:
    """The shared certificates at one time."""

    current: CertificateAuthority
    next_ca: CertificateAuthority | None = None
    """Announced CA."""
    former: CertificateAuthority | None = None
    """Old CA, while a certificate of it may be in use."""
    requested: CaRequest | None = None
    """Request of an intermediate CA that is not signed yet."""
    client: str = ""
    """Certificate chain and key (PEM) that consoles present to agents. Empty before the first `renewed`."""
    installed: str | None = None
    """Certificate chain and key (PEM) for browsers and API clients; None if none was installed."""

    @classmethod
    def create(cls) -> "CertificateState":
        """Create a self-signed CA and a certificate for agents."""
        return cls(new_ca()).renewed()

    @classmethod
    def read(cls, columns: Mapping[str, str | None]) -> "CertificateState":
        """Parse `stored`. Raises ValueError."""

        def ca(column: str) -> CertificateAuthority | None:
            content = (columns[column] or "").encode()
            return CertificateAuthority.read(content, content) if content else None

        try:
            current, requested = ca("ca"), columns["requested_ca"]
            if current is None:
                raise ValueError("there is no CA")
            return cls(
                current,
                ca("next_ca"),
                ca("former_ca"),
                CaRequest.read(requested) if requested else None,
                columns["client"] or "",
                columns["installed"],
            )
        except (ValueError, TypeError) as error:
            raise ValueError(f"The certificates in the store are not usable: {error}") from error

    @cached_property
    def stored(self) -> Mapping[str, str | None]:
        """The value of each column."""

        def ca(signer: CertificateAuthority | None) -> str | None:
            return signer.stored().decode() if signer else None

        return {
            "ca": ca(self.current),
            "next_ca": ca(self.next_ca),
            "former_ca": ca(self.former),
            "requested_ca": self.requested.stored() if self.requested else None,
            "client": self.client,
            "installed": self.installed,
        }

    @property
    def step(self) -> ReplacementStep:
        if self.next_ca is not None:
            return "announced"
        return "" if self.former is None else "served"

    def requesting(self, request: CaRequest) -> "CertificateState":
        """Return the state with a request for an intermediate CA, which replaces an earlier one."""
        return replace(self, requested=request)

    def announcing(self, next_ca: CertificateAuthority | None = None) -> "CertificateState":
        """Return the state in which the next CA, by default a new self-signed one, is announced."""
        return replace(self, next_ca=next_ca or new_ca(), requested=None)

    def withdrawn(self) -> "CertificateState":
        """Return the state without the announced CA or, if none is announced, without the request."""
        return replace(self, next_ca=None) if self.next_ca is not None else replace(self, requested=None)

    def switched(self) -> "CertificateState":
        """Return the state in which the announced CA is current. Raises ValueError if none is announced."""
        if self.next_ca is None:
            raise ValueError("no CA was announced")
        return replace(self, current=self.next_ca, next_ca=None, former=self.current).renewed()

    def without_former(self) -> "CertificateState":
        """Return the state at the end of a replacement."""
        return replace(self, former=None)

    def installing(self, installed: str | None) -> "CertificateState":
        """Return the state with this certificate and key (PEM) for browsers, or without one."""
        return replace(self, installed=installed)

    def renewed(self) -> "CertificateState":
        """Return the state with another certificate for agents if it is missing, from another CA, or expires soon."""
        now, certificate = datetime.now(UTC), usable_certificate(self.client.encode())
        if certificate and not self.is_due(
            certificate.not_valid_after_utc, signing_key_of(certificate), PEER_DAYS, now
        ):
            return self
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        signed = self.current.sign(key.public_key(), [], usages, PEER_DAYS, valid_from=self.current.valid_from)
        return replace(self, client=pem(signed).decode() + self.current.intermediates_pem + key_pem(key).decode())

    def is_due(self, valid_until: datetime, signing_key: str, days: int, now: datetime) -> bool:
        """Return whether a certificate with this lifetime must be renewed: it expires soon, an earlier release issued it for
        longer, or another CA signed it. False if it expires together with the CA. For `signing_key` see `tls.signing_key_of`.
        """
        is_other = valid_until != min(now + timedelta(days=days), self.current.valid_until)
        return (tls.is_due(valid_until, days, now) and is_other) or not self.is_issued_by_current(signing_key)

    def is_issued_by_current(self, signing_key: str) -> bool:
        """Return whether the current CA signed a trusted certificate."""
        return signing_key == self.current.key_id or (not signing_key and self.former is None)


def new_ca() -> CertificateAuthority:
    return CertificateAuthority.create(f"Shardboard CA {random_part()}", CA_DAYS)


def usable_certificate(content: bytes) -> x509.Certificate | None:
    """Return the certificate in a PEM text if that also contains the matching key."""
    try:
        certificate = x509.load_pem_x509_certificate(content)
        key = serialization.load_pem_private_key(content, None)
        subject_names(certificate), signing_key_of(certificate)
    except (ValueError, TypeError):
        return None
    return certificate if key.public_key() == certificate.public_key() else None
