"""Who an agent is, and what proves it.

    <state_dir>/agent.json       uid and address; written last, so half an enrolment counts as none
    <state_dir>/tls/agent.pem    certificate and key in one file: a new pair is in place in one moment
    <state_dir>/tls/ca.pem       the console's authority; beside it the one that follows, or the one before, while it is replaced
    <state_dir>/tls/bundle.pem   the same with those above it, for load generators

The console renews the certificate of an agent that runs: it asks for a request, and brings what it signed. Each has a key of its
own. It also says which authorities are trusted. Connections that are open stay; proxies look at the files by themselves.
"""

import asyncio
import json
import logging
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from shardboard import connections
from shardboard.agent import key
from shardboard.agent.contract import AgentCertificate, Authorities, CertificateReply, CertificateRequest
from shardboard.handshakes import complaint
from shardboard.key_files import show, write_private

log = logging.getLogger(__name__)

_PRIVATE = b"PRIVATE KEY"


class EnrolError(Exception):
    """Why this agent cannot join, or not go on as who it was; a sentence for the person who started it."""


@dataclass(frozen=True)
class Identity:
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
        """In the file of the certificate, unless an earlier release put it elsewhere and it could not be moved."""
        return self.certificate if _PRIVATE in self.certificate.read_bytes() else _of_its_own(self.certificate)

    @classmethod
    def below(cls, state_dir: Path, node_uid: int, addr: str, port: int, console: str) -> "Identity":
        tls = state_dir / "tls"
        return cls(node_uid, addr, port, console, tls / "agent.pem", tls / "ca.pem")

    def save(self, state_dir: Path, certificate: str, private_key: str, ca: str) -> None:
        self.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.certificate, (certificate + private_key).encode())
        write_private(self.ca, ca.encode())
        marker = {"node_uid": self.node_uid, "addr": self.addr, "port": self.port, "console": self.console}
        write_private(state_dir / "agent.json", json.dumps(marker).encode())

    def context(self) -> ssl.SSLContext:
        """For the agent's port: only the console's client certificate of our own authority gets in. Raises EnrolError."""
        try:
            context = self._loaded()
        except OSError as error:
            sentence = (
                f"{self.certificate} or {self.ca.name} cannot be used ({error}); remove agent.json to join again."
            )
            raise EnrolError(sentence) from error
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    def flaw(self, authorities: str | None = None) -> str:
        """Why the console does not take the certificate, such as "certificate has expired"; empty when it does. Found out by a
        handshake with oneself: the console's would fail on the other side. It trusts the authorities (PEM) that are given, or
        those of the file."""
        try:
            context = self._loaded()
            trusting = ssl.create_default_context(cadata=authorities or self.ca.read_text())
        except (OSError, ValueError) as error:
            return f"its files cannot be used: {error}"
        trusting.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return complaint(context, trusting, self.addr)

    def _loaded(self) -> ssl.SSLContext:
        """Of a server that shows the certificate. Raises OSError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.ca)
        # The console's authority may be below another one, which is not trusted for that.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return context


class Port:
    """What the agent's port shows and whom it lets in. `context` is for as long as the agent runs; what is in the files counts from
    the next connection on when they were read again."""

    def __init__(self, identity: Identity) -> None:
        """Raises EnrolError."""
        self._identity = identity
        self._present = identity.context()
        self.context = identity.context()
        self.context.sni_callback = self._choose
        # Who resumes a session is not asked for a certificate again.
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.num_tickets = 0

    def read_again(self) -> None:
        """Raises EnrolError."""
        self._present = self._identity.context()

    def end_strangers(self) -> None:
        """Close connections of clients whose authority is not trusted any more."""
        trusted = {str(each["subject"]) for each in self._present.get_ca_certs()}
        connections.end(lambda client: str(client.get("issuer")) not in trusted)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """A context forgets no authority: others are trusted by another one. Of that one come certificate and trust; whether
        clients show one, versions and flags are of the context that the connection began with, which is why both are alike."""
        connection.context = self._present


class Renewal:
    """Of the certificate that a port shows, and of what it trusts, from the next connection on."""

    def __init__(self, identity: Identity, port: Port) -> None:
        self._identity, self._port = identity, port
        self._others: list[Callable[[], Awaitable[None]]] = []
        self._key = ""
        """Of the last request; kept nowhere else until there is a certificate for it."""

    def also_shown_by(self, read_again: Callable[[], Awaitable[None]]) -> None:
        """Somebody else who shows the certificate: called when there is another one."""
        self._others.append(read_again)

    async def request(self) -> CertificateRequest:
        try:
            self._key, csr = await asyncio.to_thread(key.fresh)
        except (OSError, subprocess.SubprocessError) as error:
            log.error("no key could be made: %s", error)
            return CertificateRequest(refused="it could not make a key; its log says why")
        return CertificateRequest(csr=csr)

    async def take(self, order: AgentCertificate) -> CertificateReply:
        """Show it from now on, if it is for the key of the last request."""
        if not self._key:
            return CertificateReply(refused="it has made no request since it was started")
        pair = (order.certificate + self._key).encode()
        try:
            show(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair)
        except ssl.SSLError as error:
            return CertificateReply(refused=f"it is not for the key of the last request ({error.reason or error})")
        reply = await self._write(self._identity.certificate, pair)
        if not reply.refused:
            for read_again in self._others:
                await read_again()
        return reply

    async def trust(self, order: Authorities) -> CertificateReply:
        """These and no others, if its own certificate is good for who trusts them, and they hold by this machine's clock."""
        if flaw := self._identity.flaw(order.certificates):
            return CertificateReply(refused=f"who trusts these does not take its certificate: {flaw}")
        if early := _not_yet(order.certificates):
            return CertificateReply(refused=f"{early} does not hold yet by this machine's clock")
        reply = await self._write(self._identity.bundle, order.bundle.encode())
        if not reply.refused:
            reply = await self._write(self._identity.ca, order.certificates.encode())
        if not reply.refused:
            # Not this one's, which is to have its answer: it is of an authority that is trusted.
            self._port.end_strangers()
        return reply

    async def _write(self, file: Path, content: bytes) -> CertificateReply:
        try:
            await asyncio.to_thread(_write_if_other, file, content)
            self._port.read_again()
        except OSError as error:
            return CertificateReply(refused=f"it could not be written: {error.strerror}")
        except EnrolError as error:
            return CertificateReply(refused=str(error))
        return CertificateReply()


