"""The end of restores, imports and inspections: status, event, and the lock of the database."""

from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data.statuses import SUCCESSES, RestoreKind, RestoreStatus
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.reconcilers.data import restore_result
from shardboard.reconcilers.data.restore_context import RestoreContext
from shardboard.reconcilers.data.transfers import abandon
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.state.data import transfers
from shardboard.state.data.restores import Restore


async def succeed(session: AsyncSession, action: Action, context: RestoreContext) -> None:
    """End a restore that wrote all keys that the engine can load."""
    row = context.row
    row.finished_at = datetime.now(UTC)
    await restore_result.write(session, context)
    row.detail = restore_result.problem(row)
    row.status = RestoreStatus.SUCCEEDED_WITH_LOSSES if row.detail else RestoreStatus.SUCCEEDED
    transfers.clear_results(context.transfers)
    clear_credentials(row)
    unlock(context)
    seconds = (row.finished_at - row.created_at).total_seconds()
    message = f"{row.restored} keys were restored into database {row.bdb_name} within {seconds:.0f} s."
    if row.expired:
        message += f" {row.expired} keys had expired."
    _record(session, action, row, "succeeded", f"{message} {row.detail}".strip(), "WARNING" if row.detail else "INFO")


def close(session: AsyncSession, action: Action, context: RestoreContext, reason: str) -> None:
    """End a restore without success."""
    row = context.row
    if row.status != RestoreStatus.RUNNING:
        return
    for transfer in context.transfers:
        abandon(transfer)
    if row.erased_at is not None:
        reason = f"{reason} The keys of database {row.bdb_name} had already been deleted, so it is incomplete."
    elif context.writes:
        reason = f"{reason} Some keys have already been restored."
    is_cancelled = bool(action.cancelled_by)
    row.status = RestoreStatus.CANCELLED if is_cancelled else RestoreStatus.FAILED
    row.detail, row.finished_at = reason, datetime.now(UTC)
    codes = [row.error_code, *(each.error_code for each in reversed(context.transfers)), "general-error"]
    row.error_code = next(filter(None, codes))
    clear_credentials(row)
    if row.is_inspection:
        return
    unlock(context)
    verb = "was cancelled" if is_cancelled else "failed"
    noun = "The restore" if row.kind == RestoreKind.RESTORE else "The import"
    _record(session, action, row, "failed", f"{noun} into database {row.bdb_name} {verb}. {reason}", "ERROR")


def unlock(context: RestoreContext) -> None:
    """Unlock the database of a restore that has ended, unless a process may still write to it. The clean-up loop repeats this."""
    row, bdb = context.row, context.bdb
    if bdb is None or bdb.action_uid != row.action_uid:
        return
    if context.is_blocked:
        bdb.status_detail = (
            f"{row.detail} The database is locked until the processes that write to it have been stopped.".strip()
        )
        return
    bdb.action_uid = None
    if bdb.status == BdbStatus.IMPORT_PENDING:
        bdb.status, bdb.status_detail = BdbStatus.ACTIVE, "" if row.status in SUCCESSES else row.detail


def clear_credentials(row: Restore) -> None:
    row.sources = [{**each, "location": None, "identities": []} for each in row.sources]


def _record(
    session: AsyncSession, action: Action, row: Restore, end: str, message: str, severity: str = "INFO"
) -> None:
    details = {"restore_uid": row.uid, "bdb_name": row.bdb_name}
    record_for_action(session, action, f"import_{end}", message, severity=severity, details=details)
