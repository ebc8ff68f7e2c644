"""Requests about backups of the console in storage locations. The leading console executes them."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.file_streams import SendFile
from shardboard.domain.cluster.console_backups import UNFINISHED, ConsoleBackupStatus, schedule_error
from shardboard.domain.data import schedules
from shardboard.domain.data.schedules import CronSchedule
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.data.locations import get_location, parse
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_backups
from shardboard.state.cluster.console_backups import ConsoleBackup, ConsoleBackupSchedule
from shardboard.state.data import locations


async def request(session: AsyncSession, location_uid: int | None, principal: Principal) -> ConsoleBackup:
    """Add a backup, which starts within seconds. Raises NotFound, NotAcceptable, or Conflict if another one is unfinished."""
    await clusters.load_for_update(session)  # concurrent requests must not start several
    for row in await console_backups.list_all(session):
        if row.status in UNFINISHED:
            raise Conflict(
                "console_backup_running", f"Backup {row.uid} of the console is {row.status}. Wait until it has ended."
            )
    uid = location_uid if location_uid is not None else await default_location(session)
    await get_location(session, uid)
    row = console_backups.new(uid, datetime.now(UTC), principal.username, is_scheduled=False)
    session.add(row)
    await session.flush()
    return row


async def default_location(session: AsyncSession) -> int:
    """Return the location of the schedule, or the only one."""
    schedule = await console_backups.load_schedule(session)
    if schedule is not None:
        return schedule.location_uid
    rows = await locations.list_all(session)
    if len(rows) != 1:
        hint = (
            "Several backup locations exist. Send location_uid."
            if rows
            else "No backup location exists. Create one first."
        )
        raise NotAcceptable("missing_backup_location", hint, field="location_uid")
    return rows[0].uid


async def set_schedule(
    session: AsyncSession, location_uid: int, cron: str, time_zone: str, keep: int, principal: Principal
) -> ConsoleBackupSchedule:
    """Schedule backups. Raises NotFound or NotAcceptable."""
    await clusters.load_for_update(session)
    location = await get_location(session, location_uid)
    cron = " ".join(cron.split())
    if error := schedule_error(cron, time_zone):
        field = error.partition(" ")[0]
        raise NotAcceptable("invalid_backup_schedule", error, field=field)
    row = await console_backups.load_schedule(session)
    if row is None:
        row = ConsoleBackupSchedule(uid=1)
        session.add(row)
    if (row.cron, row.time_zone) != (cron, time_zone):
        row.cron, row.time_zone = cron, time_zone
        row.handled_until = datetime.now(UTC)
        row.next_at = schedules.next_due(CronSchedule(cron, time_zone), row.handled_until)
    row.location_uid, row.keep = location.uid, keep
    message = (
        f"Backups of the console to {location.name} were scheduled: {cron} ({time_zone}), the newest {keep} are kept."
    )
    events.record(session, "console_backup_scheduled", message, originator=principal.username)
    return row


async def remove_schedule(session: AsyncSession, principal: Principal) -> None:
    """End the schedule. Its backups are kept. Raises NotFound."""
    await session.delete(await get_schedule(session))
    await events.end_console_backup_alarm(session)
    events.record(
        session,
        "console_backup_unscheduled",
        "Backups of the console are no longer scheduled.",
        originator=principal.username,
    )


async def get_schedule(session: AsyncSession) -> ConsoleBackupSchedule:
    """Raises NotFound."""
    row = await console_backups.load_schedule(session)
    if row is None:
        raise NotFound("no_console_backup_schedule", "Backups of the console are not scheduled.")
    return row


async def get(session: AsyncSession, uid: int) -> ConsoleBackup:
    """Raises NotFound."""
    row = await console_backups.by_uid(session, uid)
    if row is None or row.status == ConsoleBackupStatus.DELETING:
        raise NotFound("console_backup_not_found", f"Backup {uid} of the console does not exist.")
    return row


async def request_verification(session: AsyncSession, uid: int) -> ConsoleBackup:
    """Make the loop verify a backup. Raises NotFound, or Conflict if it is not complete or is being verified."""
    row = await _get_complete(session, uid)
    if row.is_verifying:
        raise Conflict("busy", f"Backup {uid} of the console is being verified. Wait for its end.")
    row.is_verifying = True
    return row


async def download(session: AsyncSession, uid: int) -> SendFile:
    """Return the request for the file of a backup. Raises NotFound, or Conflict if it is not complete."""
    row = await _get_complete(session, uid)
    location = await get_location(session, row.location_uid)
    return SendFile(location=parse(location.location), path=row.path, bytes=row.bytes or 0, sha256=row.sha256)


async def record_download(session: AsyncSession, uid: int, principal: Principal) -> None:
    row = await get(session, uid)
    message = f"Backup {uid} of the console was downloaded."
    details = {"backup": uid, "path": row.path}
    events.record(session, "console_backup_downloaded", message, originator=principal.username, details=details)


async def _get_complete(session: AsyncSession, uid: int) -> ConsoleBackup:
    row = await get(session, uid)
    if row.status != ConsoleBackupStatus.SUCCEEDED:
        message = f"Backup {uid} of the console is {row.status}. Choose a backup that has succeeded."
        raise Conflict("backup_not_usable", message)
    return row


async def delete(session: AsyncSession, uid: int, principal: Principal) -> None:
    """Make the loop delete a backup and its file. Raises NotFound, or Conflict while it is unfinished."""
    row = await get(session, uid)
    if row.status in UNFINISHED:
        raise Conflict(
            "console_backup_running", f"Backup {uid} of the console is {row.status}. Wait until it has ended."
        )
    row.status = ConsoleBackupStatus.DELETING
    message = f"Backup {uid} of the console was deleted."
    events.record(session, "console_backup_deleted", message, originator=principal.username, details={"path": row.path})
