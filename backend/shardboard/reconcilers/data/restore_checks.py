"""Checks before a restore deletes keys: each node that will read the files opens them, so that a location that is not mounted or a
password that has expired costs no data.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import CheckFiles
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data.backup_plan import CLUSTER_LIMIT, MAX_ATTEMPTS
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.reconcilers.data.backups import POLL_SECONDS
from shardboard.reconcilers.data.transfers import NO_PROGRESS, Poll, abandon, apply, new_row
from shardboard.reconcilers.loop import Outcome
from shardboard.state.data.transfers import Transfer

if TYPE_CHECKING:
    from shardboard.reconcilers.data.restore_context import RestoreContext

SILENCE_SECONDS = 120.0
"""How long a node can be unreachable."""


def message(context: "RestoreContext", check: Transfer) -> CheckFiles | None:
    """Return the request: all files in the location of a source that the primaries of the node need."""
    location: Any = context.locations[check.source]
    paths = _paths(context, check.source, check.node_uid)
    return CheckFiles(location=location, paths=paths, identities=context.identities(check.source)) if paths else None


def advance(session: AsyncSession, context: "RestoreContext", poll: Poll) -> Outcome | None:
    """Write the states of the checks, and add the rows of those that are needed next. Returns None if all files can be read."""
    for check in context.checks:
        if check.uid in poll.stalled:
            abandon(check, NO_PROGRESS)
        elif (state := poll.states.get(check.uid)) is not None:
            apply(check, state)
    tried = {key: _tried(context, *key) for key in _needed(context)}
    missing = {key: rows for key, rows in tried.items() if not any(map(_is_successful, rows))}
    if not missing:
        return None
    if failed := next(filter(None, (_failure(uid, rows, poll) for (_, uid), rows in missing.items())), ""):
        return Outcome(failed=failed)
    running = sum(each.finished_at is None for each in context.checks)
    due = [key for key, rows in missing.items() if all(each.finished_at is not None for each in rows)]
    started = due[: max(0, CLUSTER_LIMIT - running)]
    for source, node_uid in started:
        session.add(new_row(node_uid, TransferKind.CHECK_FILES, restore_uid=context.row.uid, source=source))
    steps = [{"name": "Check the files", "status": StepStatus.RUNNING}]
    return Outcome(steps=steps, retry_in=0.0 if started else POLL_SECONDS)


def _failure(node_uid: int, tried: Sequence[Transfer], poll: Poll) -> str:
    """Return why the checks of a node cannot succeed; empty if they can."""
    if poll.silent.get(node_uid, 0.0) >= SILENCE_SECONDS:
        return f"Node {node_uid} does not respond."
    if len(tried) >= MAX_ATTEMPTS and tried[-1].finished_at is not None:
        return f"Node {node_uid} cannot read the files. {tried[-1].error}"
    return ""


def _is_successful(check: Transfer) -> bool:
    return check.status == TransferStatus.SUCCEEDED


def _tried(context: "RestoreContext", source: int, node_uid: int) -> list[Transfer]:
    return [each for each in context.checks if (each.source, each.node_uid) == (source, node_uid)]


def _needed(context: "RestoreContext") -> list[tuple[int, int]]:
    """Return a source of each location, and each node that reads files from it."""
    firsts = [n for n, location in enumerate(context.locations) if context.locations.index(location) == n]
    node_uids = sorted({row.node_uid for row in context.primaries})
    return [(source, uid) for source in firsts for uid in node_uids if _paths(context, source, uid)]


def _paths(context: "RestoreContext", source: int, node_uid: int) -> Sequence[str]:
    targets = [row for row in context.primaries if row.node_uid == node_uid]
    sources = [n for n, location in enumerate(context.locations) if location == context.locations[source]]
    return list(dict.fromkeys(file.path for each in sources for file in context.files(each, targets)))
