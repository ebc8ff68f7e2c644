"""What the console shows to whoever connects to its port.

That is the certificate of the settings if these name one, else one that was installed over the API, else one of the console's
own authority, which renews itself. Agents that join ask for the last by a name that no public authority signs: what is shown to
browsers needs no trust of theirs.

    <state_dir>/tls/installed.pem    chain and key in one file: both are replaced at once

Every change is in force from the next connection on; those that are open stay.
"""

import asyncio
import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard import chains
from shardboard.agent.contract.protocol import CONSOLE_NAME
from shardboard.authority import Authority
from shardboard.chains import UNREADABLE, Wrong, name_of
from shardboard.errors import BadRequest, Conflict
from shardboard.key_files import show, write_private
from shardboard.settings import Settings
from shardboard.tls import is_strong, names_of, pem

log = logging.getLogger(__name__)

EVERY_SECONDS = 60.0
Source = Literal["own", "installed", "settings"]


@dataclass(frozen=True)
class Identity:
    """A chain of certificates, the server's own first, and the key of that one (PEM)."""

    chain: tuple[x509.Certificate, ...]
    key: bytes

    def __post_init__(self) -> None:
        """What is not well formed is found now, and not when somebody asks for it. Raises one of UNREADABLE."""
        _ = self.subject, self.issuer, self.names

    @property
    def subject(self) -> str:
        return self.chain[0].subject.rfc4514_string()

    @property
    def issuer(self) -> str:
        return self.chain[0].issuer.rfc4514_string()

    @property
    def begins(self) -> datetime:
        return self.chain[0].not_valid_before_utc

    @property
    def ends(self) -> datetime:
        return self.chain[0].not_valid_after_utc

    @property
    def names(self) -> list[str]:
        """Host names and addresses that it holds for."""
        return sorted(names_of(self.chain[0]))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the server's certificate (DER), hexadecimal."""
        return self.chain[0].fingerprint(hashes.SHA256()).hex()

    def chain_pem(self) -> str:
        return b"".join(pem(each) for each in self.chain).decode()

    def context(self) -> ssl.SSLContext:
        """For a server. Raises ssl.SSLError when OpenSSL does not take it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        show(context, self.chain_pem().encode() + self.key)
        return context


class ServerCertificate:
    """Of the running console. `context` is for all its ports, and for as long as it runs."""

    def __init__(self, authority: Authority, settings: Settings) -> None:
        """Raises ValueError when the settings name a certificate that cannot be used."""
        self._authority = authority
        self._file = authority.directory / "installed.pem"
        self._given = _given(settings)
        self._seen: tuple[int, ...] = ()
        self.source: Source = "own"
        self.identity = self._own_identity = _of_files(authority.server_file)
        self._shown = self._own = self.identity.context()
        self.context = self.identity.context()
        self.context.sni_callback = self._choose
        self._take_up()

    @property
    def ends(self) -> dict[str, datetime]:
        """Until when `server` holds, which browsers see, and `ca`, the console's own authority."""
        return {"server": self.identity.ends, "ca": self._authority.ends}

    async def run(self) -> None:
        """Renew the own certificate in time, and take up what the files of the settings become. Until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        if self._authority.renew():
            self._own_identity = _of_files(self._authority.server_file)
            self._own = self._own_identity.context()
            log.info("the console's own certificate was renewed")
            if self.source == "own":
                self._show("own", self._own_identity, self._own)
        if self._given is not None and (seen := _versions(self._given)) != self._seen:
            try:
                identity = _of_files(*self._given)
                self._show("settings", identity, identity.context())
                log.info("the certificate of SHARDBOARD_TLS_CERT was read again")
            except (OSError, ValueError) as error:
                log.warning("SHARDBOARD_TLS_CERT has changed and cannot be used, the one before stays: %s", error)
            self._seen = seen

    def install(self, identity: Identity) -> None:
        """Show what `read` has looked at, now and after every start. Raises Conflict while the settings say what is shown."""
        self._insist_on_freedom()
        context = identity.context()
        write_private(self._file, identity.chain_pem().encode() + identity.key)
        self._show("installed", identity, context)

    def remove(self) -> None:
        """Back to the console's own. Raises Conflict while the settings say what is shown."""
        self._insist_on_freedom()
        self._file.unlink(missing_ok=True)
        self._show("own", self._own_identity, self._own)

    def _insist_on_freedom(self) -> None:
        if self._given is not None:
            sentence = "SHARDBOARD_TLS_CERT says which certificate is shown; replace that file, it is read again within a minute."
            raise Conflict("set_by_settings", sentence)

    def _take_up(self) -> None:
        if self._given is not None:
            self._seen = _versions(self._given)
            try:
                identity = _of_files(*self._given)
                self._show("settings", identity, identity.context())
            except (OSError, ValueError) as error:
                raise ValueError(f"SHARDBOARD_TLS_CERT and SHARDBOARD_TLS_KEY cannot be used: {error}") from error
        elif self._file.exists():
            try:
                identity = _of_files(self._file)
                self._show("installed", identity, identity.context())
            except (OSError, ValueError) as error:  # a page with another certificate is better than none
                log.error("%s cannot be used, the console's own certificate is shown: %s", self._file, error)

    def _show(self, source: Source, identity: Identity, context: ssl.SSLContext) -> None:
        self.source, self.identity, self._shown = source, identity, context

    def _choose(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """A context of its own for each certificate: one context keeps certificates of other kinds of keys beside a new one."""
        connection.context = self._own if name == CONSOLE_NAME else self._shown


def read(certificate: str, key: str, now: datetime | None = None) -> Identity:
    """What a person wants to be shown (both PEM). Raises BadRequest or NotAcceptable with what is wrong with it."""
    try:
        identity = _identity(certificate.encode(), key.encode())
        _insist_on_use(identity.chain[0])
        chains.insist_on_order(identity.chain)
    except Wrong as wrong:
        raise BadRequest("invalid_certificate", str(wrong), field=wrong.field) from wrong
    except UNREADABLE as error:
        raise BadRequest("invalid_certificate", "The certificate cannot be read.", field="certificate") from error
    chains.insist_on_time(identity.chain, now)
    try:
        identity.context()
    except ssl.SSLError as error:
        sentence = f"OpenSSL does not take this certificate: {error.reason or error}."
        raise BadRequest("invalid_certificate", sentence, field="certificate") from error
    return identity


def _identity(certificate: bytes, key: bytes) -> Identity:
    """Raises Wrong, or one of UNREADABLE."""
    chain = chains.read(certificate)
    private = _private_key(key)
    if private.public_key() != chain[0].public_key():
        raise Wrong(f"The key is not that of {name_of(chain[0])}, the first certificate.", "key")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Identity(chain, private.private_bytes(*form))


def _private_key(key: bytes) -> PrivateKeyTypes:
    try:
        return serialization.load_pem_private_key(key, None)
    except TypeError as error:
        raise Wrong("The key is encrypted with a passphrase; give it without one.", "key") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Wrong("This is no private key in PEM: it begins with -----BEGIN PRIVATE KEY-----.", "key") from error


def _insist_on_use(own: x509.Certificate) -> None:
    if not is_strong(own.public_key()):
        raise Wrong("The key is too weak; use an elliptic curve of 256 bits or RSA of 2048.", "key")
    try:
        uses = [*own.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value]
    except x509.ExtensionNotFound:
        uses = [ExtendedKeyUsageOID.SERVER_AUTH]  # none is named: good for all
    if not names_of(own):
        raise Wrong("The certificate names no host (subject alternative name), so no browser takes it.")
    if not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & {*uses}:
        raise Wrong("The certificate is not for servers (extended key usage serverAuth).")


def _of_files(certificate: Path, key: Path | None = None) -> Identity:
    """Without another file the key is with the certificate. Raises OSError, or ValueError. Of what is on disk no more is asked than
    that it works: it is all there is."""
    try:
        return _identity(certificate.read_bytes(), (key or certificate).read_bytes())
    except Wrong:
        raise
    except UNREADABLE as error:
        raise ValueError(f"{certificate} cannot be read: {error}") from error


def _given(settings: Settings) -> tuple[Path, Path] | None:
    if settings.tls_cert and settings.tls_key:
        return settings.tls_cert, settings.tls_key
    if settings.tls_cert or settings.tls_key:
        raise ValueError("SHARDBOARD_TLS_CERT and SHARDBOARD_TLS_KEY only work together")
    return None


def _versions(paths: Sequence[Path]) -> tuple[int, ...]:
    """Changes whenever one of the files does."""
    found = []
    for path in paths:
        try:
            state = path.stat()
            found += [state.st_ino, state.st_mtime_ns, state.st_size]
        except OSError:
            found.append(0)
    return tuple(found)
