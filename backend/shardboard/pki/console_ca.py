"""The console's certificate authority as this process uses it, for connections between console and agents.

    ca          ten years; an agent pins it by the fingerprint in its join token
    client      presented by consoles to agents
    server.pem  for the ports of this console: served to joining agents, and to browsers unless another certificate is installed

The first two are rows of the store, which all its consoles share (`CertificateState`). The last one contains the host name of this
console, so it is a file in its state directory, with its key. All are renewed in time, and so are those of agents
(`reconcilers/cluster/agent_certificates.py`). A certificate is valid for one direction only: an agent's (serverAuth) is rejected by
other agents, which require clientAuth.

The CA is replaced in three steps; parties that have completed a step can still connect to those at the previous one. First the new
CA is announced: agents trust it in addition, and administrators distribute it to clients of endpoints. Then, on a second request,
the served certificates are issued by it. Finally the old CA is removed, when no certificate of it is in use. An intermediate CA is
trusted without its issuer: other certificates of that issuer are rejected.
"""

import hashlib
import logging
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.errors import NotAcceptable
from shardboard.kit.addresses import normal_name
from shardboard.pki.certificate_state import CaRequest, CertificateState, ReplacementStep, usable_certificate
from shardboard.pki.key_files import load_certificate, memory_file, remove_partial_files, write_private
from shardboard.pki.signer import CertificateAuthority
from shardboard.pki.tls import (
    PEER_DAYS,
    SERVER_DAYS,
    key_pem,
    pem,
    public_key_of_request,
    signing_key_of,
    subject_names,
)
from shardboard.settings import Settings

log = logging.getLogger(__name__)

REPLACEMENT_RETRY_SECONDS, RETRY_SECONDS = 5.0, 60.0
"""Seconds between two attempts to reach agents: during a replacement, and otherwise."""
AGENT_OUTDATED = "its agent is from the previous release: upgrade it"


