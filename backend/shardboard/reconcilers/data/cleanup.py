"""Loop that removes ended transfers from their nodes, and deletes the files of backups that failed or that must not be kept.

It never gives up: a node or a location that is unavailable now is tried again.
"""

from collections.abc import Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import DeleteFiles
from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.domain.data.statuses import BackupStatus, TransferKind, TransferStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.driver.interfaces import Agents
from shardboard.kit.bus import Bus
from shardboard.reconcilers.data import backup_context, backup_failures, restore_context, restore_end
from shardboard.reconcilers.data import backups as backup_steps
from shardboard.reconcilers.data.locations import location_of
from shardboard.reconcilers.data.restore_context import RestoreContext
from shardboard.reconcilers.data.transfers import TransferPoller, abandon, apply, new_row
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups, restores, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases import bdbs
from shardboard.store.db import Store

IDLE_SECONDS, BUSY_SECONDS = 5.0, 0.5
RETRY = timedelta(minutes=1)
"""Until the deletion of files is tried again."""
REQUEST_TIMEOUT = timedelta(minutes=2)
"""Transfers of requests that are older belong to a console that was killed."""
CHANGES = frozenset({"action", "backup", "restore", "node"})


class DataCleanupLoop:
    """The only writer of `Transfer.is_stored_on_node` after transfers have ended, except cancelled restores."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._poller = TransferPoller(agents)

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                is_busy = await self.sweep()
                await changes.wait_until(
                    lambda change: change[0] in CHANGES, BUSY_SECONDS if is_busy else IDLE_SECONDS, pause=1.0
                )

    async def sweep(self) -> bool:
        """Do what is possible now. Return whether files are being deleted."""
        async with self._store.read() as session:
            machines = await nodes.list_all(session)
            stored = await transfers.list_stored_on_nodes(session)
            is_closable = bool(await _without_action(session))
            expired = await _expired(session)
            deletions = await backups.list_with_files_to_delete(session)
        if is_closable:
            await self._close_abandoned()
        if expired:
            await self._release_expired()
        await self._remove_ended(stored, machines)
        await self._unlock_databases()
        for backup in deletions:
            await self._delete_files(backup.uid, machines)
        return any(each.finished_at is None and each.kind == TransferKind.DELETE_FILES for each in stored) or any(
            not each.delete_error for each in deletions
        )

    async def _close_abandoned(self) -> None:
        """End backups and restores whose action ended without its stepper."""
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            for row, action in await _without_action(session):
                reason = action.error or "Its action ended unexpectedly."
                if isinstance(row, Backup):
                    backup_steps.close(session, action, await backup_context.load_context(session, row), reason)
                else:
                    restore_end.close(session, action, await restore_context.load_context(session, row), reason)

    async def _unlock_databases(self) -> None:
        """Unlock the databases of restores that have ended, when no process can write to them any longer."""
        async with self._store.read() as session:
            locked = await _locked_by_ended(session)
        if not any(not context.is_blocked for context in locked):
            return
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            for context in await _locked_by_ended(session):
                restore_end.unlock(context)

    async def _release_expired(self) -> None:
        """Make the files of failed backups that can no longer be resumed be deleted."""
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            for backup in await _expired(session):
                backup_failures.delete_files(await backup_context.load_context(session, backup))

    async def _remove_ended(self, stored: Sequence[Transfer], machines: Sequence[Node]) -> None:
        """Remove ended transfers from the nodes that respond."""
        available = {node.uid for node in machines if node.is_available}
        known = {node.uid for node in machines}
        oldest = datetime.now(UTC) - REQUEST_TIMEOUT
        removable = [
            row
            for row in stored
            if (row.finished_at is not None or (transfers.belongs_to_request(row) and row.created_at < oldest))
            and (row.node_uid in available or row.node_uid not in known)
        ]
        if not removable:
            return
        poll = await self._poller.remove(removable, machines)
        async with self._store.begin() as session:
            for identity, state in poll.states.items():
                row = await transfers.by_uid(session, identity)
                if row is None or state.state != "absent":
                    continue
                row.is_stored_on_node = False
                if transfers.belongs_to_request(row) or row.recording_uid is not None:
                    await session.delete(row)

    async def _delete_files(self, backup_uid: int, machines: Sequence[Node]) -> None:
        """Advance the deletion of a backup's files by one step."""
        async with self._store.read() as session:
            backup = await backups.by_uid(session, backup_uid)
            if backup is None:
                return
            rows = await transfers.list_for_backups(session, [backup_uid])
            location = await location_of(session, backup.location_uid, backup.location)
        deletions = [row for row in rows if row.kind == TransferKind.DELETE_FILES]
        running = [row for row in deletions if row.finished_at is None]

        def message(_row: Transfer) -> DeleteFiles:
            parsed: Any = location
            return DeleteFiles(location=parsed, paths=backup.files_to_delete)

        if running and location is not None:
            poll = await self._poller.poll(running, machines, message)
            lost = {
                row.uid
                for row in running
                if row.uid in poll.stalled or poll.silent.get(row.node_uid, 0.0) >= backup_steps.SILENCE_SECONDS
            }
            await self._apply(backup_uid, poll.states, lost)
            return
        async with self._store.begin() as session:
            await clusters.load_for_update(session)
            current = await backups.by_uid(session, backup_uid)
            if current is None or current.status == BackupStatus.RUNNING:
                return
            await _advance(session, current, rows, machines, has_location=location is not None)

    async def _apply(self, backup_uid: int, states: dict[str, Any], lost: Set[str]) -> None:
        """Write the states. Another node deletes the files in place of a `lost` transfer: it does no harm if both do."""
        async with self._store.begin() as session:
            backup = await backups.by_uid(session, backup_uid)
            for identity in states.keys() | lost:
                row = await transfers.by_uid(session, identity)
                if row is None or backup is None:
                    continue
                if identity in lost:
                    abandon(row)
                    continue
                apply(row, states[identity])
                if row.status == TransferStatus.SUCCEEDED:
                    backup.files_to_delete, backup.delete_error, backup.delete_retry_at = [], "", None
                elif row.status == TransferStatus.FAILED:
                    backup.delete_error = f"Its files could not be deleted. The console retries. {row.error}"
                    backup.delete_retry_at = datetime.now(UTC) + RETRY


