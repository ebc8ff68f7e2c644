"""Requests the verification of new scheduled backups of databases with `verify` in their schedule, one at a time."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import verifications
from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName
from shardboard.domain.data.statuses import BackupKind, BackupStatus, BackupTrigger
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.cluster import actions
from shardboard.state.data import backups
from shardboard.state.data.backups import Backup
from shardboard.state.databases import bdbs


class ScheduledVerificationLoop(PollingLoop):
    """Only the newest backup of a database is verified. A canceled verification is not repeated."""

    changes = frozenset({"backup", "action", "bdb"})

    async def is_due(self, session: AsyncSession) -> bool:
        return await _next_backup(session) is not None

    async def act(self, session: AsyncSession) -> None:
        if (backup := await _next_backup(session)) is not None:
            await verifications.queue_verification(session, backup, "system")


async def _next_backup(session: AsyncSession) -> Backup | None:
    verified = [
        bdb.uid
        for bdb in await bdbs.list_all(session)
        if (policy := backup_rules.policy_of(bdb.config)).verify and policy.schedule and bdb.status in IN_SERVICE
    ]
    if not verified:
        return None
    requested = await actions.list_for_object(session, verifications.OBJECT)
    if any(each.current_name == ActionName.VERIFY_BACKUP and each.status in OPEN_STATUSES for each in requested):
        return None
    newest = await backups.newest(session, verified, BackupKind.BACKUP)
    for backup in sorted(newest.values(), key=lambda each: each.created_at):
        is_new = backup.status == BackupStatus.SUCCEEDED and backup.verified is None
        if (
            is_new
            and backup.trigger == BackupTrigger.SCHEDULE
            and not any(each.object_uid == backup.uid for each in requested)
        ):
            return backup
    return None
