"""Starts scheduled backups, and reports those that could not be started in time.

A due time is handled in the transaction that starts its backup or reports it as skipped. A console that is killed in between
handles it at its next start, as long as its window is open. A backup that failed is retried a few times before the next due time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import schedules
from shardboard.domain.data.schedules import Decision, Schedule, Skipped
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.backup_rules import BackupPolicy
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.text import plural
from shardboard.errors import ApiError
from shardboard.kit.bus import Bus
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.alerting import events
from shardboard.state.data import backup_schedules, backups
from shardboard.state.data.backup_schedules import BackupSchedule
from shardboard.state.data.backups import Backup
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store


@dataclass(frozen=True)
class _Change:
    """Pending work for the schedule of one database."""

    bdb: Bdb | None
    """None: the row belongs to no schedule, and is deleted."""
    row: BackupSchedule | None
    """None: the schedule is new."""
    policy: BackupPolicy | None = None
    decision: Decision | None = None
    """None: the schedule starts now."""


class BackupScheduleLoop(PollingLoop):
    """One backup at a time per database: a backup that is due while the database is busy starts later, within its window."""

    changes = frozenset({"bdb", "action"})

    def __init__(
        self, store: Store, bus: Bus, requests: DataRequests, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__(store, bus)
        self._requests = requests
        self._clock = clock

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await self._pending(session) or await self._due_retries(session))

    async def act(self, session: AsyncSession) -> None:
        for change in await self._pending(session):
            await self._apply(session, change)
        for backup in await self._due_retries(session):
            await self._retry(session, backup)

    async def _pending(self, session: AsyncSession) -> list[_Change]:
        now = self._clock()
        rows = {row.bdb_uid: row for row in await backup_schedules.list_all(session)}
        changes = []
        for bdb in await bdbs.list_all(session):
            policy = backup_rules.policy_of(bdb.config)
            if policy.schedule is None or bdb.status not in IN_SERVICE:
                continue
            row = rows.pop(bdb.uid, None)
            if row is None or row.schedule != str(policy.schedule):
                changes.append(_Change(bdb, row, policy))
                continue
            if row.handled_until <= now and row.next_at is not None and now < row.next_at and not row.waiting_for:
                continue
            decision = schedules.decide(policy.schedule, handled=row.handled_until, now=now, window=policy.window)
            if decision.start or (decision.handled, decision.next) != (row.handled_until, row.next_at):
                changes.append(_Change(bdb, row, policy, decision))
        return [*changes, *(_Change(None, row) for row in rows.values())]

    async def _apply(self, session: AsyncSession, change: _Change) -> None:
        bdb, row, policy, decision = change.bdb, change.row, change.policy, change.decision
        if bdb is None or policy is None or policy.schedule is None:
            await session.delete(row)
        elif row is None or decision is None:
            await session.merge(_started_schedule(bdb.uid, policy.schedule, self._clock()))
        else:
            if decision.skipped is not None:
                _record_skipped(session, bdb, decision.skipped, policy, row.waiting_for)
                row.waiting_for = ""
            row.handled_until, row.next_at = decision.handled, decision.next
            row.since = min(row.since, decision.handled)  # only earlier if the clock was set back
            if decision.start is not None:
                await self._start(session, bdb, row, decision.start)

    async def _due_retries(self, session: AsyncSession) -> list[Backup]:
        now = self._clock()
        return [
            each for each in await backups.list_failed(session) if each.retry_at is not None and each.retry_at <= now
        ]

    async def _retry(self, session: AsyncSession, backup: Backup) -> None:
        bdb = await bdbs.by_uid(session, backup.bdb_uid)
        row = await backup_schedules.by_bdb(session, backup.bdb_uid)
        if bdb is None or row is None:  # the schedule was removed
            backup.retry_at = None
            return
        try:
            await self._requests.retry_backup(session, bdb, backup)
        except ApiError as reason:
            row.waiting_for = reason.description
        else:
            row.waiting_for = ""

    async def _start(self, session: AsyncSession, bdb: Bdb, row: BackupSchedule, due: datetime) -> None:
        try:
            await self._requests.start_backup(session, bdb)
        except ApiError as reason:
            if row.waiting_for != reason.description:
                row.waiting_for = reason.description
        else:
            row.handled_until, row.waiting_for = due, ""


def _started_schedule(bdb_uid: int, schedule: Schedule, now: datetime) -> BackupSchedule:
    return BackupSchedule(
        bdb_uid=bdb_uid,
        schedule=str(schedule),
        since=now,
        handled_until=now,
        next_at=schedules.next_due(schedule, now),
        waiting_for="",
    )


def _record_skipped(session: AsyncSession, bdb: Bdb, skipped: Skipped, policy: BackupPolicy, reason: str) -> None:
    first, last = (f"{each:%Y-%m-%d %H:%M} UTC" for each in (skipped.first, skipped.last))
    count = f"{skipped.count:,}" if skipped.count < schedules.MAX_SKIPPED else f"{skipped.count:,} or more"
    subject = (
        f"The backup of {bdb.name} that was due at {first} was"
        if skipped.count == 1
        else f"{count} backups of {bdb.name} that were due from {first} to {last} were"
    )
    window = plural(int(policy.window.total_seconds() // 60), "minute")
    cause = reason or "No console was running, or a later backup was due."
    events.record(
        session,
        "backup_skipped",
        f"{subject} skipped, because no backup could be started within {window}. {cause}",
        source="bdb",
        severity="WARNING",
        bdb_uid=bdb.uid,
        details={
            "bdb_name": bdb.name,
            "first_due_at": skipped.first.isoformat(),
            "last_due_at": skipped.last.isoformat(),
            "count": skipped.count,
        },
    )
