"""Models of certificates (`/v1/cluster/certificates` of the Redis Enterprise REST API). Private keys are never returned."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from shardboard.schemas.timestamps import iso

CONSOLE_CERTIFICATE_NAMES = ("api", "cm", "metrics_exporter")
"""Names of the console's certificate. Redis Enterprise has a certificate for each of these ports; the console has one for all."""
MAX_PEM_CHARACTERS = 64 * 1024


class ConsoleCertificate(BaseModel):
    """The certificate that the console's ports serve."""

    source: str = Field(
        description="`own`: signed by the console CA; `installed`: installed with the API; `settings`: from SHARDBOARD_TLS_CERT.",
        json_schema_extra={"enum": ["own", "installed", "settings"]},
    )
    subject: str
    issuer: str
    names: list[str] = Field(description="Host names and addresses that the certificate is valid for.")
    valid_from: str = Field(json_schema_extra={"format": "date-time"})
    valid_until: str = Field(json_schema_extra={"format": "date-time"})
    fingerprint: str = Field(description="SHA-256, hexadecimal.")


class BdbCertificate(BaseModel):
    uid: int = Field(description="Uid of the database.")
    certificate: str = Field(description="PEM. Used by all shards of the database and by proxies that connect to them.")
    valid_until: str = Field(json_schema_extra={"format": "date-time"})
    authority: str = Field(description="SHA-256 fingerprint of the CA certificate that signed it (extension).")
    replacing: str = Field(
        description="Current step of the replacement of the database's CA; empty if it is not being replaced (extension).",
        json_schema_extra={"enum": ["", "announced", "shown", "forgotten"]},
    )


class Certificates(BaseModel):
    api_cert: str = Field(description="Certificate of the web UI and the REST API, with its chain (PEM).")
    cm_cert: str = Field(description="Same as `api_cert`.")
    metrics_exporter_cert: str = Field(description="Same as `api_cert`.")
    ca_cert: str = Field(description="Certificate of the console CA (PEM).")
    console: ConsoleCertificate = Field(description="Contents of `api_cert`.")
    data_internode_encryption: list[BdbCertificate] = Field(
        description="Certificates of databases whose shards use TLS between nodes."
    )


class NewCertificate(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(
        max_length=64,
        description=f"One of {', '.join(CONSOLE_CERTIFICATE_NAMES)}, which share one certificate.",
        examples=["api"],
    )
    certificate: str = Field(
        max_length=MAX_PEM_CHARACTERS,
        description="PEM: the certificate of the console, followed by the intermediate CA certificates in order.",
    )
    key: str = Field(max_length=MAX_PEM_CHARACTERS, description="Private key (PEM) without a passphrase.")


class NewCertificates(BaseModel):
    model_config = ConfigDict(strict=True)

    certificates: list[NewCertificate] = Field(min_length=1, max_length=16)


class RotateRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str = Field(
        default="", max_length=64, description="`data_internode_encryption`, the only kind that can be replaced."
    )
    authority: bool = Field(
        default=False,
        description="Also replace the CAs of the databases, so that shards reject all earlier certificates (extension).",
    )


class RotateReply(BaseModel):
    databases: int = Field(description="Number of databases with a new certificate.")


class CertificateRow(Protocol):
    """Fields of any certificate."""

    @property
    def subject(self) -> str: ...
    @property
    def issuer(self) -> str: ...
    @property
    def valid_from(self) -> datetime: ...
    @property
    def valid_until(self) -> datetime: ...
    @property
    def fingerprint(self) -> str: ...


class ServerCertificateRow(CertificateRow, Protocol):
    """Fields of a server certificate, and its chain."""

    @property
    def names(self) -> list[str]: ...
    def chain_pem(self) -> str: ...


class ShardCertificateRow(Protocol):
    """Fields of the certificate of a database."""

    @property
    def certificate(self) -> str: ...
    @property
    def valid_until(self) -> datetime: ...
    @property
    def ca_fingerprint(self) -> str: ...
    @property
    def replacement_step(self) -> str: ...


def published_step(step: str) -> str:
    """Return the name that the REST API has for the step of a CA replacement."""
    return {"served": "shown", "removed": "forgotten"}.get(step, step)


def render_console_certificate(source: str, identity: ServerCertificateRow) -> dict[str, Any]:
    return {"source": source, "names": identity.names, **render_certificate(identity)}


def render_certificate(certificate: CertificateRow) -> dict[str, Any]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "valid_from": iso(certificate.valid_from),
        "valid_until": iso(certificate.valid_until),
        "fingerprint": certificate.fingerprint,
    }


def render(
    source: str, identity: ServerCertificateRow, ca_pem: str, of_bdbs: Iterable[tuple[int, ShardCertificateRow]]
) -> dict[str, Any]:
    """Render all certificates. `of_bdbs` are uids of databases with the certificates of their shards."""
    chain = identity.chain_pem()
    return {
        "api_cert": chain,
        "cm_cert": chain,
        "metrics_exporter_cert": chain,
        "ca_cert": ca_pem,
        "console": render_console_certificate(source, identity),
        "data_internode_encryption": [
            {
                "uid": uid,
                "certificate": certificates.certificate,
                "valid_until": iso(certificates.valid_until),
                "authority": certificates.ca_fingerprint,
                "replacing": published_step(certificates.replacement_step),
            }
            for uid, certificates in of_bdbs
        ],
    }
