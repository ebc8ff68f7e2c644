"""Files of the console CA in `<state_dir>/tls`, readable only by their owner.

    ca.key            the current CA: key, certificate and certificates of its issuers
    ca.pem            a copy of these certificates for administrators
    requested-ca.pem  key and request of an intermediate CA that is not signed yet
    next-ca.pem       like ca.key, for the next CA
    former-ca.pem     like ca.key, for the old CA, while a certificate of it is in use

Earlier releases stored the certificate only in `ca.pem`. The next CA replaces the current one by a single rename, so that an
interrupted switch leaves one of them complete.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shardboard.pki.key_files import sync_directory, write_private
from shardboard.pki.signer import CertificateAuthority
from shardboard.pki.tls import CA_DAYS, key_pem, random_part

log = logging.getLogger(__name__)

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


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


class ConsoleCaFiles:
    """The files on disk. Methods that write raise OSError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificates = directory / "ca.pem"
        self._present = directory / "ca.key"
        self._next = directory / "next-ca.pem"
        self._former = directory / "former-ca.pem"
        self._requested = directory / "requested-ca.pem"

    def create(self) -> None:
        """Create the first CA, unless one exists."""
        if self.certificates.exists() or (self._present.exists() and _CERTIFICATE in self._present.read_bytes()):
            return
        signer = new_signer()
        write_private(self._present, signer.stored())
        self.copy(signer)

    def current(self) -> CertificateAuthority:
        """Return the current CA. Raises FileNotFoundError if no console created one, and ValueError if key and certificate do not
        match.
        """
        key = self._present.read_bytes()
        if _CERTIFICATE not in key:
            return self._read_earlier_release(key)
        signer = _read(self._present, key, key)
        copied = self.certificates.read_bytes() if self.certificates.exists() else signer.chain_pem.encode()
        former = self._former.read_bytes() if self._former.exists() else b""
        if copied != signer.chain_pem.encode() and not former.startswith(copied):
            # An administrator replaced one of the files. With another CA, agents that trust the previous one would reject the
            # console, so an administrator must resolve this.
            raise ValueError(f"{self._present} is not the key of {self.certificates}")
        return signer

    def _read_earlier_release(self, key: bytes) -> CertificateAuthority:
        certificates = self.certificates.read_bytes()
        try:
            return _read(self._present, certificates, key)
        except ValueError as error:
            raise ValueError(f"{self._present} is not the key of {self.certificates}") from error

    def copy(self, current: CertificateAuthority) -> None:
        """Write the copy for administrators."""
        if not self.is_copied(current):
            write_private(self.certificates, current.chain_pem.encode())

    def is_copied(self, current: CertificateAuthority) -> bool:
        return self.certificates.exists() and self.certificates.read_text() == current.chain_pem

    def next(self) -> CertificateAuthority | None:
        """Return the next CA. An unreadable file is ignored, because no certificate of that CA has been served."""
        try:
            return _read_if_there(self._next)
        except ValueError as error:
            log.error("CA: the announced CA is not usable and is ignored: %s", error)
            return None

    def former(self, current: CertificateAuthority) -> CertificateAuthority | None:
        """Return the old CA; None unless a replacement is in progress."""
        certificate = _read_if_there(self._former)
        return certificate if certificate and certificate.fingerprint != current.fingerprint else None

    def requested(self, answered: Iterable[CertificateAuthority]) -> CaRequest | None:
        """Return the open request; None if its key belongs to an existing CA."""
        if not self._requested.exists():
            return None
        try:
            content = self._requested.read_bytes()
            key = serialization.load_pem_private_key(content, None)
        except (ValueError, TypeError) as error:
            log.error("CA: request file %s is not usable and is ignored: %s", self._requested, error)
            return None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            return None
        if any(signer.key.public_key() == key.public_key() for signer in answered):
            return None
        return CaRequest(key, content.decode().partition("-----BEGIN PRIVATE")[0])

    def tidy(self, former: CertificateAuthority | None, requested: CaRequest | None) -> None:
        """Remove files of a step that was not completed."""
        for path in ([] if former else [self._former]) + ([] if requested else [self._requested]):
            try:
                self._remove(path)
            except OSError as error:
                log.error("CA: removing the obsolete file %s failed: %s", path, error)

    def request(self, request: CaRequest) -> None:
        write_private(self._requested, request.csr.encode() + key_pem(request.key))

    def remove_request(self) -> None:
        self._remove(self._requested)

    def announce(self, next_ca: CertificateAuthority) -> None:
        write_private(self._next, next_ca.stored())

    def remove_next(self) -> None:
        self._remove(self._next)

    def switch(self, current: CertificateAuthority) -> None:
        """Replace the current CA with the next one. Raises OSError; then the current one is unchanged."""
        write_private(self._former, current.stored())
        self._next.replace(self._present)
        self._sync()

    def remove_former(self) -> None:
        self._remove(self._former)

    def _remove(self, path: Path) -> None:
        if path.exists():
            path.unlink()
            self._sync()

    def _sync(self) -> None:
        """Make the change durable. An error is logged, because the change itself has been made."""
        try:
            sync_directory(self.directory)
        except OSError as error:
            log.error("CA: syncing %s to disk failed: %s", self.directory, error)


def new_signer() -> CertificateAuthority:
    return CertificateAuthority.create(f"Shardboard CA {random_part()}", CA_DAYS)


def _read_if_there(path: Path) -> CertificateAuthority | None:
    return _read(path, content := path.read_bytes(), content) if path.exists() else None


def _read(path: Path, certificates: bytes, key: bytes) -> CertificateAuthority:
    try:
        return CertificateAuthority.read(certificates, key)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not usable: {error}") from error
