"""Verification of a backup: restores it into a temporary database, and compares the keys with the manifest. Of encrypted backups
that the console cannot decrypt, only checksums are compared (`checksum_verifications.py`).

The step that creates the database, and the one that starts the restore, write the uid to the action in the same transaction, so a
console that is killed in between continues with them. `TemporaryDatabaseLoop` deletes the database after the action, however it
ended.
"""

from dataclasses import asdict
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.parameters import write
from shardboard.actions.verifications import VerificationParameters, record_result
from shardboard.domain.cluster.actions import step_status
from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.statuses import SUCCESSES, RestoreStatus
from shardboard.domain.data.verification import CHECKSUMS, RESTORED, RestoredData, Verdict, judge
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.errors import ApiError
from shardboard.reconcilers import load_database
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.data.verifications import checksum_verifications
from shardboard.reconcilers.data.verifications.checksum_verifications import ChecksumVerification
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster.actions import Action
from shardboard.state.data import backups, restores
from shardboard.state.data.restores import Restore
from shardboard.state.databases import bdbs
from shardboard.store.db import Store

STEPS = ("Create a temporary database", "Restore the backup", "Compare the keys")
CREATE, RESTORE, COMPARE = range(3)
POLL_SECONDS = 0.5


class VerifyBackup:
    """Performs one verification."""

    def __init__(self, store: Store, agents: Agents, requests: DataRequests) -> None:
        self._store = store
        self._agents = agents
        self._requests = requests
        self._checksums = ChecksumVerification(store, agents)

    async def step(self, action: Action) -> Outcome:
        if action.cancelled_by:
            return Outcome(cancelled=True)
        parameters = VerificationParameters.parse(action)
        if parameters.only_checksums:
            return await self._checksums.step(action)
        if parameters.bdb_uid is None:
            return await self._create(action)
        if parameters.restore_uid is None:
            return await self._start_restore(action, parameters.bdb_uid)
        async with self._store.read() as session:
            restore = await restores.by_uid(session, parameters.restore_uid)
        if restore is None:
            return Outcome(failed="The restore no longer exists.")
        if restore.status == RestoreStatus.RUNNING:
            share = restore.restored / restore.expected_keys if restore.expected_keys else 0.0
            return _running(RESTORE, 10 + 85 * min(1.0, share))
        if restore.status not in SUCCESSES:
            return Outcome(failed=f"The backup could not be restored. {restore.detail}".strip())
        return await self._compare(parameters.bdb_uid, restore)

    async def _create(self, action: Action) -> Outcome:
        async with leased_transaction(self._store, action) as session:
            if session is None:
                return Outcome()
            current, backup = (
                await session.get_one(Action, action.uid),
                await backups.by_uid(session, action.object_uid),
            )
            if backup is None:
                return Outcome(failed="The backup no longer exists.")
            try:
                bdb = await self._requests.create_temporary_database(session, backup, current)
            except ApiError as reason:
                return Outcome(failed=f"The temporary database could not be created. {reason.description}")
            write(current, VerificationParameters(cancellable=True, bdb_uid=bdb.uid))
        return _running(CREATE, 1)

    async def _start_restore(self, action: Action, bdb_uid: int) -> Outcome:
        async with leased_transaction(self._store, action) as session:
            if session is None:
                return Outcome()
            current, backup = (
                await session.get_one(Action, action.uid),
                await backups.by_uid(session, action.object_uid),
            )
            bdb = await bdbs.by_uid(session, bdb_uid)
            if bdb is None or backup is None or bdb.status == BdbStatus.DELETE_PENDING:
                return Outcome(failed="The backup or the temporary database was deleted.")
            if bdb.status == BdbStatus.CREATION_FAILED:
                return Outcome(failed=f"The temporary database could not be created. {bdb.status_detail}")
            if bdb.status != BdbStatus.ACTIVE:
                return _running(CREATE, 5)
            try:
                restore = await self._requests.start_restore(session, bdb, backup, action.originator)
            except ApiError as reason:
                return Outcome(failed=f"The backup could not be restored. {reason.description}")
            write(current, VerificationParameters(cancellable=True, bdb_uid=bdb_uid, restore_uid=restore.uid))
        return _running(RESTORE, 10)

    async def _compare(self, bdb_uid: int, restore: Restore) -> Outcome:
        async with self._store.read() as session:
            stored = await backups.manifest(session, restore.backup_uid or 0)
        database = await load_database.database(self._store, bdb_uid)
        if database is None or stored is None:
            return Outcome(failed="The temporary database or the manifest was deleted.")
        manifest = manifests.parse(stored)
        results = await valkey_cluster.command(self._agents, database.primaries, "DBSIZE")
        if unanswered := [uid for uid, each in results.items() if not each.ok]:
            return Outcome(unreachable=f"shard redis:{min(unanswered)} did not return its number of keys")
        data = RestoredData(
            restored=restore.restored,
            expired=restore.expired,
            unsupported=restore.unsupported,
            mismatched_slots=restore.mismatched_slots,
            stored=sum(int(each.reply) for each in results.values()),
        )
        seconds = ((restore.finished_at or datetime.now(UTC)) - restore.created_at).total_seconds()
        expires = sum(each.expires for each in manifest.files)
        verdict = judge(data, keys=manifest.keys, expires=expires, seconds=seconds)
        return Outcome(finished=True, facts=asdict(verdict)) if verdict.ok else Outcome(failed=verdict.detail)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        await _save(session, action, Verdict(**outcome.facts))

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        parameters = VerificationParameters.parse(action)
        if parameters.only_checksums:
            await checksum_verifications.stop(session, action)
        if action.cancelled_by:
            return
        uid = parameters.restore_uid
        restore = await restores.by_uid(session, uid) if uid is not None else None
        seconds = 0.0
        if restore is not None and restore.finished_at is not None:
            seconds = round((restore.finished_at - restore.created_at).total_seconds(), 1)
        keys = restore.restored if restore is not None else 0
        method = CHECKSUMS if parameters.only_checksums else RESTORED
        await _save(session, action, Verdict(ok=False, detail=reason, seconds=seconds, keys=keys, method=method))


def _running(step: int, progress: float) -> Outcome:
    steps = [{"name": name, "status": step_status(position, step)} for position, name in enumerate(STEPS)]
    return Outcome(progress=progress, steps=steps, retry_in=POLL_SECONDS)


async def _save(session: AsyncSession, action: Action, verdict: Verdict) -> None:
    backup = await backups.by_uid(session, action.object_uid)
    if backup is not None:
        backup.verified = {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", **asdict(verdict)}
        record_result(session, backup, action, ok=verdict.ok, detail=verdict.detail)
