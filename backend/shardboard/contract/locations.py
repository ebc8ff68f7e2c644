"""Storage locations of backups and exports, and sources of imports, with their credentials.

Field names are those of the Redis Enterprise REST API. Fields that it does not have: `endpoint`, `path_style`, `ca_cert`, `sse`,
`kms_key_id`, `proxy_url`, `known_hosts`, and `endpoint` of the other object stores.
"""

from typing import Annotated, Literal

from pydantic import Field

from shardboard.contract.base import Message

Setting = Annotated[str, Field(max_length=2_048)]
Pem = Annotated[str, Field(max_length=65_536)]
"""Certificates, empty for the CAs of the system."""
Secret = Annotated[str, Field(max_length=16_384, repr=False)]
"""Not in logs, process arguments or environments."""


class MountPoint(Message):
    """A folder that all nodes can access at the same path, usually a network file system."""

    type: Literal["mount_point"] = "mount_point"
    path: Setting
    """Absolute. The agent's setting `backup_roots` limits it."""


class S3(Message):
    """Amazon S3, or a compatible store at `endpoint`."""

    type: Literal["s3"] = "s3"
    bucket_name: Setting
    subdir: Setting = ""
    region_name: Setting = ""
    access_key_id: Setting = ""
    """Empty: the credentials of the node's instance or container are used."""
    secret_access_key: Secret = ""
    session_token: Secret = ""
    endpoint: Setting = ""
    """URL, such as `https://minio.example.com:9000`."""
    path_style: bool = False
    """Whether the bucket is in the path of URLs instead of in the host name."""
    ca_cert: Pem = ""
    sse: Literal["", "AES256", "aws:kms"] = ""
    kms_key_id: Setting = ""
    proxy_url: Setting = ""


class GoogleStorage(Message):
    """Google Cloud Storage; without `private_key`, the credentials of the node's instance are used."""

    type: Literal["gs"] = "gs"
    bucket_name: Setting
    subdir: Setting = ""
    client_id: Setting = ""
    client_email: Setting = ""
    private_key_id: Setting = ""
    private_key: Secret = ""
    endpoint: Setting = ""
    ca_cert: Pem = ""
    proxy_url: Setting = ""


class AzureBlob(Message):
    """Azure Blob Storage, with `account_key` or `sas_token`."""

    type: Literal["abs"] = "abs"
    container: Setting
    subdir: Setting = ""
    account_name: Setting
    account_key: Secret = ""
    sas_token: Secret = ""
    endpoint: Setting = ""
    ca_cert: Pem = ""
    proxy_url: Setting = ""


class Ftp(Message):
    """An FTP or FTPS server."""

    type: Literal["ftp"] = "ftp"
    url: Secret
    """`ftp://user:password@host:port/path` or `ftps://…`."""
    ca_cert: Pem = ""


class Sftp(Message):
    """An SFTP server."""

    type: Literal["sftp"] = "sftp"
    sftp_url: Secret
    """`sftp://user:password@host:port/path`."""
    key: Secret = ""
    """Private key (PEM or OpenSSH format) instead of a password."""
    known_hosts: Pem = ""
    """Accepted host keys in the format of OpenSSH's `known_hosts`."""


class Url(Message):
    """One file to import, at an HTTP or HTTPS URL. Read only."""

    type: Literal["url"] = "url"
    url: Secret
    ca_cert: Pem = ""
    proxy_url: Setting = ""


Location = Annotated[
    MountPoint | S3 | GoogleStorage | AzureBlob | Ftp | Sftp | Url,
    Field(discriminator="type"),
]
SECRET_FIELDS = frozenset({"secret_access_key", "session_token", "private_key", "account_key", "sas_token", "key"})
"""Fields that are never returned. URLs of FTP, SFTP and HTTP are returned without their password."""
