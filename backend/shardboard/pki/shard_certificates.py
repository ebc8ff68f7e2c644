"""Certificates with which the shards and proxies of one database authenticate to each other, issued by a CA that only they trust.

Each database has a separate CA, because engines do not check names: they accept any certificate of a CA that they trust. A shard of
one database can therefore not connect to another database, and an agent's certificate is useless for shards. All shards of a
database use the same certificate: an attacker who controls one shard has the database's data and admin password anyway.

The CA is replaced in three steps; parties that have completed a step can still connect to those at the previous one. First the next
CA is announced: it is trusted in addition. Then the certificate is issued by it. Finally the old CA is removed, and its
certificates are rejected.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from shardboard.pki import tls
from shardboard.pki.signer import CertificateAuthority

NAME = "shard.internal"
"""Name in the certificate, which proxies verify (`engine/proxy/src/tls.rs`)."""
DAYS = 90
RENEW_DAYS = 30
"""Remaining days at which a certificate is replaced."""
CA_DAYS = 3650
CA_RENEW_DAYS = 365

ShardReplacementStep = Literal["", "announced", "served", "removed"]
"""Step of the CA replacement that is being distributed; empty if none is in progress."""

_PREVIOUS_NAMES = {
    "authority": "ca",
    "authority_key": "ca_key",
    "next_authority": "next_ca",
    "next_authority_key": "next_ca_key",
    "former_authority": "former_ca",
    "replacing": "replacement_step",
    "again": "replace_again",
    "left": "removed_addresses",
}
_PREVIOUS_STEPS: dict[str, ShardReplacementStep] = {"shown": "served", "forgotten": "removed"}
"""Names in stores of earlier releases. Certificates are stored again when they change, which can take months."""


@dataclass(frozen=True)
class ShardCertificates:
    """The certificates of one database (PEM), in the form in which they are stored with it."""

    ca: str
    ca_key: str = field(repr=False)
    certificate: str
    key: str = field(repr=False)
    number: int = 1
    """Version of the distributed certificates. Shards start with the current version, so the first one needs no distribution."""
    replacement_step: ShardReplacementStep = ""
    next_ca: str = ""
    next_ca_key: str = field(default="", repr=False)
    """Key of the next CA while it is announced."""
    former_ca: str = ""
    """The old CA while certificates of the new one are used. Its key has been deleted."""
    replace_again: bool = False
    """Whether another replacement must follow this one."""
    removed_addresses: str = ""
    """Addresses of removed nodes, separated by spaces. Their open connections are closed at the end."""

    @classmethod
    def issue(cls) -> Self:
        """Create the certificates of a new database."""
        ca, key = _new_ca()
        return cls(ca, key, *_signed(ca, key))

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Self:
        """Return stored certificates, also in the form of earlier releases."""
        values = {_PREVIOUS_NAMES.get(name, name): value for name, value in stored.items()}
        step = values.get("replacement_step", "")
        return cls(**{**values, "replacement_step": _PREVIOUS_STEPS.get(step, step)})

    def stored(self) -> dict[str, Any]:
        """Return the fields to store: all that do not have their default, and the version."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if name == "number" or value != default}

    @property
    def trusted(self) -> str:
        """All trusted CAs (PEM)."""
        return self.ca + self.next_ca + self.former_ca

    @property
    def valid_until(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc

    @property
    def ca_fingerprint(self) -> str:
        """SHA-256 of the CA certificate, hexadecimal."""
        return x509.load_pem_x509_certificate(self.ca.encode()).fingerprint(hashes.SHA256()).hex()

    def is_due(self, now: datetime) -> bool:
        """Return whether the certificate must be renewed."""
        return self.valid_until < now + timedelta(days=RENEW_DAYS)

    def with_new_certificate(self) -> "ShardCertificates":
        """Return a copy with a new certificate of the same CA: during the distribution, old and new ones are accepted."""
        certificate, key = _signed(self.ca, self.ca_key)
        return replace(self, certificate=certificate, key=key, number=self.number + 1)

    def is_ca_due(self, now: datetime) -> bool:
        """Return whether the CA must be replaced and no replacement is in progress."""
        expiry = x509.load_pem_x509_certificate(self.ca.encode()).not_valid_after_utc
        return not self.replacement_step and expiry < now + timedelta(days=CA_RENEW_DAYS)

    def with_replacement(self, leaver: str = "") -> "ShardCertificates":
        """Return a copy with the first step of a CA replacement, or with a note that another replacement must follow. `leaver` is
        the address of a removed node, if any. If the next CA is only announced so far, that replacement is sufficient: the removed
        node never gets a certificate of it.
        """
        removed_addresses = " ".join(dict.fromkeys([*self.removed_addresses.split(), *leaver.split()]))
        if self.replacement_step == "announced":
            return replace(self, removed_addresses=removed_addresses)
        if self.replacement_step == "served":
            return replace(self, removed_addresses=removed_addresses, replace_again=True)
        ca, key = _new_ca()
        return replace(
            self,
            number=self.number + 1,
            replacement_step="announced",
            next_ca=ca,
            next_ca_key=key,
            removed_addresses=removed_addresses,
        )

    def with_next_step(self) -> "ShardCertificates":
        """Return a copy with the next step, after all parties have completed the previous one."""
        match self.replacement_step:
            case "announced":
                certificate, key = _signed(self.next_ca, self.next_ca_key)
                return ShardCertificates(
                    ca=self.next_ca,
                    ca_key=self.next_ca_key,
                    certificate=certificate,
                    key=key,
                    number=self.number + 1,
                    replacement_step="served",
                    former_ca=self.ca,
                    removed_addresses=self.removed_addresses,
                )
            case "served" if self.replace_again:
                return replace(self, replacement_step="removed", former_ca="", replace_again=False).with_replacement()
            case "served":
                return replace(self, replacement_step="removed", former_ca="", number=self.number + 1)
        return replace(self, replacement_step="", removed_addresses="")


class HasShardCertificates(Protocol):
    """Row of a database."""

    shard_certificates: Any


def replace_cas(databases: Iterable[HasShardCertificates], leaver: str = "") -> int:
    """Start a CA replacement for all encrypted databases, under the lock of the cluster. Return their number. A loop performs the
    further steps.
    `leaver` is the address of a removed node, which may have had keys of any of them.
    """
    encrypted = [bdb for bdb in databases if bdb.shard_certificates is not None]
    for bdb in encrypted:
        bdb.shard_certificates = ShardCertificates.read(bdb.shard_certificates).with_replacement(leaver).stored()
    return len(encrypted)


def _new_ca() -> tuple[str, str]:
    """Return certificate and key of a new CA."""
    signer = CertificateAuthority.create(f"Shardboard database {tls.random_part()}", CA_DAYS)
    return _texts(signer.certificate, signer.key)


def _signed(ca: str, ca_key: str) -> tuple[str, str]:
    """Return a certificate for both ends of a connection, and its key."""
    signer = CertificateAuthority.read(ca.encode(), ca_key.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return _texts(signer.sign(key.public_key(), [NAME], usages, DAYS, common_name=NAME), key)


def _texts(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> tuple[str, str]:
    return tls.pem(certificate).decode(), tls.key_pem(key).decode()
