"""Choice of the backup and the recordings for a restore to a point in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import restore_windows
from shardboard.domain.data.restore_windows import Window
from shardboard.errors import NotAcceptable, NotFound
from shardboard.state.data import recordings, restore_points
from shardboard.state.databases import bdbs


@dataclass(frozen=True)
class Replay:
    """Changes that are made after the files of a backup were restored."""

    backup_uid: int
    until: datetime
    recordings: Sequence[dict[str, Any]]
    """For each file of the backup: its `replication_id` and `offset`; `folder`, `history` and `end_offset` of its recording."""
    recipients: Sequence[str]
    """Public keys for which the files of the recordings are encrypted."""


async def list_windows(session: AsyncSession, bdb_uid: int) -> list[Window]:
    """Return the restore windows of a database, which can be deleted if it has any. Raises NotFound."""
    found = (await restore_points.load(session, bdb_uid)).windows
    if not found and await bdbs.by_uid(session, bdb_uid) is None:
        raise NotFound("db_not_found", f"Database {bdb_uid} does not exist.")
    return found


async def choose(session: AsyncSession, bdb_uid: int, until: datetime) -> Replay:
    """Return the newest backup before a moment whose recordings reach it. Raises NotFound, or NotAcceptable with the nearest
    restorable moments.
    """
    found = await list_windows(session, bdb_uid)
    window = restore_windows.containing(found, until)
    if window is None:
        raise NotAcceptable("no_restore_point", _message(bdb_uid, found, until), field="until")
    points = await restore_points.load(session, bdb_uid)
    base = next(each for each in points.bases if each.backup_uid == window.backup_uid)
    chosen = []
    recipients: list[str] = []
    for file in base.files:
        covering = restore_windows.recording_of(file, points.ranges)
        row = await recordings.by_uid(session, covering.uid) if covering is not None else None
        if row is None:
            raise NotAcceptable("no_restore_point", _message(bdb_uid, found, until), field="until")
        recipients += row.recipients
        chosen.append(
            {
                "folder": row.folder,
                "history": row.history,
                "end_offset": row.end_offset,
                "replication_id": file.position.replication_id,
                "offset": file.position.offset,
            }
        )
    return Replay(window.backup_uid, until, chosen, list(dict.fromkeys(recipients)))


def _message(bdb_uid: int, found: Sequence[Window], until: datetime) -> str:
    if not found:
        return (
            f"No recorded changes of database {bdb_uid} follow one of its backups. Set backup_schedule.record_changes, "
            "or restore a backup."
        )
    nearest = restore_windows.nearest(found, until)
    times = " and ".join(f"{each.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" for each in nearest)
    verb = "time is" if len(nearest) == 1 else "times are"
    return (
        f"Database {bdb_uid} cannot be restored to {until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC. The nearest restorable {verb} "
        f"{times}."
    )
