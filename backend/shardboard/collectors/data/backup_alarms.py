"""Reads what the alarms about backups need."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.alerting import alert_settings, backup_alarms
from shardboard.domain.alerting.alarms import Alarm
from shardboard.domain.alerting.backup_alarms import FinishedBackup, MonitoredSchedule
from shardboard.domain.alerting.recording_alarms import RecordedPair, recording_alarm
from shardboard.domain.data.statuses import BackupStatus
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.state.data import backup_schedules, backups, recordings
from shardboard.state.data.recordings import Recording
from shardboard.state.databases.bdbs import Bdb

RECENT_BACKUPS = 20
"""Number of newest backups of a database that are compared."""


async def read_backup_alarms(session: AsyncSession, databases: Sequence[Bdb], now: datetime) -> list[Alarm]:
    """Return the current alarms about backups of these databases."""
    finished = await backups.list_finished(session, RECENT_BACKUPS)
    rows = {row.bdb_uid: row for row in await backup_schedules.list_all(session)}
    alarms: list[Alarm] = []
    for bdb in databases:
        if bdb.status not in IN_SERVICE or not (bdb.uid in finished or bdb.uid in rows):
            continue
        schedule, row = backup_rules.policy_of(bdb.config).schedule, rows.get(bdb.uid)
        monitored = MonitoredSchedule(schedule, row.since) if schedule is not None and row is not None else None
        alarms += backup_alarms.database_alarms(
            bdb.uid,
            bdb.name,
            alert_settings.settings_for_bdb(bdb.alert_settings),
            monitored,
            [_finished_backup(each) for each in finished.get(bdb.uid, ())],
            now,
        )
        alarms += await _recording_alarms(session, bdb, now)
    return alarms


async def _recording_alarms(session: AsyncSession, bdb: Bdb, now: datetime) -> list[Alarm]:
    seconds = backup_rules.policy_of(bdb.config).segment_seconds
    if seconds is None:
        return []
    newest = {row.pair: row for row in await recordings.list_for_bdb(session, bdb.uid) if _is_current(row, bdb)}
    pairs = [RecordedPair(each.recorded_until or each.created_at, each.detail) for each in newest.values()]
    alarm = recording_alarm(bdb.uid, bdb.name, seconds, pairs, now)
    return [alarm] if alarm is not None else []


def _is_current(row: Recording, bdb: Bdb) -> bool:
    """Return whether a recording belongs to one of the present pairs of a database, and not to a deleted one with its uid."""
    return row.pair < bdb.shards_count and row.created_at >= bdb.created_at


def _finished_backup(row: backups.FinishedBackup) -> FinishedBackup:
    verified = row.verified
    return FinishedBackup(
        uid=row.uid,
        created_at=row.created_at,
        succeeded=row.status == BackupStatus.SUCCEEDED,
        detail=row.detail,
        error_code=row.error_code,
        location_name=row.location_name,
        raw_bytes=row.raw_bytes,
        restorable=verified["ok"] if verified else None,
        verification=verified["detail"] if verified else "",
    )
