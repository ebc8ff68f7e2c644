"""The last backup, export and import of databases, for the fields of the Redis Enterprise REST API."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data.status_fields import LastOperation, status_fields
from shardboard.domain.data.statuses import BackupKind
from shardboard.schemas.timestamps import iso
from shardboard.state.cluster import actions
from shardboard.state.data import backups, restores
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore


async def fields_by_bdb(session: AsyncSession, bdb_uids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the fields of each database: status, progress and failure reason of each kind, and the times of the last successes."""
    newest: dict[str, Mapping[int, Backup | Restore]] = {
        "backup": await backups.newest(session, bdb_uids, BackupKind.BACKUP),
        "export": await backups.newest(session, bdb_uids, BackupKind.EXPORT),
        "import": await restores.newest(session, bdb_uids),
    }
    successes = {kind: await backups.last_successes(session, bdb_uids, kind) for kind in BackupKind}
    found: dict[int, dict[str, Any]] = {}
    for uid in bdb_uids:
        fields: dict[str, Any] = {}
        for kind, rows in newest.items():
            row = rows.get(uid)
            fields |= status_fields(kind, await _operation(session, row) if row is not None else None)
        for kind, times in successes.items():
            if uid in times:
                fields[f"last_{kind}_time"] = iso(times[uid])
        found[uid] = fields
    return found


async def last_backups(session: AsyncSession, bdb_uids: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the status fields of the last backup of each database that has one."""
    newest = await backups.newest(session, bdb_uids, BackupKind.BACKUP)
    return {uid: status_fields("backup", await _operation(session, row)) for uid, row in newest.items()}


async def _operation(session: AsyncSession, row: Backup | Restore) -> LastOperation:
    action = await actions.by_uid(session, row.action_uid) if row.finished_at is None else None
    progress = 100.0 if row.finished_at is not None else action.progress if action is not None else 0.0
    return LastOperation(row.status, row.error_code, progress, row.is_status_reset)
