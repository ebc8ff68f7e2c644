"""Where the console keeps its authorities: `<state_dir>/tls`, readable by the owner alone.

    ca.key            the present one: its key, and its certificate with those above it
    ca.pem            a copy of these certificates, for people
    requested-ca.pem  the key of one that somebody else is to sign, and the request for it
    next-ca.pem       as ca.key, of the one that follows
    former-ca.pem     as ca.key, of the one before, as long as something that it signed is shown

Earlier releases kept the certificate in `ca.pem` alone. The next one takes the place of the present by one renaming, so that
whoever is killed in between finds either.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shardboard.key_files import sync_directory, write_private
from shardboard.signer import Signer
from shardboard.tls import CA_DAYS, key_pem, random_part

log = logging.getLogger(__name__)

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True)
class Request:
    """For an authority below somebody else's."""

    key: ec.EllipticCurvePrivateKey
    csr: str
    """PEM."""

    @property
    def subject(self) -> str:
        return x509.load_pem_x509_csr(self.csr.encode()).subject.rfc4514_string()

    @classmethod
    def create(cls, common_name: str, organization: str) -> "Request":
        """Without a name, one that no other authority has."""
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


class AuthorityFiles:
    """What is on disk. Methods that write raise OSError."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificates = directory / "ca.pem"
        self._present = directory / "ca.key"
        self._next = directory / "next-ca.pem"
        self._former = directory / "former-ca.pem"
        self._requested = directory / "requested-ca.pem"

    def create(self) -> None:
        """A first authority, unless there is one."""
        if self.certificates.exists() or (self._present.exists() and _CERTIFICATE in self._present.read_bytes()):
            return
        signer = new_signer()
        write_private(self._present, signer.stored())
        self.copy(signer)

    def present(self) -> Signer:
        """Raises FileNotFoundError when no console made one, and ValueError when key and certificate are not of each other."""
        key = self._present.read_bytes()
        if _CERTIFICATE not in key:
            return self._of_earlier_release(key)
        signer = _read(self._present, key, key)
        copied = self.certificates.read_bytes() if self.certificates.exists() else signer.chain_pem.encode()
        former = self._former.read_bytes() if self._former.exists() else b""
        if copied != signer.chain_pem.encode() and not former.startswith(copied):
            # Somebody put one of the files there. Another authority would lock out every agent that trusts the one of before:
            # a person has to decide that.
            raise ValueError(f"{self._present} is not the key of {self.certificates}")
        return signer

    def _of_earlier_release(self, key: bytes) -> Signer:
        certificates = self.certificates.read_bytes()
        try:
            return _read(self._present, certificates, key)
        except ValueError as error:
            raise ValueError(f"{self._present} is not the key of {self.certificates}") from error

    def copy(self, present: Signer) -> None:
        """For people."""
        if not self.is_copied(present):
            write_private(self.certificates, present.chain_pem.encode())

    def is_copied(self, present: Signer) -> bool:
        return self.certificates.exists() and self.certificates.read_text() == present.chain_pem

    def next(self) -> Signer | None:
        """One that cannot be read is none: nothing was shown of it."""
        try:
            return _read_if_there(self._next)
        except ValueError as error:
            log.error("what was announced is not there any more: %s", error)
            return None

    def former(self, present: Signer) -> Signer | None:
        """The one before, unless it has not been replaced yet."""
        found = _read_if_there(self._former)
        return found if found and found.fingerprint != present.fingerprint else None

    def requested(self, answered: Iterable[Signer]) -> Request | None:
        """The one that is open: its key is not that of an authority that is there."""
        if not self._requested.exists():
            return None
        try:
            content = self._requested.read_bytes()
            key = serialization.load_pem_private_key(content, None)
        except (ValueError, TypeError) as error:
            log.error("%s cannot be used, and counts as no request: %s", self._requested, error)
            return None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            return None
        if any(signer.key.public_key() == key.public_key() for signer in answered):
            return None
        return Request(key, content.decode().partition("-----BEGIN PRIVATE")[0])

    def tidy(self, former: Signer | None, requested: Request | None) -> None:
        """Remove what a step left that was not taken to its end, or came to nothing."""
        for path in ([] if former else [self._former]) + ([] if requested else [self._requested]):
            try:
                self._remove(path)
            except OSError as error:
                log.error("%s cannot be removed, and has no meaning any more: %s", path, error)

    def request(self, request: Request) -> None:
        write_private(self._requested, request.csr.encode() + key_pem(request.key))

    def forget_request(self) -> None:
        self._remove(self._requested)

    def announce(self, following: Signer) -> None:
        write_private(self._next, following.stored())

    def forget_next(self) -> None:
        self._remove(self._next)

    def switch(self, present: Signer) -> None:
        """From the present one to the next. Raises OSError; then it is still the present one."""
        write_private(self._former, present.stored())
        self._next.replace(self._present)
        self._sync()

    def forget_former(self) -> None:
        self._remove(self._former)

    def _remove(self, path: Path) -> None:
        if path.exists():
            path.unlink()
            self._sync()

    def _sync(self) -> None:
        """What was done is done, whatever becomes of it when power fails now."""
        try:
            sync_directory(self.directory)
        except OSError as error:
            log.error("%s cannot be written through to the disk: %s", self.directory, error)


def new_signer() -> Signer:
    return Signer.create(f"Shardboard CA {random_part()}", CA_DAYS)


def _read_if_there(path: Path) -> Signer | None:
    return _read(path, content := path.read_bytes(), content) if path.exists() else None


def _read(path: Path, certificates: bytes, key: bytes) -> Signer:
    try:
        return Signer.read(certificates, key)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be used: {error}") from error
