"""Applies the retention rules: records why and how long each backup is kept, and deletes the others."""

import logging
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import retention
from shardboard.domain.data.retention import Kept, Outcome, StoredBackup
from shardboard.domain.data.statuses import BackupStatus, BackupTrigger
from shardboard.domain.databases import backup_rules
from shardboard.errors import ApiError
from shardboard.kit.bus import Bus
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.data import backups
from shardboard.state.data.backups import RetainedBackup
from shardboard.state.databases import bdbs
from shardboard.store.db import Store

log = logging.getLogger(__name__)

OUTCOMES = {
    BackupStatus.SUCCEEDED: Outcome.SUCCEEDED,
    BackupStatus.FAILED: Outcome.FAILED,
    BackupStatus.CANCELLED: Outcome.FAILED,
    BackupStatus.RUNNING: Outcome.UNFINISHED,
}


class BackupRetentionLoop(PollingLoop):
    """Backups of deleted databases are kept until a user deletes them."""

    changes = frozenset({"bdb", "backup"})
    seconds = 60.0

    def __init__(
        self, store: Store, bus: Bus, requests: DataRequests, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__(store, bus)
        self._requests = requests
        self._clock = clock

    async def is_due(self, session: AsyncSession) -> bool:
        kept, delete = await self._decide(session)
        return bool(kept or delete)

    async def act(self, session: AsyncSession) -> None:
        kept, delete = await self._decide(session)
        for row in await backups.list_by_uids(session, kept.keys()):
            row.kept_because, row.kept_until = ",".join(kept[row.uid].because), kept[row.uid].until
        for row in await backups.list_by_uids(session, delete):
            try:
                await self._requests.delete_backup(session, row)
            except ApiError as reason:  # for example while it is restored; the next poll retries
                log.info("backup %s is not deleted yet: %s", row.uid, reason)

    async def _decide(self, session: AsyncSession) -> tuple[dict[int, Kept], list[int]]:
        """Return the changed reasons by backup, and the backups to delete."""
        rows: dict[int, list[RetainedBackup]] = defaultdict(list)
        for row in await backups.list_retained(session):
            rows[row.bdb_uid].append(row)
        kept: dict[int, Kept] = {}
        delete: list[int] = []
        for bdb in await bdbs.list_all(session):
            # Older ones are backups of a deleted database that had the same uid.
            own = [row for row in rows[bdb.uid] if row.created_at >= bdb.created_at]
            policy = backup_rules.policy_of(bdb.config)
            decision = retention.decide(
                map(_stored_backup, own), policy.rules, now=self._clock(), time_zone=policy.time_zone
            )
            delete += map(int, decision.delete)
            for row in own:
                reasons = decision.kept.get(str(row.uid))
                if reasons and (",".join(reasons.because), reasons.until) != (row.kept_because, row.kept_until):
                    kept[row.uid] = reasons
        return kept, delete


def _stored_backup(row: RetainedBackup) -> StoredBackup:
    outcome = OUTCOMES[BackupStatus(row.status)]
    return StoredBackup(
        str(row.uid),
        row.created_at,
        outcome,
        manual=row.trigger == BackupTrigger.MANUAL,
        is_damaged=row.verified is not None and not row.verified["ok"],
    )
