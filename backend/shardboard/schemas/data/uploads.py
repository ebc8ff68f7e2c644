"""Models of files that are uploaded for imports."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.data.uploads import LIFETIME, UploadStatus
from shardboard.schemas.data.requests import DataRequest, OptionalUid
from shardboard.schemas.timestamps import iso


class NewUpload(DataRequest):
    name: str = Field(min_length=1, max_length=255, description="Name of the file.")
    bytes: int = Field(ge=1, le=2**50, description="Size of the file.")
    location_uid: OptionalUid = Field(
        description="Location in which the file is stored until it is imported. Default: the location of the database's "
        "schedule, or the only location."
    )


class Upload(BaseModel):
    """A file for imports into a database."""

    uid: int
    bdb_uid: int
    name: str
    location_uid: int
    bytes: int
    sha256: str = Field(description="Of the complete file; empty until it is complete.")
    status: str = Field(json_schema_extra={"enum": list(UploadStatus)})
    detail: str = Field(description="Why it failed; otherwise empty.")
    created_at: str
    expires_at: str | None = Field(description="When it is deleted if it is not used; null while it is not complete.")
    originator: str


class UploadRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def bdb_uid(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def location_uid(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def active_at(self) -> datetime: ...
    @property
    def originator(self) -> str: ...


def render(row: UploadRow) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "bdb_uid": row.bdb_uid,
        "name": row.name,
        "location_uid": row.location_uid,
        "bytes": row.bytes,
        "sha256": row.sha256,
        "status": row.status,
        "detail": row.detail,
        "created_at": iso(row.created_at),
        "expires_at": iso(row.active_at + LIFETIME) if row.status == UploadStatus.READY else None,
        "originator": row.originator,
    }
