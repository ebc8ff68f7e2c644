"""Enrolment: an agent obtains its identity once with a join token and reads it from its state directory afterwards.

The token contains the fingerprint of the certificate of the console CA. The agent trusts nothing and does not send the token before
the CA certificate that the console returns matches that fingerprint.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shardboard.agent.cluster import key_generation
from shardboard.agent.cluster.identity import AgentIdentity, CertificateRenewal, EnrolError, load
from shardboard.agent.settings import AgentSettings
from shardboard.contract import NodeFacts
from shardboard.contract.protocol import CONSOLE_NAME, HEADER, OLDEST_PROTOCOL, PROTOCOL
from shardboard.kit.addresses import normal_name
from shardboard.pki.key_files import remove_partial_files

log = logging.getLogger(__name__)

TIMEOUT = 15.0
MAX_REPLY = 1 << 20
"""Bytes of a response. The server of the first one is not verified yet."""
CHECK_SECONDS = 60.0
"""Seconds between two checks of the agent's own certificate."""
_PREFIX = "sb1"

Generate = Callable[[], tuple[str, str]]
"""Returns a new private key and its certificate request (PEM)."""


def enrol(
    console_url: str | None,
    token: str | None,
    addr: str,
    port: int,
    state_dir: Path,
    facts: NodeFacts,
    rack_id: str = "",
    generate: Generate = key_generation.generate,
) -> AgentIdentity:
    """Return the identity in `state_dir`. Without one, join the cluster at `console_url`, with a key from `generate`. Raises
    EnrolError.
    """
    remove_partial_files(state_dir / "tls")
    identity = load(state_dir)
    if identity is None:
        return _enrol(console_url, token, addr, port, state_dir, facts, rack_id, generate)
    if (normal_name(identity.addr), identity.port) != (addr, port):
        raise EnrolError(
            f"{state_dir} belongs to the agent of {identity.addr} port {identity.port}; "
            f"{addr} port {port} needs a separate state directory."
        )
    return identity


async def stay_enrolled(
    settings: AgentSettings, identity: AgentIdentity, facts: NodeFacts, renewal: CertificateRenewal
) -> None:
    """Join again, as the same node, when the console does not accept (or no longer accepts) the agent's certificate. This needs a
    token. A token that the console has refused is not sent again. Until then the agent still supervises its shards. With a valid
    certificate, a token of another console is reported and otherwise ignored.
    """
    refused_token, examined, last_message = None, None, ""
    while True:
        certificate_error, token = identity.validation_error(), settings.read_token()
        if not certificate_error and token is not None and token != examined:
            examined = token if await asyncio.to_thread(_examine_token, settings, identity, token) else None
        if certificate_error and (token is None or token != refused_token):
            console = settings.join or identity.console
            try:
                await asyncio.to_thread(
                    _enrol,
                    console,
                    token,
                    identity.addr,
                    identity.port,
                    settings.state_dir,
                    facts,
                    settings.rack_id,
                )
                await renewal.serve_after_enrolment()
                log.info(
                    "agent: joined the cluster again because the old certificate was invalid: %s", certificate_error
                )
            except (EnrolError, OSError) as error:
                refused_token = token if isinstance(error, _Rejected) else refused_token
                message = f"The console does not accept this agent's certificate ({certificate_error}). {error}"
                if message != last_message:
                    log.error("%s", message)
                last_message = message
        await asyncio.sleep(CHECK_SECONDS)


def _examine_token(settings: AgentSettings, identity: AgentIdentity, token: str) -> bool:
    """Log an error and report it to the console if another console created the token. Return False if that is not known yet."""
    try:
        fingerprint = _fingerprint(token)
        if fingerprint in identity.ca_fingerprints():
            return True
        console = _Console(settings.join or identity.console, fingerprint)
        console.fetch_ca()
    except _UnknownToken:  # an old token: the CA of the agent's own console was replaced since
        return True
    except (EnrolError, OSError, ValueError) as error:
        log.info("agent: the join token was not checked: %s", error)
        return isinstance(error, EnrolError) and not isinstance(error, _Unreachable)
    log.error(
        "This agent belongs to a different console than %s, or to an earlier state of it with another CA, and "
        "ignores its join token. "
        "If the state of the console was lost and has a backup, restore the backup. Otherwise stop the agent, delete %s, and start "
        "the agent with a new token. Its shards and endpoints keep running.",
        console.url,
        settings.state_dir / "agent.json",
    )
    try:
        console.post("/v1/bootstrap/join_conflict", {"token": token, "addr": identity.addr})
    except EnrolError as error:
        log.info("agent: the console did not record the conflict: %s", error)
    return True


def _enrol(
    console_url: str | None,
    token: str | None,
    addr: str,
    port: int,
    state_dir: Path,
    facts: NodeFacts,
    rack_id: str,
    generate: Generate = key_generation.generate,
) -> AgentIdentity:
    if not console_url or not token:
        raise EnrolError("To join a cluster, the agent needs the console's URL (--join) and a join token.")
    _check_local(addr)
    return _join(_Console(console_url, _fingerprint(token)), token, addr, port, state_dir, facts, rack_id, generate)


