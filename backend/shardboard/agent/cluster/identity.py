"""Identity of an agent and the files that prove it.

    <state_dir>/agent.json       uid and address; written last, so a partial enrolment does not count
    <state_dir>/tls/agent.pem    certificate and key in one file, so that a new pair is installed atomically
    <state_dir>/tls/ca.pem       the console CA; during a replacement also the next or the previous CA
    <state_dir>/tls/bundle.pem   the same with their issuers, for load generators

The console renews the certificate of a running agent: it requests a CSR and returns the signed certificate. Each certificate has a
new key. The proxy serves it first, and the agent's port after the proxy has confirmed it. The console also sets the trusted CAs.
Open connections are kept.
"""

import asyncio
import hashlib
import json
import logging
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardboard.agent.cluster import key_generation as key
from shardboard.contract import AgentCertificate, CertificateReply, CertificateRequest, TrustedCas
from shardboard.net import connection_limits
from shardboard.pki.key_files import load_certificate, write_private
from shardboard.pki.tls_handshake import handshake_error

log = logging.getLogger(__name__)

_PRIVATE = b"PRIVATE KEY"


class EnrolError(Exception):
    """The agent cannot join, or cannot continue with its identity. The message is for the person who started it."""


@dataclass(frozen=True)
class AgentIdentity:
    node_uid: int
    addr: str
    port: int
    console: str
    certificate: Path
    ca: Path

    @property
    def bundle(self) -> Path:
        return self.ca.with_name("bundle.pem")

    @property
    def key(self) -> Path:
        """Path of the private key: the certificate file, or a separate file of an earlier release that could not be moved."""
        return self.certificate if _PRIVATE in self.certificate.read_bytes() else _separate_key_file(self.certificate)

    @classmethod
    def in_state_dir(cls, state_dir: Path, node_uid: int, addr: str, port: int, console: str) -> "AgentIdentity":
        tls = state_dir / "tls"
        return cls(node_uid, addr, port, console, tls / "agent.pem", tls / "ca.pem")

    def save(self, state_dir: Path, certificate: str, private_key: str, ca: str) -> None:
        self.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.certificate, (certificate + private_key).encode())
        write_private(self.ca, ca.encode())
        marker = {"node_uid": self.node_uid, "addr": self.addr, "port": self.port, "console": self.console}
        write_private(state_dir / "agent.json", json.dumps(marker).encode())

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of the agent's port, which accepts only clients with a certificate of the console CA.

        Raises EnrolError.
        """
        try:
            context = self._loaded()
        except OSError as error:
            message = f"{self.certificate} or {self.ca.name} is not usable ({error}). Remove agent.json to join again."
            raise EnrolError(message) from error
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def ca_fingerprints(self) -> set[str]:
        """Return the SHA-256 fingerprints of the trusted CAs in hexadecimal. Raises OSError or ValueError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.ca)
        return {hashlib.sha256(each).hexdigest() for each in context.get_ca_certs(binary_form=True)}

    def validation_error(self, authorities: str | None = None) -> str:
        """Return why the console rejects the certificate, such as "certificate has expired"; empty if it accepts it. The result
        comes from a local handshake with itself, because a failed handshake with the console is only visible to the console. The
        client side trusts `authorities` (PEM) or, by default, the CAs of the file.
        """
        try:
            context = self._loaded()
            trust_context = ssl.create_default_context(cadata=authorities or self.ca.read_text())
        except (OSError, ValueError) as error:
            return f"its files are not usable: {error}"
        trust_context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return handshake_error(context, trust_context, self.addr)

    def _loaded(self) -> ssl.SSLContext:
        """Return the context of a server that presents the certificate. Raises OSError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.ca)
        # The console CA can be an intermediate CA whose issuer is not trusted.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return context


class AgentPort:
    """Certificate and trusted client CAs of the agent's port. `context` stays the same while the agent runs; changed files apply to
    new connections after `reload`.
    """

    def __init__(self, identity: AgentIdentity) -> None:
        """Raises EnrolError."""
        self._identity = identity
        self._current = identity.context()
        self.context = identity.context()
        self.context.sni_callback = self._choose
        # A client that resumes a session is not asked for its certificate again.
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0

    def reload(self) -> None:
        """Raises EnrolError."""
        self._current = self._identity.context()

    def close_untrusted(self) -> None:
        """Close connections of clients whose CA is no longer trusted."""
        subjects = {str(each["subject"]) for each in self._current.get_ca_certs()}
        connection_limits.close_matching(lambda client: str(client.get("issuer")) not in subjects)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """Replace the context of a new connection: CAs cannot be removed from a context, so each trust change makes a new one.
        Certificate and trust come from the new context. Verification mode, versions and flags come from the first one, so both use
        the same values.
        """
        connection.context = self._current


class CertificateRenewal:
    """Renewal of the certificate that a port serves and of the CAs that it trusts, for new connections."""

    def __init__(self, identity: AgentIdentity, port: AgentPort) -> None:
        self._identity, self._port = identity, port
        self._other_servers: list[Callable[[], Awaitable[str]]] = []
        self._changing = asyncio.Lock()
        self._key = ""
        """Private key of the last request; stored only in memory until its certificate arrives."""

    def add_server(self, reload: Callable[[], Awaitable[str]]) -> None:
        """Register another server of the certificate. `reload` is called when the file has changed, before the port serves it. It
        returns why the server does not use the file; empty if it does.
        """
        self._other_servers.append(reload)

    async def request(self) -> CertificateRequest:
        try:
            self._key, csr = await asyncio.to_thread(key.generate)
        except (OSError, subprocess.SubprocessError) as error:
            log.error("agent: creating a private key failed: %s", error)
            return CertificateRequest(error="it could not create a private key; see the agent's log")
        return CertificateRequest(csr=csr)

    async def install(self, request: AgentCertificate) -> CertificateReply:
        """Serve this certificate from now on, if it matches the key of the last request."""
        if not self._key:
            return CertificateReply(error="it has made no certificate request since it started")
        pair = (request.certificate + self._key).encode()
        try:
            load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
        except ssl.SSLError as error:
            return CertificateReply(
                error=f"the certificate does not match the key of the last request ({error.reason or error})"
            )
        return await self._reply_to(self._replace_certificate(pair))

    async def serve_after_enrolment(self) -> None:
        """Serve the certificate of another enrolment. Raises EnrolError."""
        async with self._changing:
            # The port serves it even if another server fails, because the console does not accept the old certificate.
            if error := await self._reload_others():
                log.warning("agent: %s", error)
            self._port.reload()

    async def trust(self, request: TrustedCas) -> CertificateReply:
        """Trust exactly these CAs, if they accept the agent's own certificate and are already valid by this machine's clock."""
        if error := self._identity.validation_error(request.certificates):
            return CertificateReply(error=f"these CAs do not accept its certificate: {error}")
        if reason := _not_yet_valid(request.certificates):
            return CertificateReply(error=f"{reason} is not valid yet by this machine's clock")
        reply = await self._reply_to(self._replace_cas(request))
        if not reply.error:
            # Keeps the connection of this request, so that the reply is sent: its CA is trusted.
            self._port.close_untrusted()
        return reply

    async def _replace_certificate(self, pair: bytes) -> None:
        """Raises OSError or EnrolError."""
        file = self._identity.certificate
        former = file.read_bytes()
        await asyncio.to_thread(_write_if_changed, file, pair)
        # The console takes the certificate of the port as that of the whole node, and then removes the former CA.
        try:
            if error := await self._reload_others():
                raise EnrolError(error)
        except BaseException:
            # The port does not serve it, so a restarted agent must not either.
            _write_if_changed(file, former)
            raise
        self._port.reload()

    async def _reload_others(self) -> str:
        """Return why another server does not use the certificate in the file; empty if all use it."""
        for reload in self._other_servers:
            if error := await reload():
                return error
        return ""

    async def _replace_cas(self, request: TrustedCas) -> None:
        """Raises OSError or EnrolError."""
        await asyncio.to_thread(_write_if_changed, self._identity.bundle, request.bundle.encode())
        await asyncio.to_thread(_write_if_changed, self._identity.ca, request.certificates.encode())
        self._port.reload()

    async def _reply_to(self, change: Coroutine[Any, Any, None]) -> CertificateReply:
        """Make one change at a time, because each of them makes the port serve what the files contain."""
        try:
            async with self._changing:
                await change
        except OSError as error:
            return CertificateReply(error=f"the files could not be written: {error.strerror}")
        except EnrolError as error:
            return CertificateReply(error=str(error))
        return CertificateReply()


def _write_if_changed(file: Path, content: bytes) -> None:
    if not file.exists() or file.read_bytes() != content:
        write_private(file, content)


def _not_yet_valid(certificates: str) -> str:
    """Return the subject of a CA (PEM) that is not valid yet; empty if all are valid."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates)
    for each in context.get_ca_certs():
        if ssl.cert_time_to_seconds(str(each["notBefore"])) > time.time():
            return str(each["subject"])
    return ""


def load(state_dir: Path) -> AgentIdentity | None:
    """Return the identity that an earlier enrolment stored; None without one. Raises EnrolError."""
    try:
        marker = json.loads((state_dir / "agent.json").read_text())
        identity = AgentIdentity.in_state_dir(
            state_dir, marker["node_uid"], marker["addr"], marker["port"], marker["console"]
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise EnrolError(f"{state_dir / 'agent.json'} is not readable. Remove it to join again.") from error
    try:
        _move_key(identity.certificate)
    except OSError as error:  # shards must be supervised even if the disk is full
        log.error("agent: moving the private key into the certificate file failed: %s", error)
    return identity


def _move_key(certificate: Path) -> None:
    """Move the key into the certificate file. Earlier agents stored it in a separate file."""
    key_file = _separate_key_file(certificate)
    if not key_file.exists():
        return
    content = certificate.read_bytes()
    if _PRIVATE not in content:
        write_private(certificate, content + key_file.read_bytes())
    key_file.unlink()


def _separate_key_file(certificate: Path) -> Path:
    return certificate.with_suffix(".key")