def _write_if_other(file: Path, content: bytes) -> None:
    if not file.exists() or file.read_bytes() != content:
        write_private(file, content)


def _not_yet(certificates: str) -> str:
    """The name of an authority (PEM) that does not hold yet; empty when all do."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificates)
    for each in context.get_ca_certs():
        if ssl.cert_time_to_seconds(str(each["notBefore"])) > time.time():
            return str(each["subject"])
    return ""


def load(state_dir: Path) -> Identity | None:
    """What an earlier enrolment left; None without one. Raises EnrolError."""
    try:
        marker = json.loads((state_dir / "agent.json").read_text())
        identity = Identity.below(state_dir, marker["node_uid"], marker["addr"], marker["port"], marker["console"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise EnrolError(f"{state_dir / 'agent.json'} cannot be read; remove it to join again.") from error
    try:
        _move_key(identity.certificate)
    except OSError as error:  # a full disk is no reason to leave shards alone
        log.error("the key of this agent stays where it is: %s", error)
    return identity


def _move_key(certificate: Path) -> None:
    """To its certificate: earlier agents kept it in a file of its own."""
    alone = _of_its_own(certificate)
    if not alone.exists():
        return
    content = certificate.read_bytes()
    if _PRIVATE not in content:
        write_private(certificate, content + alone.read_bytes())
    alone.unlink()


def _of_its_own(certificate: Path) -> Path:
    return certificate.with_suffix(".key")
