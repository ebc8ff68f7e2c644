"""Loop that ends uploads of consoles that were killed, and deletes the files of uploads that are no longer needed.

It never gives up: a location that is unavailable now is tried again.
"""

import asyncio
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.data.location_access import LocationAccess
from shardboard.collectors.data.stored_files import delete_file_and_row
from shardboard.domain.data.statuses import SUCCESSES
from shardboard.domain.data.uploads import UploadStatus, next_status
from shardboard.state.data import restores, uploads
from shardboard.state.data.uploads import Upload
from shardboard.state.databases import bdbs
from shardboard.store.db import Store

SWEEP_SECONDS = 5.0


class UploadCleanup:
    """The only part that deletes rows of uploads."""

    def __init__(self, store: Store, access: LocationAccess) -> None:
        self._store = store
        self._access = access

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Do what is possible now."""
        async with self._store.read() as session:
            is_needed = bool(await uploads.list_all(session))
        if not is_needed:
            return
        async with self._store.begin() as session:
            for row in await uploads.list_all(session):
                await _advance(session, row)
            doomed = [row.uid for row in await uploads.list_all(session) if row.status == UploadStatus.DELETING]
        for uid in doomed:
            await delete_file_and_row(self._store, self._access, uploads.by_uid, uid, f"upload {uid}")


async def _advance(session: AsyncSession, row: Upload) -> None:
    restore = await restores.by_uid(session, row.restore_uid) if row.restore_uid is not None else None
    if restore is not None and restore.finished_at is None:
        return
    is_imported = restore is not None and not restore.is_inspection and restore.status in SUCCESSES
    status = next_status(row.status, row.active_at, datetime.now(UTC), is_imported=is_imported)
    if status == UploadStatus.FAILED and status != row.status:
        row.detail = "The upload was interrupted."
    if row.status != UploadStatus.RECEIVING and await bdbs.by_uid(session, row.bdb_uid) is None:
        status = UploadStatus.DELETING
    if status != row.status:
        row.status, row.active_at = status, datetime.now(UTC)
