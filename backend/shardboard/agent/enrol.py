"""How an agent gets its identity: once, with a join token; afterwards it is read from its state directory.

The token carries the fingerprint of the console's CA certificate. Nothing is trusted, and the token is not sent, before
the certificate that the console shows matches it.
"""

import asyncio
import contextlib
import hashlib
import http.client
import json
import logging
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shardboard.agent import key
from shardboard.agent.contract import NodeFacts
from shardboard.agent.contract.protocol import CONSOLE_NAME, HEADER, PROTOCOL
from shardboard.agent.identity import EnrolError, Identity, Port, load
from shardboard.agent.settings import AgentSettings
from shardboard.key_files import remove_parts

log = logging.getLogger(__name__)

TIMEOUT = 15.0
LOOK_AGAIN = 60.0
"""Seconds until an agent looks at its certificate again."""
_PREFIX = "sb1"


def enrol(
    console_url: str | None, token: str | None, addr: str, port: int, state_dir: Path, facts: NodeFacts
) -> Identity:
    """The identity in `state_dir`; without one yet, join the cluster at `console_url`. Raises EnrolError."""
    remove_parts(state_dir / "tls")
    known = load(state_dir)
    if known is None:
        return _enrol(console_url, token, addr, port, state_dir, facts)
    if (known.addr, known.port) != (addr, port):
        raise EnrolError(
            f"{state_dir} belongs to the agent of {known.addr} port {known.port}; "
            f"{addr} port {port} needs a state directory of its own."
        )
    return known


async def stay_enrolled(settings: AgentSettings, identity: Identity, facts: NodeFacts, port: Port) -> None:
    """Join once more, as the same node, when the console does not take the certificate (any more) that `port` shows. That needs
    a token, and one that it has refused is not sent again. Unheard the agent still watches over its shards."""
    refused, told = None, ""
    while True:
        if (flaw := identity.flaw()) and ((token := settings.read_token()) is None or token != refused):
            console = settings.join or identity.console
            try:
                await asyncio.to_thread(_enrol, console, token, identity.addr, identity.port, settings.state_dir, facts)
                port.read_again()
                log.info("joined the cluster again, its certificate was not good any more: %s", flaw)
            except (EnrolError, OSError) as error:
                refused = token if isinstance(error, _Refused) else refused
                sentence = f"The console does not take this agent's certificate ({flaw}). {error}"
                if sentence != told:
                    log.error("%s", sentence)
                told = sentence
        await asyncio.sleep(LOOK_AGAIN)


def _enrol(
    console_url: str | None, token: str | None, addr: str, port: int, state_dir: Path, facts: NodeFacts
) -> Identity:
    if not console_url or not token:
        raise EnrolError("To join, this agent needs the console's URL (--join) and a join token.")
    _check_local(addr)
    return _join(_Console(console_url, _fingerprint(token)), token, addr, port, state_dir, facts)


def _join(console: "_Console", token: str, addr: str, port: int, state_dir: Path, facts: NodeFacts) -> Identity:
    ca = console.fetch_ca()
    try:
        private, csr = key.fresh()
    except (OSError, subprocess.SubprocessError) as error:
        raise EnrolError(f"This agent could not make a key: {error}.") from error
    body = {
        "token": token,
        "csr": csr,
        "renews": True,
        "addr": addr,
        "agent_port": port,
        "facts": facts.model_dump(exclude_defaults=True),
    }
    reply = console.post("/v1/bootstrap/join", body)
    node_uid, certificate = reply.get("node_uid"), reply.get("certificate")
    if not isinstance(node_uid, int) or not isinstance(certificate, str):
        raise EnrolError(f"The console at {console.url} gave an answer that cannot be read.")
    identity = Identity.below(state_dir, node_uid, addr, port, console.url)
    try:
        identity.save(state_dir, certificate, private, ca)
    except OSError as error:
        sentence = f"{state_dir} cannot be written: {error.strerror}. The token is used up; take another one."
        raise EnrolError(sentence) from error
    return identity


