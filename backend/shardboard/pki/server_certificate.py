"""The TLS certificate of the console's port.

It is the certificate named by the settings, otherwise one installed through the API, otherwise one issued by the console's own CA
and renewed automatically. Joining agents request the last one by a name that no public CA signs, so they do not need to trust the
certificate that browsers get.

An installed certificate is stored with its key in the store, and all consoles of the store serve it. The other certificates belong
to one console.

Changes apply to new connections; open connections are kept.
"""

import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.errors import BadRequest, Conflict
from shardboard.pki import certificate_chain
from shardboard.pki.certificate_chain import UNREADABLE, InvalidCertificateChain, display_name
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.key_files import load_certificate
from shardboard.pki.tls import is_strong, pem, subject_names
from shardboard.settings import Settings

log = logging.getLogger(__name__)

Source = Literal["own", "installed", "settings"]


@dataclass(frozen=True)
class ServerIdentity:
    """A certificate chain, starting with the server's own certificate, and its key (PEM)."""

    chain: tuple[x509.Certificate, ...]
    key: bytes

    def __post_init__(self) -> None:
        """Detect malformed certificates immediately and not on first use. Raises one of UNREADABLE."""
        _ = self.subject, self.issuer, self.names

    @property
    def subject(self) -> str:
        return self.chain[0].subject.rfc4514_string()

    @property
    def issuer(self) -> str:
        return self.chain[0].issuer.rfc4514_string()

    @property
    def valid_from(self) -> datetime:
        return self.chain[0].not_valid_before_utc

    @property
    def valid_until(self) -> datetime:
        return self.chain[0].not_valid_after_utc

    @property
    def names(self) -> list[str]:
        """Host names and addresses for which it is valid."""
        return sorted(subject_names(self.chain[0]))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the server's certificate (DER), hexadecimal."""
        return self.chain[0].fingerprint(hashes.SHA256()).hex()

    def stored(self) -> str:
        """Return chain and key (PEM)."""
        return self.chain_pem() + self.key.decode()

    def chain_pem(self) -> str:
        return b"".join(pem(each) for each in self.chain).decode()

    def context(self) -> ssl.SSLContext:
        """Return a server context. Raises ssl.SSLError if OpenSSL rejects the certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        load_certificate(context, self.stored().encode())
        return context


class ServerCertificate:
    """The certificate of the running console."""

    def __init__(self, ca: ConsoleCa, settings: Settings) -> None:
        """Raises ValueError if the settings name an unusable certificate."""
        self._ca = ca
        self._installed: str | None = None
        self._configured_files = _configured_files(settings)
        self._seen: tuple[int, ...] = ()
        self.source: Source = "own"
        self.identity = self._own_identity = _load_files(ca.server_file)
        self._served = self._own = self.identity.context()
        self._load_configured()
        self._load_installed()
        ca.listeners.append(self._follow)

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Context of all ports, which stays the same while the console runs."""
        context = self._own_identity.context()
        context.sni_callback = self._choose
        return context

    @property
    def expiries(self) -> dict[str, datetime]:
        """Expiry of `server`, the certificate that browsers get, and of `ca`, the console's own CA."""
        return {"server": self.identity.valid_until, "ca": self._ca.valid_until}

    def refresh(self) -> None:
        """Renew the own certificate in time, and reload changed files of the settings. Raises OSError."""
        if self._ca.renew():
            self._own_identity = _load_files(self._ca.server_file)
            self._own = self._own_identity.context()
            log.info("certificate: renewed the console's own certificate")
            if self.source == "own":
                self._serve("own", self._own_identity, self._own)
        if self._configured_files is not None and (current_versions := _versions(self._configured_files)) != self._seen:
            try:
                identity = _load_files(*self._configured_files)
                self._serve("settings", identity, identity.context())
                log.info("certificate: reloaded SHARDBOARD_TLS_CERT")
            except (OSError, ValueError) as error:
                log.warning(
                    "certificate: the changed SHARDBOARD_TLS_CERT is not usable, the previous one stays active: %s",
                    error,
                )
            self._seen = current_versions

    def check_not_configured(self) -> None:
        """Raise Conflict if the settings determine the certificate."""
        if self._configured_files is not None:
            message = "SHARDBOARD_TLS_CERT determines the certificate. Replace that file; the console reloads it within a minute."
            raise Conflict("set_by_settings", message)

    def _load_configured(self) -> None:
        if self._configured_files is not None:
            self._seen = _versions(self._configured_files)
            try:
                identity = _load_files(*self._configured_files)
                self._serve("settings", identity, identity.context())
            except (OSError, ValueError) as error:
                raise ValueError(f"SHARDBOARD_TLS_CERT and SHARDBOARD_TLS_KEY are not usable: {error}") from error

    def _load_installed(self) -> None:
        """Serve the certificate in the store, or without one the console's own."""
        self._installed = self._ca.state.installed
        if self._configured_files is not None:
            return
        if self._installed is not None:
            try:
                identity = _identity(self._installed.encode(), self._installed.encode())
                self._serve("installed", identity, identity.context())
                return
            except (OSError, *UNREADABLE) as error:  # a web UI with another certificate is better than none
                log.error("certificate: the installed certificate is not usable, serving the console's own: %s", error)
        self._serve("own", self._own_identity, self._own)

    def _follow(self) -> None:
        """Follow a change of the certificates in the store."""
        if self._ca.state.installed != self._installed:
            self._load_installed()
        try:
            self.refresh()
        except OSError as error:  # retried every minute; agents also trust the previous certificate
            log.error("certificate: cannot write the certificates of the current CA: %s", error)

    def _serve(self, source: Source, identity: ServerIdentity, context: ssl.SSLContext) -> None:
        self.source, self.identity, self._served = source, identity, context

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Select the context by server name. Each certificate has a separate context, because a context keeps certificates with
        other key types.
        """
        connection.context = self._own if name == CONSOLE_NAME else self._served


def validate_identity(certificate: str, key: str, now: datetime | None = None) -> ServerIdentity:
    """Validate a certificate and key (PEM) from a user. Raises BadRequest or NotAcceptable with the reason."""
    try:
        identity = _identity(certificate.encode(), key.encode())
        _check_use(identity.chain[0])
        certificate_chain.check_order(identity.chain)
    except InvalidCertificateChain as chain_error:
        raise BadRequest("invalid_certificate", str(chain_error), field=chain_error.field) from chain_error
    except UNREADABLE as error:
        raise BadRequest("invalid_certificate", "The certificate is not readable.", field="certificate") from error
    certificate_chain.check_validity_period(identity.chain, now)
    try:
        identity.context()
    except ssl.SSLError as error:
        message = f"OpenSSL rejects this certificate: {error.reason or error}."
        raise BadRequest("invalid_certificate", message, field="certificate") from error
    return identity


def _identity(certificate: bytes, key: bytes) -> ServerIdentity:
    """Parse a certificate and its key. Raises Wrong, or one of UNREADABLE."""
    chain = certificate_chain.parse_chain(certificate)
    private_key = _private_key(key)
    if private_key.public_key() != chain[0].public_key():
        raise InvalidCertificateChain(f"The key does not match {display_name(chain[0])}, the first certificate.", "key")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return ServerIdentity(chain, private_key.private_bytes(*form))


def _private_key(key: bytes) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(key, None)
    except TypeError as error:
        raise InvalidCertificateChain(
            "The key is encrypted with a passphrase. Provide it without one.", "key"
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidCertificateChain(
            "This is not a private key in PEM format, which starts with -----BEGIN PRIVATE KEY-----.", "key"
        ) from error


def _check_use(own: x509.Certificate) -> None:
    if not is_strong(own.public_key()):
        raise InvalidCertificateChain(
            "The key is too weak. Use an elliptic curve of 256 bits or RSA with 2048 bits.", "key"
        )
    try:
        usages = [*own.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value]
    except x509.ExtensionNotFound:
        usages = [ExtendedKeyUsageOID.SERVER_AUTH]  # without this extension it is valid for all uses
    if not subject_names(own):
        raise InvalidCertificateChain(
            "The certificate does not contain a host name (subject alternative name), so browsers reject it."
        )
    if not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & {*usages}:
        raise InvalidCertificateChain("The certificate is not for servers (extended key usage serverAuth).")


def _load_files(certificate: Path, key: Path | None = None) -> ServerIdentity:
    """Load an identity from files. Without `key`, the key is in the certificate file. Raises OSError or ValueError. Files are only
    checked for being usable, because there is no alternative.
    """
    try:
        return _identity(certificate.read_bytes(), (key or certificate).read_bytes())
    except InvalidCertificateChain:
        raise
    except UNREADABLE as error:
        raise ValueError(f"{certificate} is not readable: {error}") from error


def _configured_files(settings: Settings) -> tuple[Path, Path] | None:
    if settings.tls_cert and settings.tls_key:
        return settings.tls_cert, settings.tls_key
    if settings.tls_cert or settings.tls_key:
        raise ValueError("SHARDBOARD_TLS_CERT and SHARDBOARD_TLS_KEY must be set together")
    return None


def _versions(paths: Sequence[Path]) -> tuple[int, ...]:
    """Return a value that changes whenever one of the files changes."""
    versions = []
    for path in paths:
        try:
            state = path.stat()
            versions += [state.st_ino, state.st_mtime_ns, state.st_size]
        except OSError:
            versions.append(0)
    return tuple(versions)
