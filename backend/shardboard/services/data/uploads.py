"""Files that users upload for imports. The rows are written before and after the content is sent to the location."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.file_streams import ReceiveFile
from shardboard.domain.data.uploads import FOLDER, UploadStatus
from shardboard.domain.text import plural
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.data import locations
from shardboard.state.cluster import cluster as clusters
from shardboard.state.data import restores, uploads
from shardboard.state.data.locations import BackupLocation
from shardboard.state.data.restores import Restore
from shardboard.state.data.uploads import Upload
from shardboard.state.databases.bdbs import Bdb


async def create(
    session: AsyncSession, bdb: Bdb, name: str, size: int, location_uid: int | None, principal: Principal
) -> Upload:
    """Add an upload, whose content is sent afterwards. Raises NotAcceptable if it is too large or has no location."""
    cluster = await clusters.load_for_update(session)  # concurrent requests must not exceed the limit together
    limit = cluster.rules.max_upload_size
    used = await uploads.total_bytes(session, bdb.uid)
    if used + size > limit:
        others = f", of which other uploads use {plural(used, 'byte')}" if used else ""
        message = (
            f"The file has {plural(size, 'byte')}, but uploads for a database can have {plural(limit, 'byte')} in total{others} "
            "(policy max_upload_size). Delete other uploads, or import the file from a location."
        )
        raise NotAcceptable("upload_too_large", message, field="bytes")
    location = await locations.default_for(session, bdb, location_uid)
    if not isinstance(location, BackupLocation):
        message = "The location of the schedule is not stored. Send location_uid."
        raise NotAcceptable("missing_backup_location", message, field="location_uid")
    now = datetime.now(UTC)
    row = Upload(
        bdb_uid=bdb.uid,
        name=name,
        location_uid=location.uid,
        path=f"{FOLDER}/{uuid.uuid4().hex}/upload.rdb",
        bytes=size,
        status=UploadStatus.WAITING,
        created_at=now,
        active_at=now,
        originator=principal.username,
    )
    session.add(row)
    await session.flush()
    return row


async def get_upload(session: AsyncSession, bdb_uid: int, uid: int) -> Upload:
    row = await uploads.by_uid(session, uid)
    if row is None or row.bdb_uid != bdb_uid or row.status == UploadStatus.DELETING:
        raise NotFound("upload_not_found", f"Database {bdb_uid} has no upload {uid}.")
    return row


async def start(session: AsyncSession, bdb_uid: int, uid: int, size: int | None) -> ReceiveFile:
    """Return the request to receive the content. Raises Conflict, or NotAcceptable if it has another size than announced."""
    await clusters.load_for_update(session)
    row = await get_upload(session, bdb_uid, uid)
    if row.status not in (UploadStatus.WAITING, UploadStatus.FAILED):
        raise Conflict("upload_not_waiting", f"Upload {uid} is {row.status}. Create another upload for another file.")
    if size != row.bytes:
        message = (
            f"The content must have {plural(row.bytes, 'byte')}, the size of the upload, in the header Content-Length."
        )
        raise NotAcceptable("wrong_upload_size", message)
    location = await locations.get_location(session, row.location_uid)
    row.status, row.detail, row.active_at = UploadStatus.RECEIVING, "", datetime.now(UTC)
    return ReceiveFile(location=locations.parse(location.location), path=row.path, bytes=row.bytes)


async def finish(session: AsyncSession, uid: int, *, sha256: str = "", error: str = "") -> Upload | None:
    """Record the end of an upload, unless it was deleted in the meantime."""
    row = await uploads.by_uid(session, uid)
    if row is None or row.status != UploadStatus.RECEIVING:
        return None
    row.status, row.sha256, row.detail = UploadStatus.FAILED if error else UploadStatus.READY, sha256, error
    row.active_at = datetime.now(UTC)
    return row


async def delete(session: AsyncSession, bdb_uid: int, uid: int) -> None:
    """Make the background loop delete an upload and its file. Raises Conflict if it is being imported or uploaded."""
    await clusters.load_for_update(session)
    row = await get_upload(session, bdb_uid, uid)
    if row.status == UploadStatus.RECEIVING:
        raise Conflict("upload_running", f"Upload {uid} is still running. Cancel it first.")
    if await is_used(session, row):
        raise Conflict("upload_in_use", f"Upload {uid} is being inspected or imported. Delete it afterwards.")
    row.status, row.active_at = UploadStatus.DELETING, datetime.now(UTC)


async def is_used(session: AsyncSession, row: Upload) -> bool:
    """Return whether an import or an inspection of the file is running."""
    restore = await restores.by_uid(session, row.restore_uid) if row.restore_uid is not None else None
    return restore is not None and restore.finished_at is None


async def get_ready(session: AsyncSession, bdb_uid: int, uid: object) -> Upload:
    """Return a complete upload for an import. Raises NotFound or NotAcceptable."""
    if not isinstance(uid, int) or isinstance(uid, bool) or not 0 < uid < 2**31:
        message = "An import source of type upload needs upload_uid."
        raise NotAcceptable("invalid_import_source", message, field="dataset_import_sources")
    row = await get_upload(session, bdb_uid, uid)
    if row.status != UploadStatus.READY:
        message = f"The upload of {row.name} is {row.status}. Upload the file completely, then import it."
        raise NotAcceptable("upload_not_ready", message, field="dataset_import_sources")
    return row


async def mark_used(session: AsyncSession, rows: Sequence[Upload], restore: Restore) -> None:
    """Record that an import or an inspection uses these uploads. A running import prevails over an inspection."""
    for row in rows:
        row.active_at = datetime.now(UTC)
        if not restore.is_inspection or not await is_used(session, row):
            row.restore_uid = restore.uid
