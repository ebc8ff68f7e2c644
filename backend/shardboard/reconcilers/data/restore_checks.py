"""Checks before a restore deletes keys: each node that will read the files reads them, so that a damaged file, a location that is
not mounted, or a password that has expired costs no data. Files of backups and recorded changes are read completely, unless the
request skips this.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import CheckFiles
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data.backup_plan import CLUSTER_LIMIT, MAX_ATTEMPTS
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.reconcilers.data.backups import POLL_SECONDS
from shardboard.reconcilers.data.inspections import FINAL_ERRORS
from shardboard.reconcilers.data.transfers import NO_PROGRESS, Poll, abandon, apply, new_row, next_poll
from shardboard.reconcilers.loop import Outcome
from shardboard.state.data.transfers import Transfer

if TYPE_CHECKING:
    from shardboard.reconcilers.data.restore_context import RestoreContext

SILENCE_SECONDS = 120.0
"""How long a node can be unreachable."""
SHARE = 30.0
"""Progress of a restore, in percent, after files were read completely."""


def message(context: "RestoreContext", check: Transfer, *, is_complete: bool) -> CheckFiles | None:
    """Return the request: all files in the location of a source that the primaries of the node need."""
    location: Any = context.locations[check.source]
    files = _files(context, check.source, check.node_uid)
    if not files:
        return None
    known = {path: sha256 for path, sha256 in files.items() if sha256 is not None} if is_complete else {}
    return CheckFiles(location=location, paths=list(files), sha256=known, identities=context.identities(check.source))


def advance(session: AsyncSession, context: "RestoreContext", poll: Poll) -> Outcome | None:
    """Write the states of the checks, and add the rows of those that are needed next. Returns None if all files can be read."""
    for check in context.checks:
        if check.uid in poll.stalled:
            abandon(check, NO_PROGRESS)
        elif (state := poll.states.get(check.uid)) is not None:
            apply(check, state)
    needed = _needed(context)
    missing = {
        key: _unsuccessful(context, *key) for key, primaries in needed.items() if not _is_done(context, *key, primaries)
    }
    if not missing:
        return None
    if failed := next(filter(None, (_failure(uid, rows, poll) for (_, uid), rows in missing.items())), ""):
        return Outcome(failed=failed)
    running = sum(each.finished_at is None for each in context.checks)
    due = [key for key, rows in missing.items() if all(each.finished_at is not None for each in rows)]
    started = due[: max(0, CLUSTER_LIMIT - running)]
    for source, node_uid in started:
        row = new_row(node_uid, TransferKind.CHECK_FILES, restore_uid=context.row.uid, source=source)
        row.shard_uids = needed[source, node_uid]
        session.add(row)
    return Outcome(
        steps=[{"name": "Check the files", "status": StepStatus.RUNNING}],
        progress=SHARE * _share(context),
        retry_in=0.0 if started else next_poll(context.checks, POLL_SECONDS),
    )


def _failure(node_uid: int, tried: Sequence[Transfer], poll: Poll) -> str:
    """Return why the checks of a node cannot succeed; empty if they can."""
    if poll.silent.get(node_uid, 0.0) >= SILENCE_SECONDS:
        return f"Node {node_uid} does not respond."
    if (
        tried
        and tried[-1].finished_at is not None
        and (len(tried) >= MAX_ATTEMPTS or tried[-1].error_code in FINAL_ERRORS)
    ):
        return f"Node {node_uid} cannot read the files. {tried[-1].error}"
    return ""


def _is_done(context: "RestoreContext", source: int, node_uid: int, primaries: Sequence[int]) -> bool:
    """Return whether a node has checked all files that its primaries need, also those that it has since a failover."""
    return any(
        each.status == TransferStatus.SUCCEEDED and set(primaries) <= set(each.shard_uids)
        for each in context.checks
        if (each.source, each.node_uid) == (source, node_uid)
    )


def _unsuccessful(context: "RestoreContext", source: int, node_uid: int) -> list[Transfer]:
    return [
        each
        for each in context.checks
        if (each.source, each.node_uid) == (source, node_uid) and each.status != TransferStatus.SUCCEEDED
    ]


def _needed(context: "RestoreContext") -> dict[tuple[int, int], list[int]]:
    """Return the primaries by a source of each location and the node that reads files from it."""
    firsts = [n for n, location in enumerate(context.locations) if context.locations.index(location) == n]
    node_uids = sorted({row.node_uid for row in context.primaries})
    return {
        (source, uid): [row.uid for row in context.primaries if row.node_uid == uid]
        for source in firsts
        for uid in node_uids
        if _files(context, source, uid)
    }


def _files(context: "RestoreContext", source: int, node_uid: int) -> Mapping[str, str | None]:
    """Return the checksums of the files that a node reads from the location of a source, by path. The checksums of recorded
    changes are unknown.
    """
    targets = [row for row in context.primaries if row.node_uid == node_uid]
    sources = [n for n, location in enumerate(context.locations) if location == context.locations[source]]
    files = [file for each in sources for file in context.files(each, targets)]
    return {path: None for file in files for path in file.changes} | {file.path: file.sha256 for file in files}


def _share(context: "RestoreContext") -> float:
    """Return which share of the files has been read: each node reads about the same amount."""
    total = sum(file.get("bytes", 0) for source in context.row.sources for file in source["files"])
    read = sum(each.bytes for each in context.checks if each.status != TransferStatus.FAILED)
    return min(1.0, read / total) if total else 0.0
