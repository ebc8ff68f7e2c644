"""Files of a backup that a user downloads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.file_streams import SendFile
from shardboard.contract.locations import Location
from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.manifest import ManifestFile
from shardboard.domain.data.statuses import BackupStatus
from shardboard.errors import Conflict, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.data.backups import get_backup
from shardboard.services.data.locations import parse
from shardboard.state.alerting import events
from shardboard.state.data import backups, locations, manifest_text
from shardboard.state.data.backups import Backup


@dataclass(frozen=True)
class Download:
    """A complete backup."""

    uid: int
    location: Location
    folder: str
    files: Sequence[ManifestFile]
    manifest: bytes
    """Content of `manifest.json`."""
    created_at: datetime

    @property
    def name(self) -> str:
        """Name of its folder in an archive."""
        return f"{self.folder.replace('/', '-')}"

    def request(self, file: ManifestFile) -> SendFile:
        return SendFile(location=self.location, path=f"{self.folder}/{file.name}", bytes=file.bytes, sha256=file.sha256)

    def find(self, name: str) -> ManifestFile:
        """Return the file with a name. Raises NotFound."""
        for file in self.files:
            if file.name == name:
                return file
        raise NotFound("file_not_found", f"Backup {self.uid} has no file {name}.")


async def load(session: AsyncSession, uid: int) -> Download:
    """Return the files of a backup. Raises NotFound, or Conflict if it is not complete."""
    row = await get_backup(session, uid)
    stored = await backups.manifest(session, uid)
    location = await _location_of(session, row)
    if row.status != BackupStatus.SUCCEEDED or stored is None or location is None:
        message = f"Backup {uid} is {row.status}. Choose a backup that has succeeded."
        raise Conflict("backup_not_usable", message)
    manifest = manifests.parse(stored)
    content = manifest_text.text(manifest).encode()
    return Download(uid, location, row.path, manifest.files, content, row.created_at)


async def record(session: AsyncSession, uid: int, name: str, principal: Principal) -> None:
    """Record the download of a file or of all files."""
    row = await get_backup(session, uid)
    events.record(
        session,
        "backup_downloaded",
        f"{name} of backup {uid} of database {row.bdb_name} was downloaded.",
        source="bdb",
        originator=principal.username,
        bdb_uid=row.bdb_uid,
        details={"backup_uid": uid, "bdb_name": row.bdb_name},
    )


async def _location_of(session: AsyncSession, row: Backup) -> Location | None:
    settings = row.location
    if row.location_uid is not None:
        stored = await locations.by_uid(session, row.location_uid)
        settings = stored.location if stored is not None else None
    return parse(settings) if settings is not None else None