class ConsoleCa:
    """The console CA in use. `apply` follows a change of the store."""

    def __init__(self, state: CertificateState, settings: Settings) -> None:
        """Create or renew the certificate of this console's ports if necessary. Raises OSError."""
        self.directory = settings.state_dir / "tls"
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_partial_files(self.directory)
        self.ca_file = self.directory / "ca.pem"
        """Copy of the certificates of the current CA, for administrators."""
        self.server_file = self.directory / "server.pem"
        """Certificate and key of `server`."""
        self.names = _own_names(settings.public_names)
        """Names and addresses for which `server` is valid."""
        self.state = state
        self.generation = 0
        """Number of applied changes."""
        self.listeners: list[Callable[[], None]] = []
        """Called after each change."""
        self._clients: ssl.SSLContext | None = None
        self._refused: frozenset[str] = frozenset()
        self._compare_with_copy()
        self.renew()

    def apply(self, state: CertificateState) -> None:
        """Use these certificates, which the store contains, for new connections."""
        previous = self.state
        if state.stored == previous.stored:
            return
        self.state, self.generation = state, self.generation + 1
        if [each.pem for each in _accepted(state)] != [each.pem for each in _accepted(previous)]:
            self._clients = None
        elif self._clients is not None and state.client != previous.client:
            load_certificate(self._clients, state.client.encode())
        for listener in self.listeners:
            listener()

    @property
    def current(self) -> CertificateAuthority:
        return self.state.current

    @property
    def next_ca(self) -> CertificateAuthority | None:
        return self.state.next_ca

    @property
    def former(self) -> CertificateAuthority | None:
        return self.state.former

    @property
    def requested(self) -> CaRequest | None:
        return self.state.requested

    @property
    def step(self) -> ReplacementStep:
        return self.state.step

    @property
    def valid_until(self) -> datetime:
        return self.current.valid_until

    @property
    def ca_pem(self) -> str:
        return self.current.pem

    def ca_fingerprint(self) -> str:
        """Return the SHA-256 of the certificate (DER), hexadecimal."""
        return self.current.fingerprint

    @property
    def retry_seconds(self) -> float:
        """Seconds until agents that could not be checked or updated are retried."""
        return REPLACEMENT_RETRY_SECONDS if self.step else RETRY_SECONDS

    @property
    def _all(self) -> list[CertificateAuthority]:
        return [each for each in (self.current, self.next_ca, self.former) if each is not None]

    @property
    def trusted(self) -> str:
        """The CAs (PEM) that agents trust and accept."""
        return "".join(each.pem for each in self._all)

    @property
    def trusted_digest(self) -> str:
        return hashlib.sha256(self.trusted.encode()).hexdigest()

    @property
    def bundle(self) -> str:
        """The CAs (PEM) that browsers and clients of endpoints trust, including issuers for clients that require a root CA."""
        return "".join(dict.fromkeys(pem(each).decode() for ca in self._all for each in ca.chain))

    def _compare_with_copy(self) -> None:
        """Warn if this console used a CA that the store does not contain."""
        copied = _content(self.ca_file)
        if copied and not any(copied.startswith(each.pem.encode()) for each in self._all):
            log.warning(
                "CA: the store has a different CA than the one that this console used last. If an older copy was restored, "
                "agents that joined or switched to the newer CA must rejoin."
            )

    def renew(self) -> bool:
        """Recreate `server` if it is missing, damaged, for other names, from another CA, or expires soon. Return whether it was
        recreated. Raises OSError if it cannot be written and the previous one is no longer valid.
        """
        renewed = self._renew_server()
        try:
            if not self._is_copied:
                write_private(self.ca_file, self.current.chain_pem.encode())
        except OSError as error:
            log.error("CA: writing %s failed, it is out of date: %s", self.ca_file, error)
        return renewed

    @property
    def is_switch_complete(self) -> bool:
        """Whether all certificates that this console presents are from the current CA."""
        pairs = (self.state.client.encode(), _content(self.server_file))
        signing_keys = [signing_key_of(each) for pair in pairs if (each := usable_certificate(pair))]
        return signing_keys == [self.current.key_id] * len(pairs) and self._is_copied

    @property
    def _is_copied(self) -> bool:
        return _content(self.ca_file) == self.current.chain_pem.encode()

    def client_ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context for calls to agents: it presents our certificate and accepts only agents that joined with the
        called address. The context stays the same until the CA is replaced or rejected certificates change; `client` is renewed in
        place.
        """
        if self._clients is None:
            self._clients = self._client_context(self._refused)
        return self._clients

    def _client_context(self, refused: Collection[str]) -> ssl.SSLContext:
        cas = _accepted(self.state)
        context = ssl.create_default_context(cadata="".join(each.pem for each in cas))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF | ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        load_certificate(context, self.state.client.encode())
        for ca in cas:
            with memory_file(ca.revocation_list(refused)) as path:
                context.load_verify_locations(path)
        return context

    def reject_certificates(self, serials: Collection[str]) -> bool:
        """Reject exactly these agent certificates (hexadecimal serial numbers) from now on. Return whether the set changed."""
        if (desired := frozenset(serials)) == self._refused:
            return False
        self._clients = self._client_context(desired)
        self._refused = desired
        return True

    def sign_agent(self, csr_pem: str, addr: str, days: int = PEER_DAYS) -> str:
        """Return a certificate (PEM) for the agent at `addr`, followed by intermediate certificates. Only the key is taken from the
        request, never its names. It is valid since the start of the CA: a peer whose clock was wrong during a renewal accepts it.
        """
        if normal_name(addr) == CONSOLE_NAME:  # joining agents trust any server with this name
            raise NotAcceptable("config_error", f"{CONSOLE_NAME} is reserved for the console.", field="addr")
        key = public_key_of_request(csr_pem)
        usages, name = [ExtendedKeyUsageOID.SERVER_AUTH], _common_name([addr])
        certificate = self.current.sign(key, [addr], usages, days, valid_from=self.current.valid_from, common_name=name)
        return pem(certificate).decode() + self.current.intermediates_pem

    def _renew_server(self) -> bool:
        file, now = self.server_file, datetime.now(UTC)
        usable = usable_certificate(_content(file))
        if (
            usable
            and subject_names(usable) == set(self.names)
            and not self.state.is_due(usable.not_valid_after_utc, signing_key_of(usable), SERVER_DAYS, now)
        ):
            return False
        key, usages = ec.generate_private_key(ec.SECP256R1()), [ExtendedKeyUsageOID.SERVER_AUTH]
        signed = self.current.sign(
            key.public_key(), self.names, usages, SERVER_DAYS, common_name=_common_name(self.names)
        )
        try:
            write_private(file, pem(signed) + self.current.intermediates_pem.encode() + key_pem(key))
        except OSError as error:
            if usable is None or usable.not_valid_after_utc <= now:
                raise
            valid_until = usable.not_valid_after_utc
            log.error(
                "CA: renewing %s failed, the previous certificate is valid until %s: %s", file, valid_until, error
            )
            return False
        file.with_suffix(".key").unlink(missing_ok=True)  # left by an earlier release
        return True


def _accepted(state: CertificateState) -> list[CertificateAuthority]:
    """Return the CAs whose certificates the console accepts from agents."""
    return [each for each in (state.current, state.former) if each is not None]


def _own_names(public_names: Sequence[str]) -> list[str]:
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), CONSOLE_NAME, *public_names]
    return list(dict.fromkeys(normal_name(name) for name in names if name))


def _common_name(names: Sequence[str]) -> str:
    return names[0] if names and len(names[0]) <= 64 else "shardboard"


def _content(file: Path) -> bytes:
    """Return the content of a file; empty if it is not readable."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
