"""Sources of imports, in the format of the Redis Enterprise REST API, and uploaded files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.locations import Location
from shardboard.errors import NotAcceptable
from shardboard.services.access.authorization import Principal
from shardboard.services.data import backup_keys, uploads
from shardboard.services.data.locations import describe, require_own_credentials, source_of_import
from shardboard.state.data.uploads import Upload
from shardboard.state.databases.bdbs import Bdb

MAX_SOURCES = 512
UPLOAD = "upload"
"""Type of sources that are uploaded files: `{"type": "upload", "upload_uid": …}`."""


@dataclass(frozen=True)
class ImportSource:
    """One file to import: in a location of the request, or an uploaded one."""

    name: str
    """For users, without secrets."""
    path: str
    location: Location | None = None
    upload: Upload | None = None
    identities: Sequence[str] = ()
    """Private keys that decrypt the file."""

    def as_json(self) -> dict[str, Any]:
        """Return an element of `Restore.sources`."""
        return {
            "name": self.name,
            "location_uid": self.upload.location_uid if self.upload is not None else None,
            "location": self.location.model_dump(mode="json") if self.location is not None else None,
            "files": [{"path": self.path, "sha256": self.upload.sha256 if self.upload else None, "slots": ""}],
            "identities": list(self.identities),
        }


async def parse_sources(
    session: AsyncSession, bdb: Bdb, sources: Sequence[Mapping[str, Any]], principal: Principal, identities: str = ""
) -> list[ImportSource]:
    """Return the sources of a request. `identities` are private keys that decrypt encrypted files.

    Raises NotAcceptable, NotFound, or Forbidden.
    """
    if not 0 < len(sources) <= MAX_SOURCES:
        message = f"dataset_import_sources must have between 1 and {MAX_SOURCES} sources."
        raise NotAcceptable("invalid_import_source", message, field="dataset_import_sources")
    keys = backup_keys.parse_identities(identities)
    parsed = []
    for source in sources:
        if source.get("type") == UPLOAD:
            upload = await uploads.get_ready(session, bdb.uid, source.get("upload_uid"))
            parsed.append(ImportSource(f"Uploaded file {upload.name}", upload.path, upload=upload, identities=keys))
            continue
        location, path = source_of_import(source)
        require_own_credentials(location, principal, is_read=True)
        parsed.append(ImportSource(f"{describe(location)} ({path})", path, location=location, identities=keys))
    return parsed
