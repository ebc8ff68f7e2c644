"""Queueing of verifications: test restores of backups into a temporary database, or comparisons of checksums."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.actions.parameters import Cancellable
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.domain.data.statuses import BackupStatus
from shardboard.errors import Conflict, NotAcceptable
from shardboard.state.alerting import events
from shardboard.state.cluster import actions
from shardboard.state.cluster.actions import Action
from shardboard.state.data import locations
from shardboard.state.data.backups import Backup

OBJECT = "backup"
DEADLINE = timedelta(days=2, hours=1)
"""Longer than that of the restore, which is one of its steps."""


@dataclass(frozen=True, kw_only=True)
class VerificationParameters(Cancellable):
    """The uids are each written by the step that requests the object, in the same transaction."""

    bdb_uid: int | None = None
    """The temporary database."""
    restore_uid: int | None = None
    only_checksums: bool = False
    """Whether the console cannot decrypt the backup, so that only checksums of its files are compared."""


async def queue_verification(session: AsyncSession, backup: Backup, originator: str) -> Action:
    """Queue the verification of a backup. The caller holds the lock of the cluster row.

    Raises NotAcceptable if the backup is not usable, and Conflict if it is being verified.
    """
    if backup.status != BackupStatus.SUCCEEDED:
        message = f"Backup {backup.uid} is {backup.status}. Choose a backup that has succeeded."
        raise NotAcceptable("backup_not_usable", message)
    if await is_running(session, backup.uid):
        raise Conflict("busy", f"Backup {backup.uid} is being verified; try again when the action has finished.")
    only_checksums = bool(backup.recipients) and (await locations.stored_keys(session)).isdisjoint(backup.recipients)
    what = "the checksums of backup" if only_checksums else "backup"
    action = queue.enqueue(
        session,
        ActionName.VERIFY_BACKUP,
        object_type=OBJECT,
        object_uid=backup.uid,
        description=f"Verify {what} {backup.uid} of database {backup.bdb_name}",
        originator=originator,
        deadline=DEADLINE,
        params=VerificationParameters(cancellable=True, only_checksums=only_checksums),
    )
    record(session, backup, action, "backup_verification_started", f"{_subject(backup)} started.")
    return action


async def is_running(session: AsyncSession, backup_uid: int) -> bool:
    """Return whether a backup is being verified."""
    return any(each.status in OPEN_STATUSES for each in await actions.list_for_object(session, OBJECT, backup_uid))


def record_result(session: AsyncSession, backup: Backup, action: Action, *, ok: bool, detail: str) -> None:
    """Record the event about the end of a verification."""
    type_ = "backup_verified" if ok else "backup_verification_failed"
    result = "succeeded" if ok else "failed"
    record(session, backup, action, type_, f"{_subject(backup)} {result}. {detail}", severity="INFO" if ok else "ERROR")


def record(
    session: AsyncSession, backup: Backup, action: Action, type_: str, description: str, severity: str = "INFO"
) -> None:
    details: dict[str, Any] = {"backup_uid": backup.uid, "bdb_name": backup.bdb_name}
    events.record(
        session,
        type_,
        description,
        source="bdb",
        severity=severity,
        originator=action.originator,
        bdb_uid=backup.bdb_uid,
        action_uid=action.uid,
        details=details,
    )


def _subject(backup: Backup) -> str:
    return f"The verification of backup {backup.uid} of database {backup.bdb_name}"
