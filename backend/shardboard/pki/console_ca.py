"""The console's certificate authority, for connections between console and agents.

    ca          ten years; an agent pins it by the fingerprint in its join token
    server.pem  for the console's port: served to joining agents, and to browsers unless another certificate is installed
    client.pem  presented by the console to agents

The last two files also contain their keys. Both are renewed in time, and so are those of agents
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
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from shardboard.contract.protocol import CONSOLE_NAME
from shardboard.errors import NotAcceptable
from shardboard.kit.addresses import normal_name
from shardboard.pki import tls
from shardboard.pki.console_ca_files import CaRequest, ConsoleCaFiles, new_signer
from shardboard.pki.key_files import memory_file, remove_partial_files, write_private
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

ReplacementStep = Literal["", "announced", "served"]
"""Step of the CA replacement; empty if none is in progress."""


@dataclass
class AgentCaProgress:
    """Progress of agents by node, as seen by this console process."""

    trusted_digests: dict[int, str] = field(default_factory=dict)
    """`ConsoleCa.trusted_digest` of the CAs that an agent trusts; connected agents only."""
    presented_cas: dict[int, str] = field(default_factory=dict)
    """Fingerprint of the CA whose certificate the agent presented last."""
    failures: dict[int, str] = field(default_factory=dict)
    """Why the agent was not updated."""
    unrenewed: dict[int, str] = field(default_factory=dict)
    """Why the agent's certificate was not renewed."""

    def remove(self, node_uid: int) -> None:
        """Remove the state of a node whose agent may have changed."""
        for each in (self.trusted_digests, self.presented_cas, self.failures, self.unrenewed):
            each.pop(node_uid, None)


