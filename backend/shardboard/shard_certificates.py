"""What the shards and proxies of one database prove to each other: a certificate of an authority that only they trust.

Every database has an authority of its own, because engines do not look at names: whoever shows a certificate of an authority
that they trust is let in. So a shard of one database cannot speak to those of another, and an agent's certificate opens no
shard. All of a database show the same certificate: who holds one of its shards has its data and its administrative password.

The authority is replaced in three steps; who has heard of one still meets who knows only the one before. First the next authority
is announced: it is trusted, too. Then the certificate shown is of it. Then the former one is forgotten, and what it signed opens
nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard import tls
from shardboard.signer import Signer

NAME = "shard.internal"
"""Proxies insist on it (`engine/proxy/src/tls.rs`)."""
DAYS = 90
RENEW_DAYS = 30
"""Days before its end from which a certificate is replaced."""
AUTHORITY_DAYS = 3650
AUTHORITY_RENEW_DAYS = 365

Replacing = Literal["", "announced", "shown", "forgotten"]
"""The step of replacing the authority that everybody is being told of; empty: it is not being replaced."""


@dataclass(frozen=True)
class ShardCertificates:
    """PEM texts of one database, as they are stored with it."""

    authority: str
    authority_key: str = field(repr=False)
    certificate: str
    key: str = field(repr=False)
    number: int = 1
    """How many there have been of what shards are told. They are born with the present one, so the first reaches all by itself."""
    replacing: Replacing = ""
    next_authority: str = ""
    next_authority_key: str = field(default="", repr=False)
    """While it is announced."""
    former_authority: str = ""
    """While that of the next is shown. Its key is gone."""
    again: bool = False
    """Whether it is to be replaced once more after that."""
    left: str = ""
    """Addresses, with spaces between them, of nodes that are taken out: what they hold open is closed at the end."""

    @classmethod
    def issue(cls) -> Self:
        """For a new database."""
        authority, key = _new_authority()
        return cls(authority, key, *_signed(authority, key))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        return cls(**stored)

    def stored(self) -> dict[str, Any]:
        """Fields of replacing the authority only while that goes on: the release before does not know them."""
        held = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in held.items() if name == "number" or value != default}

    @property
    def trusted(self) -> str:
        """All authorities that count."""
        return self.authority + self.next_authority + self.former_authority

    @property
    def ends(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc

    @property
    def authority_fingerprint(self) -> str:
        """SHA-256 of its certificate, hexadecimal."""
        return x509.load_pem_x509_certificate(self.authority.encode()).fingerprint(hashes.SHA256()).hex()

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for another certificate."""
        return self.ends < now + timedelta(days=RENEW_DAYS)

    def renewed(self) -> "ShardCertificates":
        """With another certificate of the same authority: old and new ones trust each other while they are replaced."""
        certificate, key = _signed(self.authority, self.authority_key)
        return replace(self, certificate=certificate, key=key, number=self.number + 1)

    def is_authority_due(self, now: datetime) -> bool:
        """Whether it is time for another authority, and none follows yet."""
        ends = x509.load_pem_x509_certificate(self.authority.encode()).not_valid_after_utc
        return not self.replacing and ends < now + timedelta(days=AUTHORITY_RENEW_DAYS)

    def replaced(self, leaver: str = "") -> "ShardCertificates":
        """With the first step of replacing the authority, or a note that it is to be replaced once more. `leaver` is the address of
        a node that is taken out, if one is.

        As long as the next one is only announced, that one will do: who is out by now never gets a certificate of it.
        """
        left = " ".join(dict.fromkeys([*self.left.split(), *leaver.split()]))
        if self.replacing == "announced":
            return replace(self, left=left)
        if self.replacing == "shown":
            return replace(self, left=left, again=True)
        authority, key = _new_authority()
        return replace(
            self,
            number=self.number + 1,
            replacing="announced",
            next_authority=authority,
            next_authority_key=key,
            left=left,
        )

    def advanced(self) -> "ShardCertificates":
        """With the next step, after all were told of the one before."""
        match self.replacing:
            case "announced":
                certificate, key = _signed(self.next_authority, self.next_authority_key)
                return ShardCertificates(
                    authority=self.next_authority,
                    authority_key=self.next_authority_key,
                    certificate=certificate,
                    key=key,
                    number=self.number + 1,
                    replacing="shown",
                    former_authority=self.authority,
                    left=self.left,
                )
            case "shown" if self.again:
                return replace(self, replacing="forgotten", former_authority="", again=False).replaced()
            case "shown":
                return replace(self, replacing="forgotten", former_authority="", number=self.number + 1)
        return replace(self, replacing="", left="")


class Sealed(Protocol):
    """A database's row."""

    shard_certificates: Any


def replace_authorities(databases: Iterable[Sealed], leaver: str = "") -> int:
    """Begin it for those that are encrypted, under the lock of the cluster; how many that are. A loop takes the further steps.
    `leaver` is the address of a node that is taken out, and has had the keys of whichever of them."""
    encrypted = [bdb for bdb in databases if bdb.shard_certificates is not None]
    for bdb in encrypted:
        bdb.shard_certificates = ShardCertificates.read(bdb.shard_certificates).replaced(leaver).stored()
    return len(encrypted)


def _new_authority() -> tuple[str, str]:
    """Its certificate and its key."""
    signer = Signer.create(f"Shardboard database {tls.random_part()}", AUTHORITY_DAYS)
    return _texts(signer.certificate, signer.key)


def _signed(authority: str, authority_key: str) -> tuple[str, str]:
    """A certificate for both ends of a connection, and its key."""
    signer = Signer.read(authority.encode(), authority_key.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return _texts(signer.sign(key.public_key(), [NAME], uses, DAYS, common_name=NAME), key)


def _texts(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> tuple[str, str]:
    return tls.pem(certificate).decode(), tls.key_pem(key).decode()
