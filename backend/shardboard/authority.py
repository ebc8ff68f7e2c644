"""The console's certificate authority: what agents are known by, and the console to them.

    ca          ten years; an agent pins it by the fingerprint in its join token
    server.pem  for the console's port: joining agents see it, and browsers unless another is installed
    client.pem  what the console shows to agents

The last two hold their keys, too. Both are renewed in time, and so are those of agents (`reconcilers/agent_certificates.py`).

A certificate is good for one direction only: an agent's (serverAuth) does not open another agent, which wants to see
clientAuth.

The authority is replaced in three steps; who has heard of one still meets who knows only the one before. First the next one is
announced: agents trust it, too, and people give it to clients of endpoints. Then, by a second order, what is shown is of it. Then
the former one is forgotten, when nobody shows anything that it signed. One below somebody else's authority is trusted by itself:
what else that signs opens nothing here.
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

from shardboard import tls
from shardboard.agent.contract.protocol import CONSOLE_NAME
from shardboard.authority_files import AuthorityFiles, Request, new_signer
from shardboard.errors import NotAcceptable
from shardboard.key_files import readable, remove_parts, write_private
from shardboard.settings import Settings
from shardboard.signer import Signer
from shardboard.tls import PEER_DAYS, SERVER_DAYS, key_of, key_pem, names_of, normal_name, pem, signing_key_of

log = logging.getLogger(__name__)

SOON, LATER = 5.0, 60.0
"""Seconds between two attempts to reach agents: while others wait for them, and else."""
BEHIND = "its agent is of the release before: upgrade it"

Step = Literal["", "announced", "shown"]
"""Of replacing the authority; empty: it is not being replaced."""


@dataclass
class Heard:
    """How far agents are, by node, as far as this console has seen since it was started."""

    trusting: dict[int, str] = field(default_factory=dict)
    """`Authority.trusted_digest` of what an agent trusts, of those that are connected."""
    showing: dict[int, str] = field(default_factory=dict)
    """Fingerprint of the authority whose certificate it showed last."""
    failures: dict[int, str] = field(default_factory=dict)
    """Why it was not told."""
    unrenewed: dict[int, str] = field(default_factory=dict)
    """Why its certificate was not renewed."""

    def forget(self, node_uid: int) -> None:
        """It may be another agent."""
        for each in (self.trusting, self.showing, self.failures, self.unrenewed):
            each.pop(node_uid, None)


class Authority:
    """Opened by `Authority.load`, which creates or renews what is missing or about to expire."""

    def __init__(self, files: AuthorityFiles) -> None:
        self.directory = files.directory
        self.ca_file = files.certificates
        self.server_file = files.directory / "server.pem"
        """Certificate and key of `server`."""
        self.names: list[str] = []
        """Names and addresses that `server` holds for."""
        self.heard = Heard()
        self._files = files
        self.present = files.present()
        self.following = files.next()
        self.former = files.former(self.present)
        self.requested = files.requested([each for each in (self.present, self.following) if each is not None])
        self._clients: ssl.SSLContext | None = None
        self._refused: frozenset[str] = frozenset()

    @classmethod
    def load(cls, settings: Settings) -> "Authority":
        files = AuthorityFiles(_directory(settings))
        files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_parts(files.directory)
        files.create()
        authority = cls(files)
        authority.names = _own_names(settings.public_names)
        files.tidy(former=authority.former, requested=authority.requested)
        authority.renew()
        return authority

    @classmethod
    def existing(cls, settings: Settings) -> "Authority":
        """As a console made it before; changes nothing. FileNotFoundError when none did."""
        return cls(AuthorityFiles(_directory(settings)))

    @property
    def ends(self) -> datetime:
        return self.present.ends

    @property
    def ca_pem(self) -> str:
        return self.present.pem

    def ca_fingerprint(self) -> str:
        """SHA-256 of the certificate (DER), hexadecimal."""
        return self.present.fingerprint

    @property
    def step(self) -> Step:
        if self.following is not None:
            return "announced"
        return "" if self.former is None else "shown"

    @property
    def patience(self) -> float:
        """Seconds until agents that could not be asked, or told, are asked again."""
        return SOON if self.step else LATER

    @property
    def _all(self) -> list[Signer]:
        return [each for each in (self.present, self.following, self.former) if each is not None]

    @property
    def trusted(self) -> str:
        """PEM of what agents let in, and believe."""
        return "".join(each.pem for each in self._all)

    @property
    def trusted_digest(self) -> str:
        return hashlib.sha256(self.trusted.encode()).hexdigest()

    @property
    def bundle(self) -> str:
        """PEM of what clients of endpoints, and browsers, are to trust: with authorities above ours, for those who want a root."""
        return "".join(dict.fromkeys(pem(each).decode() for signer in self._all for each in signer.chain))

    def renew(self) -> bool:
        """Make `server` and `client` anew when one is missing, damaged, for other names, of another authority, or ends soon;
        whether `server` was. Raises OSError when one cannot be written and that before cannot be used any more."""
        self._ensure("client", [], ExtendedKeyUsageOID.CLIENT_AUTH, PEER_DAYS, self._always)
        if self._clients is not None:
            self._show(self._clients)
        renewed = self._ensure("server", self.names, ExtendedKeyUsageOID.SERVER_AUTH, SERVER_DAYS)
        try:
            self._files.copy(self.present)
        except OSError as error:
            log.error("%s cannot be written, and is that of before: %s", self.ca_file, error)
        return renewed

    @property
    def is_shown(self) -> bool:
        """Whether nothing that the console itself shows is of the former authority."""
        files = (self.directory / "client.pem", self.server_file)
        shown = [signing_key_of(found) for file in files if (found := _usable(file))]
        return shown == [self.present.key_id] * len(files) and self._files.is_copied(self.present)

    def client_ssl_context(self) -> ssl.SSLContext:
        """For calls to agents: proves who we are, and accepts only agents that joined under the address we call. The same until the
        authority is replaced, or other certificates are refused; `client` is renewed in it."""
        if self._clients is None:
            self._clients = self._client_context(self._refused)
        return self._clients

    def _client_context(self, refused: Collection[str]) -> ssl.SSLContext:
        trusted = [each for each in (self.present, self.former) if each is not None]
        context = ssl.create_default_context(cadata="".join(each.pem for each in trusted))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF | ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        self._show(context)
        for signer in trusted:
            with readable(signer.taken_back(refused)) as path:
                context.load_verify_locations(path)
        return context

    def refuse(self, serials: Collection[str]) -> bool:
        """From the next connection on, these certificates of agents (serial numbers, hexadecimal) and no others are refused;
        whether that is news."""
        if (wanted := frozenset(serials)) == self._refused:
            return False
        self._clients = self._client_context(wanted)
        self._refused = wanted
        return True

    def _show(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.directory / "client.pem")

    def sign_agent(self, csr_pem: str, addr: str, days: int = PEER_DAYS) -> str:
        """A certificate for the agent at `addr`, with those between it and a root. Only the key is taken from the request, never a
        name it asks for."""
        if normal_name(addr) == CONSOLE_NAME:  # joining agents trust whoever has it
            raise NotAcceptable("config_error", f"{CONSOLE_NAME} is the console's name.", field="addr")
        key = key_of(csr_pem)
        uses, name = [ExtendedKeyUsageOID.SERVER_AUTH], _common_name([addr])
        signed = self.present.sign(key, [addr], uses, days, begins=self._always, common_name=name)
        return pem(signed).decode() + self.present.between

    def is_due(self, ends: datetime, signing_key: str, days: int, now: datetime) -> bool:
        """Whether a certificate that is made for so many days is to be made anew: it ends soon, or an earlier release made it for
        longer, or another authority signed it. Not when it ends with the authority. `signing_key` as `tls.signing_key_of`."""
        is_other = ends != min(now + timedelta(days=days), self.ends)
        return (tls.is_due(ends, days, now) and is_other) or not self.is_presents(signing_key)

    def is_presents(self, signing_key: str) -> bool:
        """Whether the present authority signed a certificate that is trusted."""
        return signing_key == self.present.key_id or (not signing_key and self.former is None)

    def request(self, common_name: str, organization: str) -> Request:
        """For an authority that somebody else signs; it takes the place of the one before. Raises OSError."""
        made = Request.create(common_name, organization)
        self._files.request(made)
        self.requested = made
        return made

    def announce(self, following: Signer | None = None) -> Signer:
        """The one that follows, or a new one of our own. Raises OSError."""
        chosen = following or new_signer()
        self._files.announce(chosen)
        self.following, self.requested = chosen, None
        self._files.tidy(former=self.former, requested=None)
        return chosen

    def withdraw(self) -> None:
        """What was announced, or the request. Raises OSError; then nothing has changed."""
        if self.following is not None:
            self._files.forget_next()
            self.following = None
        else:
            self._files.forget_request()
            self.requested = None

    def switch(self) -> None:
        """To the one that was announced, from the next connection on. Raises OSError; then nothing has changed."""
        if self.following is None:
            raise ValueError("no authority was announced")
        self._files.switch(self.present)
        self.former, self.present, self.following = self.present, self.following, None
        self._clients = None

    def forget(self) -> None:
        """What the former one signed counts no more, from the next connection on. Raises OSError."""
        self._files.forget_former()
        self.former = None
        self._clients = None

    @property
    def _always(self) -> datetime:
        """Since when certificates hold that agents and console show each other: who had the wrong time in the hour in which one was
        renewed still takes it. Only the end matters there."""
        return self.present.begins

    def _ensure(
        self, name: str, names: Sequence[str], usage: ObjectIdentifier, days: int, begins: datetime | None = None
    ) -> bool:
        file, now = self.directory / f"{name}.pem", datetime.now(UTC)
        found = _usable(file)
        if (
            found
            and names_of(found) == set(names)
            and not self.is_due(found.not_valid_after_utc, signing_key_of(found), days, now)
        ):
            return False
        key = ec.generate_private_key(ec.SECP256R1())
        made = self.present.sign(key.public_key(), names, [usage], days, begins=begins, common_name=_common_name(names))
        try:
            write_private(file, pem(made) + self.present.between.encode() + key_pem(key))
        except OSError as error:
            if found is None or found.not_valid_after_utc <= now:
                raise
            until = found.not_valid_after_utc
            log.error("%s cannot be renewed, the one before is good until %s: %s", file, until, error)
            return False
        file.with_suffix(".key").unlink(missing_ok=True)  # of an earlier release
        return True


def _directory(settings: Settings) -> Path:
    return settings.state_dir / "tls"


def _own_names(public_names: Sequence[str]) -> list[str]:
    names = ["localhost", "127.0.0.1", "::1", socket.gethostname(), CONSOLE_NAME, *public_names]
    return list(dict.fromkeys(normal_name(name) for name in names if name))


def _common_name(names: Sequence[str]) -> str:
    return names[0] if names and len(names[0]) <= 64 else "shardboard"


def _usable(file: Path) -> x509.Certificate | None:
    """The certificate in it, if its key is there, too."""
    try:
        content = file.read_bytes()
        certificate = x509.load_pem_x509_certificate(content)
        key = serialization.load_pem_private_key(content, None)
        names_of(certificate), signing_key_of(certificate)
    except (OSError, ValueError, TypeError):
        return None
    return certificate if key.public_key() == certificate.public_key() else None