class ConsoleCa:
    """The console CA. `ConsoleCa.load` creates or renews files that are missing or expire soon."""

    def __init__(self, files: ConsoleCaFiles) -> None:
        self.directory = files.directory
        self.ca_file = files.certificates
        self.server_file = files.directory / "server.pem"
        """Certificate and key of `server`."""
        self.names: list[str] = []
        """Names and addresses for which `server` is valid."""
        self.agent_progress = AgentCaProgress()
        self._files = files
        self.current = files.current()
        self.next_ca = files.next()
        self.former = files.former(self.current)
        self.requested = files.requested([each for each in (self.current, self.next_ca) if each is not None])
        self._clients: ssl.SSLContext | None = None
        self._refused: frozenset[str] = frozenset()

    @classmethod
    def load(cls, settings: Settings) -> "ConsoleCa":
        files = ConsoleCaFiles(_directory(settings))
        files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_partial_files(files.directory)
        files.create()
        ca = cls(files)
        ca.names = _own_names(settings.public_names)
        files.tidy(former=ca.former, requested=ca.requested)
        ca.renew()
        return ca

    @classmethod
    def existing(cls, settings: Settings) -> "ConsoleCa":
        """Return the CA that a console created earlier, without changes. Raises FileNotFoundError if there is none."""
        return cls(ConsoleCaFiles(_directory(settings)))

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
    def step(self) -> ReplacementStep:
        if self.next_ca is not None:
            return "announced"
        return "" if self.former is None else "served"

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

    def renew(self) -> bool:
        """Recreate `server` and `client` if one is missing, damaged, for other names, from another CA, or expires soon. Return
        whether `server` was recreated. Raises OSError if a file cannot be written and the previous one is no longer valid.
        """
        self._ensure("client", [], ExtendedKeyUsageOID.CLIENT_AUTH, PEER_DAYS, self._valid_since)
        if self._clients is not None:
            self._load_certificate(self._clients)
        renewed = self._ensure("server", self.names, ExtendedKeyUsageOID.SERVER_AUTH, SERVER_DAYS)
        try:
            self._files.copy(self.current)
        except OSError as error:
            log.error("CA: writing %s failed, it is out of date: %s", self.ca_file, error)
        return renewed

    @property
    def is_switch_complete(self) -> bool:
        """Whether all certificates that the console itself presents are from the current CA."""
        files = (self.directory / "client.pem", self.server_file)
        signing_keys = [signing_key_of(usable_certificate) for file in files if (usable_certificate := _usable(file))]
        return signing_keys == [self.current.key_id] * len(files) and self._files.is_copied(self.current)

    def client_ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context for calls to agents: it presents our certificate and accepts only agents that joined with the
        called address. The context stays the same until the CA is replaced or rejected certificates change; `client` is renewed in
        place.
        """
        if self._clients is None:
            self._clients = self._client_context(self._refused)
        return self._clients

    def _client_context(self, refused: Collection[str]) -> ssl.SSLContext:
        cas = [each for each in (self.current, self.former) if each is not None]
        context = ssl.create_default_context(cadata="".join(each.pem for each in cas))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF | ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        self._load_certificate(context)
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

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.directory / "client.pem")

    def sign_agent(self, csr_pem: str, addr: str, days: int = PEER_DAYS) -> str:
        """Return a certificate (PEM) for the agent at `addr`, followed by intermediate certificates. Only the key is taken from the
        request, never its names.
        """
        if normal_name(addr) == CONSOLE_NAME:  # joining agents trust any server with this name
            raise NotAcceptable("config_error", f"{CONSOLE_NAME} is reserved for the console.", field="addr")
        key = public_key_of_request(csr_pem)
        usages, name = [ExtendedKeyUsageOID.SERVER_AUTH], _common_name([addr])
        certificate = self.current.sign(key, [addr], usages, days, valid_from=self._valid_since, common_name=name)
        return pem(certificate).decode() + self.current.intermediates_pem

    def is_due(self, valid_until: datetime, signing_key: str, days: int, now: datetime) -> bool:
        """Return whether a certificate with this lifetime must be renewed: it expires soon, an earlier release issued it for
        longer, or another CA signed it. False if it expires together with the CA. For `signing_key` see `tls.signing_key_of`.
        """
        is_other = valid_until != min(now + timedelta(days=days), self.valid_until)
        return (tls.is_due(valid_until, days, now) and is_other) or not self.is_issued_by_current(signing_key)

    def is_issued_by_current(self, signing_key: str) -> bool:
        """Return whether the current CA signed a trusted certificate."""
        return signing_key == self.current.key_id or (not signing_key and self.former is None)

    def request(self, common_name: str, organization: str) -> CaRequest:
        """Create a request for an intermediate CA, which replaces an earlier request. Raises OSError."""
        request = CaRequest.create(common_name, organization)
        self._files.request(request)
        self.requested = request
        return request

    def announce(self, next_ca: CertificateAuthority | None = None) -> CertificateAuthority:
        """Announce the next CA, by default a new self-signed one. Raises OSError."""
        signer = next_ca or new_signer()
        self._files.announce(signer)
        self.next_ca, self.requested = signer, None
        self._files.tidy(former=self.former, requested=None)
        return signer

    def withdraw(self) -> None:
        """Withdraw the announced CA or the request. Raises OSError; then nothing has changed."""
        if self.next_ca is not None:
            self._files.remove_next()
            self.next_ca = None
        else:
            self._files.remove_request()
            self.requested = None

    def switch(self) -> None:
        """Switch to the announced CA for new connections. Raises OSError; then nothing has changed."""
        if self.next_ca is None:
            raise ValueError("no CA was announced")
        self._files.switch(self.current)
        self.former, self.current, self.next_ca = self.current, self.next_ca, None
        self._clients = None

    def remove_former(self) -> None:
        """Stop trusting the old CA for new connections. Raises OSError."""
        self._files.remove_former()
        self.former = None
        self._clients = None

    @property
    def _valid_since(self) -> datetime:
        """Start of validity of certificates between agents and console, long ago: a peer whose clock was wrong during a renewal
        still accepts them. Only their expiry matters.
        """
        return self.current.valid_from

    def _ensure(
        self, name: str, names: Sequence[str], usage: ObjectIdentifier, days: int, valid_from: datetime | None = None
    ) -> bool:
        file, now = self.directory / f"{name}.pem", datetime.now(UTC)
        usable = _usable(file)
        if (
            usable
            and subject_names(usable) == set(names)
            and not self.is_due(usable.not_valid_after_utc, signing_key_of(usable), days, now)
        ):
            return False
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self.current.sign(
            key.public_key(), names, [usage], days, valid_from=valid_from, common_name=_common_name(names)
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


def _directory(settings: Settings) -> Path:
    return settings.state_dir / "tls"


def _own_names(public_names: Sequence[str]) -> list[str]:
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), CONSOLE_NAME, *public_names]
    return list(dict.fromkeys(normal_name(name) for name in names if name))


def _common_name(names: Sequence[str]) -> str:
    return names[0] if names and len(names[0]) <= 64 else "shardboard"


def _usable(file: Path) -> x509.Certificate | None:
    """Return the certificate of a file if it also contains the matching key."""
    try:
        content = file.read_bytes()
        certificate = x509.load_pem_x509_certificate(content)
        key = serialization.load_pem_private_key(content, None)
        subject_names(certificate), signing_key_of(certificate)
    except (OSError, ValueError, TypeError):
        return None
    return certificate if key.public_key() == certificate.public_key() else None