class _Console:
    """The few calls of a joining agent, without a client library that would stay in memory."""

    def __init__(self, url: str, fingerprint: str) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or 443
        except ValueError:
            host = None
        if not host or parts.scheme != "https":
            raise EnrolError(f"The console's URL must look like https://console:9443, not {url}.")
        self.url = f"https://{parts.netloc.rpartition('@')[2]}"
        self._host, self._port = host, port
        self._fingerprint = fingerprint
        self._context: ssl.SSLContext | None = None

    def fetch_ca(self) -> str:
        """The CA certificate (PEM), after checking that it is the one the token speaks of; trusted from then on."""
        blind = ssl.create_default_context()
        blind.check_hostname = False
        blind.verify_mode = ssl.CERT_NONE
        try:
            status, content = self._call(self._host, blind, "GET", "/v1/ca")
        except _NotProved as error:
            raise EnrolError(f"The console at {self.url} cannot be reached: {error}.") from error
        ca = _der(content) if status == 200 else b""
        if hashlib.sha256(ca).hexdigest() != self._fingerprint:
            raise EnrolError(
                f"The console at {self.url} is not the one that made this token: "
                "its CA certificate has another fingerprint. If its authority was replaced since, create another token."
            )
        # A console with a certificate of a public authority is fine, too: hence the system's trust beside our CA.
        self._context = ssl.create_default_context()
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.load_verify_locations(cadata=ca)
        # Another authority may be above the console's: that of the token is trusted by itself.
        self._context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return ssl.DER_cert_to_PEM_cert(ca)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert self._context is not None, "fetch_ca comes first"  # noqa: S101
        status, content = self._call_trusted(self._context, "POST", path, json.dumps(body))
        try:
            reply = json.loads(content)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise EnrolError(f"The console at {self.url} gave an answer that cannot be read (status {status}).")
        if status != 200:
            raise _Refused(f"The console refused: {reply.get('description') or f'status {status}'}")
        return reply

    def _call_trusted(self, context: ssl.SSLContext, method: str, path: str, body: str) -> tuple[int, bytes]:
        try:
            return self._call(CONSOLE_NAME, context, method, path, body)
        except _NotProved:
            pass  # behind a proxy, or of the release before: then its certificate has to hold for the host of the URL
        try:
            return self._call(self._host, context, method, path, body)
        except _NotProved as error:
            raise EnrolError(
                f"The certificate of {self.url} does not hold ({error}); "
                "name the host in SHARDBOARD_PUBLIC_NAMES of the console."
            ) from error

    def _call(
        self, name: str, context: ssl.SSLContext, method: str, path: str, body: str | None = None
    ) -> tuple[int, bytes]:
        """`name` is what the console must prove to be, if `context` insists on it; nothing is sent before."""
        connection = _Connection(name, context, self._host, self._port, timeout=TIMEOUT)
        headers = {HEADER: str(PROTOCOL)} | ({"Content-Type": "application/json"} if body else {})
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise EnrolError(f"The console at {self.url} cannot be reached: {reason}.") from error
        finally:
            connection.close()


class _Refused(EnrolError):
    """With a reason that will not go away."""


class _NotProved(Exception):
    """The other side does not go by that name, or does not want to be asked for it. Nothing was sent to it."""


class _Connection(http.client.HTTPConnection):
    """Over TLS, with a server that is called otherwise than its host."""

    def __init__(self, name: str, context: ssl.SSLContext, host: str, port: int, *, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._name, self._context = name, context

    def connect(self) -> None:
        super().connect()
        try:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)
        except ssl.SSLCertVerificationError as error:
            raise _NotProved(error.verify_message) from error
        except OSError as error:  # a proxy that does not know the name may say so, or hang up
            raise _NotProved(error.strerror or str(error)) from error


def _fingerprint(token: str) -> str:
    parts = token.split(".")
    if len(parts) != 3 or parts[0] != _PREFIX or len(parts[2]) != 64:
        raise EnrolError("This is not a join token; it starts with sb1. and comes from the console.")
    return parts[2].lower()


def _der(pem: bytes) -> bytes:
    """Exactly the bytes whose fingerprint is checked are trusted: PEM text could carry a second certificate along."""
    with contextlib.suppress(ValueError):
        return ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
    return b""


def _check_local(addr: str) -> None:
    """The console will call this address: it has to be one of this machine's."""
    if not addr:
        raise EnrolError("An agent needs the address that the console reaches it by (--address).")
    try:
        found = socket.getaddrinfo(addr, 0, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(place)
            return
    except socket.gaierror as error:
        raise EnrolError(f"The name {addr} has no address.") from error
    except OSError as error:
        raise EnrolError(f"{addr} is not an address of this machine.") from error
