"""Certificates of the REST reference (`/v1/cluster/certificates`); keys are not told."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.times import iso

CONSOLE = ("api", "cm", "metrics_exporter")
"""Names of the console's one certificate in the reference, which has a certificate for each of these ports."""
CHARACTERS = 64 * 1024


class OfConsole(BaseModel):
    """The certificate that the console's ports show."""

    source: str = Field(
        description="own: of the console's authority; installed: over the API; settings: SHARDBOARD_TLS_CERT.",
        json_schema_extra={"enum": ["own", "installed", "settings"]},
    )
    subject: str
    issuer: str
    names: list[str] = Field(description="Host names and addresses that it holds for.")
    valid_from: str = Field(json_schema_extra={"format": "date-time"})
    valid_until: str = Field(json_schema_extra={"format": "date-time"})
    fingerprint: str = Field(description="SHA-256, hexadecimal.")


class OfBdb(BaseModel):
    uid: int = Field(description="The database.")
    certificate: str = Field(description="PEM; all its shards, and proxies towards them, show this one.")
    valid_until: str = Field(json_schema_extra={"format": "date-time"})
    authority: str = Field(description="Of our own: SHA-256 of the certificate of the authority that signed it.")
    replacing: str = Field(
        description="Of our own: the step of replacing the authority that shards are being told of; empty when it is not replaced.",
        json_schema_extra={"enum": ["", "announced", "shown", "forgotten"]},
    )


class Certificates(BaseModel):
    api_cert: str = Field(description="PEM, with its chain: what the page and the REST API show.")
    cm_cert: str = Field(description="The same: the page is served by it.")
    metrics_exporter_cert: str = Field(description="The same.")
    ca_cert: str = Field(description="PEM of the console's own authority.")
    console: OfConsole = Field(description="What api_cert says.")
    data_internode_encryption: list[OfBdb] = Field(description="Of databases whose shards speak TLS with each other.")


class NewCertificate(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(max_length=64, description=f"{', '.join(CONSOLE)}: they are one certificate.", examples=["api"])
    certificate: str = Field(
        max_length=CHARACTERS, description="PEM; the console's own first, then those that signed it, one after another."
    )
    key: str = Field(max_length=CHARACTERS, description="PEM, without a passphrase.")


class NewCertificates(BaseModel):
    model_config = ConfigDict(strict=True)

    certificates: list[NewCertificate] = Field(min_length=1, max_length=16)


class Rotate(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(
        default="", max_length=64, description="data_internode_encryption, which is all that can be replaced."
    )
    authority: bool = Field(
        default=False,
        description="Of our own: other authorities, too, so that nothing that was signed before opens a shard any more.",
    )


class Rotated(BaseModel):
    databases: int = Field(description="How many have another certificate now.")


class Signed(Protocol):
    """What is told of any certificate."""

    @property
    def subject(self) -> str: ...
    @property
    def issuer(self) -> str: ...
    @property
    def begins(self) -> datetime: ...
    @property
    def ends(self) -> datetime: ...
    @property
    def fingerprint(self) -> str: ...


class Identity(Signed, Protocol):
    """What is told of a server's, and its chain."""

    @property
    def names(self) -> list[str]: ...
    def chain_pem(self) -> str: ...


class ShardIdentity(Protocol):
    """What is told of a database's."""

    @property
    def certificate(self) -> str: ...
    @property
    def ends(self) -> datetime: ...
    @property
    def authority_fingerprint(self) -> str: ...
    @property
    def replacing(self) -> str: ...


def of_console(source: str, identity: Identity) -> dict[str, Any]:
    return {"source": source, "names": identity.names, **of_any(identity)}


def of_any(certificate: Signed) -> dict[str, Any]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "valid_from": iso(certificate.begins),
        "valid_until": iso(certificate.ends),
        "fingerprint": certificate.fingerprint,
    }


def render(
    source: str, identity: Identity, authority: str, of_bdbs: Iterable[tuple[int, ShardIdentity]]
) -> dict[str, Any]:
    """`of_bdbs`: uids of databases, and what their shards show."""
    own = identity.chain_pem()
    return {
        "api_cert": own,
        "cm_cert": own,
        "metrics_exporter_cert": own,
        "ca_cert": authority,
        "console": of_console(source, identity),
        "data_internode_encryption": [
            {
                "uid": uid,
                "certificate": shown.certificate,
                "valid_until": iso(shown.ends),
                "authority": shown.authority_fingerprint,
                "replacing": shown.replacing,
            }
            for uid, shown in of_bdbs
        ],
    }
