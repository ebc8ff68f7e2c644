"""Backups and recordings of a database in the form that restore windows are computed from."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import restore_windows
from shardboard.domain.data.change_chains import Position
from shardboard.domain.data.restore_windows import Base, BaseFile, RecordedRange, Window
from shardboard.state.data import backups, recordings
from shardboard.state.data.backups import Backup
from shardboard.state.data.recordings import Recording


@dataclass(frozen=True)
class RestorePoints:
    """Backups and recordings of a database."""

    bases: list[Base]
    ranges: list[RecordedRange]

    @property
    def windows(self) -> list[Window]:
        return restore_windows.windows(self.bases, self.ranges)


async def load(session: AsyncSession, bdb_uid: int) -> RestorePoints:
    """Return the restore points of a database, which can be a deleted one."""
    return RestorePoints(
        [base_of(each) for each in await backups.list_with_positions(session, [bdb_uid])],
        [
            each_range
            for each in await recordings.list_for_bdb(session, bdb_uid)
            if (each_range := range_of(each)) is not None
        ],
    )


def base_of(row: Backup) -> Base:
    """Return a backup with positions. Its files are in the order of its manifest."""
    location = location_key(row.location_uid, row.location)
    files = [
        BaseFile(
            Position(each["replication_id"], each["offset"]), datetime.fromisoformat(each["ended"]), location=location
        )
        for each in row.positions or ()
    ]
    return Base(row.uid, files)


def range_of(row: Recording) -> RecordedRange | None:
    """Return what a recording contains; None if it contains nothing yet."""
    if row.start_offset is None or row.recorded_until is None:
        return None
    history = [(str(identity), int(offset)) for identity, offset in row.history]
    location = location_key(row.location_uid, row.location)
    return RecordedRange(row.uid, history, row.first_offset, row.end_offset, row.recorded_until, location)


def location_key(uid: int | None, inline: Mapping[str, Any] | None) -> str:
    """Return a text that identifies a location."""
    return f"{uid}" if uid is not None else digest(inline or {})


def digest(location: Mapping[str, Any]) -> str:
    """Return a text that changes with a location and its credentials, and does not contain them."""
    return hashlib.sha256(json.dumps(location, sort_keys=True).encode()).hexdigest()