def _join(
    console: "_Console",
    token: str,
    addr: str,
    port: int,
    state_dir: Path,
    facts: NodeFacts,
    rack_id: str,
    generate: Generate,
) -> AgentIdentity:
    ca = console.fetch_ca()
    try:
        key, csr = generate()
    except (OSError, subprocess.SubprocessError) as error:
        raise EnrolError(f"The agent could not create a private key: {error}.") from error
    body = {
        "token": token,
        "csr": csr,
        "renews": True,
        "addr": addr,
        "agent_port": port,
        "facts": facts.model_dump(exclude_defaults=True, context={"protocol": OLDEST_PROTOCOL}),
    }
    if rack_id:  # a console of the previous release does not know it
        body["rack_id"] = rack_id
    reply = console.post("/v1/bootstrap/join", body)
    node_uid, certificate = reply.get("node_uid"), reply.get("certificate")
    if not isinstance(node_uid, int) or not isinstance(certificate, str):
        raise EnrolError(f"The console at {console.url} returned an invalid response.")
    identity = AgentIdentity.in_state_dir(state_dir, node_uid, addr, port, console.url)
    try:
        identity.save(state_dir, certificate, key, ca)
    except OSError as error:
        message = f"{state_dir} cannot be written: {error.strerror}. The token has been used; create another one."
        raise EnrolError(message) from error
    return identity


class _Console:
    """The few console requests of a joining agent, without an HTTP client library that would stay in memory."""

    def __init__(self, url: str, fingerprint: str) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or 443
        except ValueError:
            host = None
        if not host or parts.scheme != "https":
            raise EnrolError(f"The console's URL must have the form https://console:9443, not {url}.")
        self.url = f"https://{parts.netloc.rpartition('@')[2]}"
        self._host, self._port = host, port
        self._fingerprint = fingerprint
        self._context: ssl.SSLContext | None = None

    def fetch_ca(self) -> str:
        """Return the CA certificate (PEM) after checking it against the fingerprint of the token. It is trusted from then on."""
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        try:
            status, content = self._call(self._host, unverified, "GET", "/v1/ca")
        except _UnverifiedServer as error:
            raise _Unreachable(f"The console at {self.url} is unreachable: {error}.") from error
        ca = _der(content) if status == 200 else b""
        if hashlib.sha256(ca).hexdigest() != self._fingerprint:
            raise _UnknownToken(
                f"The console at {self.url} did not create this token: "
                "its CA certificate has a different fingerprint. If its CA has been replaced since, create another token."
            )
        # The console can also use a certificate of a public CA: hence the system's trust store in addition to our CA.
        self._context = ssl.create_default_context()
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.load_verify_locations(cadata=ca)
        # The console CA can be an intermediate CA: the one from the token is trusted without its issuer.
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
            raise EnrolError(f"The console at {self.url} returned an invalid response (status {status}).")
        if status != 200:
            raise _Rejected(f"The console rejected the request: {reply.get('description') or f'status {status}'}")
        return reply

    def _call_trusted(self, context: ssl.SSLContext, method: str, path: str, body: str) -> tuple[int, bytes]:
        try:
            return self._call(CONSOLE_NAME, context, method, path, body)
        except _UnverifiedServer:
            pass  # behind a proxy, or an earlier release: its certificate must be valid for the host of the URL
        try:
            return self._call(self._host, context, method, path, body)
        except _UnverifiedServer as error:
            raise EnrolError(
                f"The certificate of {self.url} is not valid ({error}). "
                "If a proxy serves this address, join through the HTTPS port of the console instead (9443 by default)."
            ) from error

    def _call(
        self, name: str, context: ssl.SSLContext, method: str, path: str, body: str | None = None
    ) -> tuple[int, bytes]:
        """Send a request. The server must prove the identity `name` first if `context` verifies certificates."""
        connection = _Connection(name, context, self._host, self._port, timeout=TIMEOUT)
        headers = {HEADER: str(PROTOCOL)} | ({"Content-Type": "application/json"} if body else {})
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(MAX_REPLY)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise _Unreachable(f"The console at {self.url} is unreachable: {reason}.") from error
        finally:
            connection.close()


class _Rejected(EnrolError):
    """The console rejected the request for a permanent reason."""


class _UnknownToken(EnrolError):
    """The console does not have the CA that is named in the token."""


class _Unreachable(EnrolError):
    """The console did not respond."""


class _UnverifiedServer(Exception):
    """The server did not prove that name, or rejects requests for it. Nothing was sent to it."""


class _Connection(http.client.HTTPConnection):
    """HTTPS connection to a server whose certificate name differs from its host."""

    def __init__(self, name: str, context: ssl.SSLContext, host: str, port: int, *, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._name, self._context = name, context

    def connect(self) -> None:
        super().connect()
        try:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)
        except ssl.SSLCertVerificationError as error:
            raise _UnverifiedServer(error.verify_message) from error
        except OSError as error:  # a proxy without that name can send an alert or close the connection
            raise _UnverifiedServer(error.strerror or str(error)) from error


def _fingerprint(token: str) -> str:
    parts = token.split(".")
    if len(parts) != 3 or parts[0] != _PREFIX or len(parts[2]) != 64:
        raise EnrolError("The join token is not valid. A token starts with `sb1.`; create one in the console.")
    return parts[2].lower()


def _der(pem: bytes) -> bytes:
    """Return the DER bytes of a certificate. Only these bytes are verified and trusted: PEM text could contain a second
    certificate.
    """
    with contextlib.suppress(ValueError):
        return ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
    return b""


def _check_local(addr: str) -> None:
    """Check that `addr`, which the console will connect to, is an address of this machine."""
    if not addr:
        raise EnrolError("The agent needs the address at which the console can reach it (--address).")
    try:
        addresses = socket.getaddrinfo(addr, 0, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, location in addresses:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(location)
            return
    except socket.gaierror as error:
        raise EnrolError(f"The host name {addr} cannot be resolved.") from error
    except OSError as error:
        raise EnrolError(f"{addr} is not an address of this machine.") from error