async def _advance(
    session: AsyncSession, backup: Backup, rows: Sequence[Transfer], machines: Sequence[Node], *, has_location: bool
) -> None:
    """Add the transfer that deletes the files, or delete the row of a backup whose files are deleted."""
    known = {node.uid for node in machines}
    if not backup.files_to_delete:
        if backup.status == BackupStatus.DELETING and not any(row.is_stored_on_node for row in rows):
            await transfers.remove_for_backup(session, backup.uid)
            await backups.remove(session, backup)
        return
    if not has_location:
        backup.files_to_delete = []
        return
    # A transfer that still runs could write its file after the deletion.
    blocking = [row for row in rows if row.is_stored_on_node and row.kind != TransferKind.DELETE_FILES]
    if blocking and blocking[0].node_uid in known:
        node = next(node for node in machines if node.uid == blocking[0].node_uid)
        if not node.is_available:
            backup.delete_error = f"Its files are deleted when node {node.uid} responds."
        return
    if backup.delete_retry_at is not None and datetime.now(UTC) < backup.delete_retry_at:
        return
    failed_on = [row.node_uid for row in rows if row.kind == TransferKind.DELETE_FILES]
    candidates = [node for node in machines if node.is_available]
    if not candidates:
        backup.delete_error = "Its files are deleted when an agent responds."
        return
    chosen = min(candidates, key=lambda node: (failed_on.count(node.uid), node.uid))
    session.add(new_row(chosen.uid, TransferKind.DELETE_FILES, backup_uid=backup.uid))


async def _expired(session: AsyncSession) -> list[Backup]:
    now = datetime.now(UTC)
    failed = await backups.list_failed(session)
    return [each for each in failed if each.resumable_until is not None and each.resumable_until <= now]


async def _locked_by_ended(session: AsyncSession) -> list[RestoreContext]:
    """Return the contexts of ended restores whose databases are still locked."""
    uids = await bdbs.with_status(session, BdbStatus.IMPORT_PENDING)
    rows = (await restores.newest(session, uids)).values() if uids else ()
    return [await restore_context.load_context(session, row) for row in rows if row.finished_at is not None]


async def _without_action(session: AsyncSession) -> list[tuple[Backup | Restore, Action]]:
    """Return running backups and restores whose action has ended or was deleted, with that action."""
    found: list[tuple[Backup | Restore, Action]] = []
    rows: list[Backup | Restore] = [*await backups.list_running(session), *await restores.list_running(session)]
    for row in rows:
        action = await actions.by_uid(session, row.action_uid)
        if action is None or action.status not in OPEN_STATUSES:
            found.append((row, action or _removed_action(row)))
    return found


def _removed_action(row: Backup | Restore) -> Action:
    """Return an action that is not stored, for the event about its end."""
    return Action(
        uid=row.action_uid,
        object_type="bdb",
        object_uid=row.bdb_uid,
        originator=row.originator,
        cancelled_by="",
        error="",
    )
