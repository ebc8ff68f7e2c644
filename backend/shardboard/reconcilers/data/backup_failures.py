"""The files of a backup that failed: complete ones are kept if it can be resumed. A scheduled backup is retried."""

from datetime import datetime

from shardboard.domain.data import backup_retries, folder_names, schedules
from shardboard.domain.data.statuses import BackupKind, BackupTrigger, TransferStatus
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.reconcilers.data.backup_context import BackupContext
from shardboard.state.data import transfers


def prepare_retry(context: BackupContext, now: datetime) -> None:
    """Decide until when a failed backup can be resumed, and when it is retried. Its other files are deleted."""
    row, bdb = context.row, context.bdb
    exists = bdb is not None and bdb.status != BdbStatus.DELETE_PENDING and context.location is not None
    if not exists or row.kind != BackupKind.BACKUP:
        delete_files(context)
        return
    if any(each.status == TransferStatus.SUCCEEDED for each in context.snapshots):
        row.resumable_until = now + backup_retries.RESUMABLE
    else:
        delete_files(context)
    policy = backup_rules.policy_of(bdb.config) if bdb is not None else None
    if row.trigger == BackupTrigger.SCHEDULE and policy is not None and policy.schedule is not None:
        row.retry_at = backup_retries.retry_time(now, row.runs, schedules.next_due(policy.schedule, now))


def delete_files(context: BackupContext) -> None:
    """Delete the files of a backup without success in the background. It can no longer be resumed."""
    row = context.row
    paths = dict.fromkeys(each.path for each in context.transfers if each.path)
    manifest = f"{row.path}/{folder_names.MANIFEST}"
    row.files_to_delete = [manifest, *(path for path in paths if path != manifest)] if paths else []
    row.resumable_until = None
    transfers.clear_results(context.transfers)
