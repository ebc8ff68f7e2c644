"""Loop that deletes files with recorded changes that no backup needs any longer.

Changes before the oldest backup of a database cannot be restored. It never gives up: a location that is unavailable now is tried
again.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.data.location_access import LocationAccess
from shardboard.contract.change_files import parse_change_file
from shardboard.domain.data import restore_windows
from shardboard.errors import ApiError
from shardboard.state.cluster import cluster as clusters
from shardboard.state.data import backups, locations, recordings, restore_points, transfers
from shardboard.state.data.recordings import Recording
from shardboard.store.db import Store

log = logging.getLogger(__name__)

SWEEP_SECONDS = 60.0
MAX_PATHS = 500
"""Files that one request deletes."""


@dataclass(frozen=True)
class _Deletion:
    """Files of a recording that are deleted."""

    recording_uid: int
    location: dict[str, Any] | None
    """None: it was deleted."""
    folder: str
    until: int | None
    """Files that end at or before this offset are deleted; None: all files, and the recording."""


class ChangeCleanup:
    """The only part that deletes recordings."""

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
            deletions = await _due(session)
        for deletion in deletions:
            try:
                await self._delete_files(deletion)
            except ApiError as reason:  # for example while the location is unavailable; the next poll retries
                log.info("recorded changes in %s are not deleted yet: %s", deletion.folder, reason)
                continue
            await self._finish(deletion)

    async def _delete_files(self, deletion: _Deletion) -> None:
        if deletion.location is None:
            return
        paths = []
        for path in await self._access.list_files(deletion.location, deletion.folder):
            file = parse_change_file(path)
            if deletion.until is None or (file is not None and file.end <= deletion.until):
                paths.append(path)
        for first in range(0, len(paths), MAX_PATHS):
            await self._access.delete(deletion.location, paths[first : first + MAX_PATHS])

    async def _finish(self, deletion: _Deletion) -> None:
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            row = await recordings.by_uid(session, deletion.recording_uid)
            if row is None:
                return
            if deletion.until is None:
                await session.delete(row)
            else:
                row.deleted_until = max(row.deleted_until, deletion.until)


async def _due(session: AsyncSession) -> list[_Deletion]:
    rows = await recordings.list_all(session)
    active = {each.recording_uid for each in await transfers.list_for_recordings(session) if each.is_stored_on_node}
    unfinished = {each.bdb_uid for each in await backups.list_running(session)}
    deletions = []
    for bdb_uid in {row.bdb_uid for row in rows} - unfinished:  # where a running backup starts is not known yet
        points = await restore_points.load(session, bdb_uid)
        for row in rows:
            if row.bdb_uid != bdb_uid:
                continue
            recorded = restore_points.range_of(row)
            needed = restore_windows.first_needed(recorded, points.bases) if recorded is not None else None
            is_unused = needed is None and row.ended_at is not None and row.uid not in active
            if is_unused or (needed is not None and needed > row.first_offset):
                deletions.append(_Deletion(row.uid, await _location_of(session, row), row.folder, needed))
    return deletions


async def _location_of(session: AsyncSession, row: Recording) -> dict[str, Any] | None:
    stored = await locations.by_uid(session, row.location_uid) if row.location_uid is not None else None
    return stored.location if stored is not None else row.location
