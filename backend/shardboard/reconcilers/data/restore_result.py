"""The result of a restore, and its comparison with the manifest."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.data import manifest as manifests
from shardboard.domain.data import restore_plan
from shardboard.domain.data.statuses import RestoreKind, RestoreMode, TransferStatus
from shardboard.reconcilers.data.restore_context import RestoreContext
from shardboard.state.data import backups, transfers
from shardboard.state.data.restores import Restore


async def write(session: AsyncSession, context: RestoreContext) -> None:
    """Sum up the results of the transfers that wrote to the current primaries."""
    row = context.row
    is_primary = {each.uid for each in context.primaries}
    effective = [
        each for each in context.writes if each.status == TransferStatus.SUCCEEDED and is_primary & set(each.shard_uids)
    ]
    results = (await transfers.results(session, [each.uid for each in effective])).values()
    row.restored = sum(each["restored"] for each in results)
    row.expired = sum(each["expired"] for each in results)
    row.replayed = sum(each.get("replayed", 0) for each in results)
    unsupported: dict[str, int] = {}
    for each in results:
        for reason, count in each["unsupported"].items():
            unsupported[reason] = unsupported.get(reason, 0) + count
    row.unsupported = unsupported
    if row.expected_keys is not None:
        row.skipped = max(0, row.expected_keys - row.restored - row.expired - sum(unsupported.values()))
    if row.until is not None:  # the manifest describes the keys before the changes
        return
    if row.kind != RestoreKind.RESTORE or row.mode != RestoreMode.REPLACE or row.key_patterns:
        return
    stored = await backups.manifest(session, row.backup_uid or 0)
    if stored is None:  # the backup was deleted in the meantime
        return
    expected = {slot: (keys, digest) for slot, keys, digest in manifests.parse(stored).slots}
    restored = {each["slot"]: (each["keys"], each["digest"]) for result in results for each in result["slots"]}
    row.mismatched_slots = restore_plan.mismatched_slots(expected, restored, row.expired)


def problem(row: Restore) -> str:
    """Return what differs from the sources; empty if nothing does."""
    problems = []
    if row.mismatched_slots:
        problems.append(f"The keys of {row.mismatched_slots} slots differ from the backup.")
    if row.unsupported:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(row.unsupported.items()))
        problems.append(f"Some keys could not be restored: {reasons}.")
    return " ".join(problems)
