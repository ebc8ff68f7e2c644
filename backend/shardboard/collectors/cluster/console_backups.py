"""Loop that backs up the console to storage locations, on schedule and on request.

The leading console copies the store, and sends the file through a node that reaches the location. A backup of a console that was
killed or has lost the lead is recorded as failed; its file never becomes visible.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.data.location_access import LocationAccess
from shardboard.collectors.data.location_files import LocationFiles
from shardboard.collectors.data.stored_files import delete_file_and_row
from shardboard.contract.file_streams import ReceiveFile, SendFile
from shardboard.domain.cluster.console_backups import WINDOW, ConsoleBackupStatus, outdated, path_of
from shardboard.domain.data import schedules
from shardboard.domain.data.schedules import CronSchedule
from shardboard.errors import AgentError, ApiError
from shardboard.kit.work_directory import work_directory
from shardboard.services.cluster import console_backup_file
from shardboard.services.cluster import console_backups as service
from shardboard.services.cluster.console_backup_file import Encryption, Verification
from shardboard.services.data import locations as location_service
from shardboard.state.alerting import events
from shardboard.state.cluster import console_backups
from shardboard.state.cluster.console_backups import ConsoleBackup
from shardboard.state.data import locations
from shardboard.state.data.locations import BackupLocation
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.store_copy import CopyError
from shardboard.store.transient_errors import describe_error

SWEEP_SECONDS = 5.0
WORK = ".console-backup-"
READ_BYTES = 2**18
_STOPPED = "The console was stopped during the backup."


class ConsoleBackups:
    """The only part that changes rows of backups after their creation."""

    def __init__(
        self,
        store: Store,
        access: LocationAccess,
        files: LocationFiles,
        directory: Path,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`directory` is the state directory of the console, for temporary files."""
        self._store = store
        self._access = access
        self._files = files
        self._directory = directory
        self._clock = clock

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Do what is due now."""
        async with self._store.read() as session:
            rows = await console_backups.list_all(session)
            schedule = await console_backups.load_schedule(session)
        is_idle = not any(row.is_verifying for row in rows) and all(
            row.status in (ConsoleBackupStatus.SUCCEEDED, ConsoleBackupStatus.FAILED) for row in rows
        )
        if is_idle and (schedule is None or (schedule.next_at is not None and self._clock() < schedule.next_at)):
            return
        async with self._store.begin() as session:
            await self._end_abandoned(session)
            await self._start_scheduled(session)
            rows = await console_backups.list_all(session)
        for row in reversed(rows):
            if row.status == ConsoleBackupStatus.WAITING:
                await self._back_up(row.uid)
            elif row.status == ConsoleBackupStatus.DELETING:
                description = f"backup {row.uid} of the console"
                await delete_file_and_row(self._store, self._access, console_backups.by_uid, row.uid, description)
            elif row.is_verifying:
                await self._verify(row.uid)

    async def _end_abandoned(self, session: AsyncSession) -> None:
        """Only this loop starts backups, one after another, so no backup runs now."""
        for row in await console_backups.list_all(session):
            if row.status == ConsoleBackupStatus.RUNNING:
                await self._finish(session, row, _STOPPED)

    async def _start_scheduled(self, session: AsyncSession) -> None:
        schedule = await console_backups.load_schedule(session)
        if schedule is None:
            return
        now = self._clock()
        cron = CronSchedule(schedule.cron, schedule.time_zone)
        decision = schedules.decide(cron, handled=schedule.handled_until, now=now, window=WINDOW)
        schedule.handled_until, schedule.next_at = decision.handled, decision.next
        if decision.start is not None:
            schedule.handled_until = decision.start
            session.add(console_backups.new(schedule.location_uid, now, "system", is_scheduled=True))

    async def _back_up(self, uid: int) -> None:
        async with self._store.begin() as session:
            row = await console_backups.by_uid(session, uid)
            if row is None or row.status != ConsoleBackupStatus.WAITING:
                return
            location = await locations.by_uid(session, row.location_uid)
            row.status, row.path = ConsoleBackupStatus.RUNNING, path_of(row.created_at, row.uid)
            path = row.path
        error, result = "The location was deleted.", dict[str, Any]()
        if location is not None:
            try:
                result = await self._write(location, path)
                error = ""
            except ApiError as failure:
                error = failure.description
            except (CopyError, OSError) as failure:
                error = f"The store could not be copied: {failure}"
            except STORE_ERRORS as failure:
                error = f"The store could not be copied: {describe_error(failure)}."
        async with self._store.begin() as session:
            row = await console_backups.by_uid(session, uid)
            if row is None:
                return
            row.bytes, row.sha256 = result.get("bytes"), str(result.get("sha256", ""))
            row.has_store_key = bool(location is not None and location.recipients)
            await self._finish(session, row, error)
            await _mark_outdated(session)

    async def _write(self, location: BackupLocation, path: str) -> dict[str, Any]:
        """Write a backup to a location. Return `{"bytes", "sha256"}`."""
        keys = self._store.keys
        if keys is None:
            raise CopyError("The store has no key.")
        encryption = Encryption(recipients=location.recipients)
        with work_directory(self._directory, WORK) as work:
            file = work / "backup.age"
            await console_backup_file.create(self._store, keys, file, work, encryption, lambda *_: None)
            size = (await asyncio.to_thread(file.stat)).st_size
            request = ReceiveFile(location=location_service.parse(location.location), path=path, bytes=size)
            return await self._files.receive(request, _content(file))

    async def _verify(self, uid: int) -> None:
        """Verify a backup. A console that is killed leaves the request to its successor."""
        try:
            async with self._store.read() as session:
                request = await service.download(session, uid)
                identities = await locations.all_identities(session)
            result = await self._check(request, identities)
        except ApiError as failure:
            result = Verification(ok=False, detail=failure.description)
        except AgentError as failure:
            result = Verification(ok=False, detail=f"The file could not be read: {failure.reason}.")
        except OSError as failure:
            result = Verification(ok=False, detail=f"The file could not be stored for the check: {failure}.")
        async with self._store.begin() as session:
            row = await console_backups.by_uid(session, uid)
            if row is None:
                return
            row.is_verifying, row.verified = False, {"at": f"{self._clock():%Y-%m-%dT%H:%M:%SZ}", **asdict(result)}
            type_ = "console_backup_verified" if result.ok else "console_backup_verification_failed"
            outcome = "was verified" if result.ok else "could not be verified"
            message = f"Backup {uid} of the console {outcome}. {result.detail}"
            details = {"backup": uid, "path": row.path}
            events.record(session, type_, message, severity="INFO" if result.ok else "ERROR", details=details)

    async def _check(self, request: SendFile, identities: Sequence[str]) -> Verification:
        """Copy the file to a work directory, and check it there."""
        keys = self._store.keys
        if keys is None:
            return Verification(ok=False, detail="The store has no key.")
        with work_directory(self._directory, WORK) as work:
            file, content = work / "backup.age", work / "content"
            content.mkdir()
            await _store(await self._files.open(request), file)
            known = [*keys.identities, *identities]
            return await asyncio.to_thread(console_backup_file.verify, file, content, known, keys)

    async def _finish(self, session: AsyncSession, row: ConsoleBackup, error: str) -> None:
        row.status = ConsoleBackupStatus.FAILED if error else ConsoleBackupStatus.SUCCEEDED
        row.detail, row.finished_at = error, self._clock()
        details = {"backup": row.uid, "path": row.path}
        if error:
            message = f"The backup of the console failed. {error}"
            events.record(session, "console_backup_failed", message, severity="ERROR", details=details)
            await events.raise_console_backup_alarm(session, message)
        else:
            message = f"The console was backed up to {row.path}."
            events.record(session, console_backup_file.BACKED_UP, message, originator=row.originator, details=details)
            await events.end_console_backup_alarm(session)


async def _mark_outdated(session: AsyncSession) -> None:
    schedule = await console_backups.load_schedule(session)
    if schedule is None:
        return
    rows = {row.uid: row for row in await console_backups.list_all(session) if row.is_scheduled}
    for uid in outdated(((row.uid, row.status) for row in rows.values()), schedule.keep):
        rows[uid].status = ConsoleBackupStatus.DELETING


async def _store(parts: AsyncGenerator[bytes], file: Path) -> None:
    target = await asyncio.to_thread(file.open, "wb")
    try:
        async with aclosing(parts):
            async for part in parts:
                await asyncio.to_thread(target.write, part)
    finally:
        target.close()


async def _content(file: Path) -> AsyncIterator[bytes]:
    source = await asyncio.to_thread(file.open, "rb")
    try:
        while part := await asyncio.to_thread(source.read, READ_BYTES):
            yield part
    finally:
        source.close()
