"""Who an agent is, and what proves it.

    <state_dir>/agent.json       uid and address; written last, so half an enrolment counts as none
    <state_dir>/tls/agent.pem    certificate and key in one file: a new pair is in place in one moment
    <state_dir>/tls/ca.pem       the console's authority

The console renews the certificate of an agent that runs: it asks for a request, and brings what it signed. Each has a key of its
own. Connections that are open stay; proxies look at the file by themselves.
"""

import asyncio
import json
import logging
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from shardboard.agent import key
from shardboard.agent.contract import AgentCertificate, CertificateReply, CertificateRequest
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

    def flaw(self) -> str:
        """Why the console does not take the certificate, such as "certificate has expired"; empty when it does. Found out by a
        handshake with oneself: the console's would fail on the other side."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            context = self._loaded()
            trusting = ssl.create_default_context(cafile=str(self.ca))
        except OSError as error:
            return f"its files cannot be used: {error}"
        server = context.wrap_bio(to_server, to_client, server_side=True)
        client = trusting.wrap_bio(to_client, to_server, server_hostname=self.addr)
        for side in (client, server, client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLCertVerificationError as error:
                return error.verify_message
        return ""

    def _loaded(self) -> ssl.SSLContext:
        """Of a server that shows the certificate. Raises OSError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.ca)
        return context


class Renewal:
    """Of the certificate that `context` shows, from the next connection on."""

    def __init__(self, identity: Identity, context: ssl.SSLContext) -> None:
        self._identity, self._context = identity, context
        self._key = ""
        """Of the last request; kept nowhere else until there is a certificate for it."""

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
            await asyncio.to_thread(write_private, self._identity.certificate, pair)
            show(self._context, pair)
        except ssl.SSLError as error:
            return CertificateReply(refused=f"it is not for the key of the last request ({error.reason or error})")
        except OSError as error:
            return CertificateReply(refused=f"it could not be written: {error.strerror}")
        return CertificateReply()


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
