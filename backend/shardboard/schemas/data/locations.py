"""Models of storage locations of backups."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol, get_args
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field

from shardboard.contract.locations import SECRET_FIELDS, Location
from shardboard.kit.age_keys import MAX_KEYS, recipient_of
from shardboard.schemas.data.requests import DataRequest, OptionalUid
from shardboard.schemas.timestamps import iso

TYPES = tuple(each.model_fields["type"].default for each in get_args(get_args(Location)[0]))
URL_FIELDS = ("url", "sftp_url", "proxy_url", "endpoint")
"""Fields whose passwords are never returned."""
NAME = Field(min_length=1, max_length=120, description="Unique name, 1-120 characters.")


PublicKey = Annotated[str, Field(max_length=128)]
PrivateKeys = Annotated[str, Field(max_length=16_384, repr=False)]
RECIPIENTS = "Public keys in the age format (`age1…`). Backups are encrypted for all of them; empty: not encrypted."


class NewLocation(DataRequest):
    """A location that databases can use for their backups."""

    name: str = NAME
    location: Location
    recipients: list[PublicKey] = Field(default=[], max_length=MAX_KEYS, description=RECIPIENTS)
    identities: PrivateKeys = Field(
        default="",
        description="Private keys (`AGE-SECRET-KEY-1…`), one per line, for restores and verifications. Never returned.",
    )


class LocationUpdate(DataRequest):
    """Omitted fields keep their values. Secrets that `location` does not contain keep their values if its type is the same."""

    name: str | None = Field(default=None, min_length=1, max_length=120)
    location: Location | None = None
    recipients: list[PublicKey] | None = Field(
        default=None, max_length=MAX_KEYS, description=f"{RECIPIENTS} Existing backups are not changed."
    )
    identities: PrivateKeys = Field(default="", description="Private keys, one per line, that are added.")
    delete_identities: list[PublicKey] = Field(
        default=[], max_length=MAX_KEYS, description="Public keys whose stored private keys are deleted."
    )


class LocationTest(DataRequest):
    """A location that is not stored."""

    location: Location
    node_uid: OptionalUid = Field(description="Node that tests the location; missing: any connected node.")


class NewBackupKey(BaseModel):
    """A key pair in the age format."""

    recipient: str = Field(description="Public key.")
    identity: str = Field(description="Private key. It is not stored: save it in a safe place.")


class LocationSettings(BaseModel):
    """Fields of the location, without secrets. Users who are not administrators see only the type."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(json_schema_extra={"enum": list(TYPES)})


class BackupLocation(BaseModel):
    """A named storage location."""

    uid: int
    name: str
    location: LocationSettings
    created_at: str
    is_encrypted: bool = Field(description="Whether new backups are encrypted.")
    recipients: list[str] = Field(
        description="Public keys for which new backups are encrypted. Only for administrators."
    )
    stored_keys: list[str] = Field(description="Public keys whose private keys are stored. Only for administrators.")
    used_by: list[int] = Field(description="Uids of the databases whose scheduled backups use it.")


class LocationCheck(BaseModel):
    name: str = Field(description="`write`, `read`, `list`, or `delete`.")
    ok: bool
    error: str = Field(description="Why it failed; otherwise empty.")
    error_code: str = ""


class LocationChecks(BaseModel):
    """Results of a test of a location, in order. The test ends at the first failure."""

    node_uid: int = Field(description="Node that tested the location.")
    checks: list[LocationCheck]


class InvalidBackup(BaseModel):
    path: str
    error: str


class FoundBackups(BaseModel):
    """Result of a search for backups."""

    added: list[int] = Field(description="Uids of the backups that were added.")
    invalid: list[InvalidBackup] = Field(description="Folders whose manifest cannot be used, with the reason.")
    has_more: bool = Field(description="Whether another request would return more.")


class LocationRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def location(self) -> Mapping[str, Any]: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def recipients(self) -> Sequence[str]: ...
    @property
    def identities(self) -> Sequence[str] | None: ...


def render(row: LocationRow, used_by: Sequence[int], *, settings: bool) -> dict[str, Any]:
    """Render a location. `settings` includes its fields except secrets."""
    return {
        "uid": row.uid,
        "name": row.name,
        "location": without_secrets(row.location) if settings else {"type": row.location["type"]},
        "created_at": iso(row.created_at),
        "is_encrypted": bool(row.recipients),
        "recipients": list(row.recipients) if settings else [],
        "stored_keys": [recipient_of(each) for each in row.identities or ()] if settings else [],
        "used_by": list(used_by),
    }


def without_secrets(location: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a location that have a value and are not secret; URLs have no password."""
    shown = {name: value for name, value in location.items() if value not in ("", None) and name not in SECRET_FIELDS}
    return shown | {name: without_password(shown[name]) for name in URL_FIELDS if name in shown}


def secrets_in(location: Mapping[str, Any]) -> set[str]:
    """Return the secrets of a location."""
    fields = {str(location[name]) for name in SECRET_FIELDS & location.keys() if location[name]}
    return fields | {password for name in URL_FIELDS if (password := _password(str(location.get(name, ""))))}


def _password(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return url


def without_password(url: str) -> str:
    """Return a URL without its password, and without its query, which can contain a signature."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    _, _, host = parts.netloc.rpartition("@")
    user = (parts.username or "") + "@" if parts.username else ""
    return urlunsplit(parts._replace(netloc=user + host, query="", fragment=""))
