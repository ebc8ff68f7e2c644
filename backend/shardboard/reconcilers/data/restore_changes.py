"""The files with recorded changes that a restore to a point in time needs: lists the folders of the recordings, and chooses files
without a gap before keys are deleted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.change_files import ChangeFile, parse_change_file
from shardboard.contract.transfers import ListFiles
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import change_chains, file_lists
from shardboard.domain.data.backup_plan import CLUSTER_LIMIT, MAX_ATTEMPTS
from shardboard.domain.data.change_chains import Position
from shardboard.domain.data.file_lists import InvalidFileList
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.driver.interfaces import TransferState
from shardboard.reconcilers.data.backups import POLL_SECONDS
from shardboard.reconcilers.data.restore_context import RestoreContext, epoch_ms
from shardboard.reconcilers.data.transfers import NO_PROGRESS, Poll, abandon, apply, new_row
from shardboard.reconcilers.loop import Outcome
from shardboard.state.data import transfers
from shardboard.state.data.transfers import Transfer

SILENCE_SECONDS = 30.0
"""How long a node can be unreachable before another one lists the files."""


def is_needed(context: RestoreContext) -> bool:
    """Return whether the files have not been chosen yet."""
    return context.row.until is not None and any("changes" not in each for each in _files(context))


def message(context: RestoreContext, transfer: Transfer) -> ListFiles:
    """Return the request. `path` of the row is the path after which the list continues: of its first part, the folder."""
    location: Any = context.locations[0]
    return ListFiles(location=location, folder=_folder(transfer), after=transfer.path)


async def advance(session: AsyncSession, context: RestoreContext, poll: Poll) -> Outcome | None:
    """Write the states of the lists, and add the rows of those that are needed next. Returns None if the files are chosen."""
    for each in context.lists:
        if each.uid in poll.stalled:
            abandon(each, NO_PROGRESS)
        elif (state := poll.states.get(each.uid)) is not None:
            apply(each, _checked(each, state))
        elif poll.silent.get(each.node_uid, 0.0) >= SILENCE_SECONDS:
            abandon(each, f"Node {each.node_uid} does not respond.")
    results = await transfers.results(session, [each.uid for each in context.lists])
    folders = dict.fromkeys(each["recording"]["folder"] for each in _files(context))
    found: dict[str, list[ChangeFile]] = {}
    due: list[str] = []
    for folder in folders:
        tried = [each for each in context.lists if _folder(each) == folder]
        if failed := _failure(tried):
            return Outcome(failed=failed)
        pages = [results[each.uid] for each in tried if each.status == TransferStatus.SUCCEEDED and each.uid in results]
        if pages and not pages[-1].get("truncated"):
            found[folder] = list(filter(None, (parse_change_file(path) for page in pages for path in _paths(page))))
        elif all(each.finished_at is not None for each in tried):
            due.append(_paths(pages[-1])[-1] if pages else f"{folder}/")
    if len(found) == len(folders):
        return _choose(context, found)
    return _start(session, context, due)


def _checked(transfer: Transfer, state: TransferState) -> TransferState:
    """Return the state, or a failure if its list is invalid."""
    if state.result is None:
        return state
    try:
        file_lists.parse_page(state.result, _folder(transfer), transfer.path)
    except InvalidFileList as error:
        return TransferState(id=state.id, state="ended", error=str(error), error_code="general-error")
    return state


def _start(session: AsyncSession, context: RestoreContext, due: Sequence[str]) -> Outcome:
    candidates = [node for node in context.nodes if node.is_available]
    running = sum(each.finished_at is None for each in context.lists)
    for number, after in enumerate(due[: max(0, CLUSTER_LIMIT - running)] if candidates else ()):
        tried = [each.node_uid for each in context.lists if each.path == after]
        node = min(candidates, key=lambda each: (tried.count(each.uid), (each.uid + number) % len(candidates)))
        session.add(new_row(node.uid, TransferKind.LIST_FILES, restore_uid=context.row.uid, path=after))
    return Outcome(
        steps=[{"name": "Find the recorded changes", "status": StepStatus.RUNNING}],
        retry_in=POLL_SECONDS / 4,
        unreachable="" if candidates else "no agent responds",
    )


def _choose(context: RestoreContext, found: Mapping[str, Sequence[ChangeFile]]) -> Outcome | None:
    """Write the files with changes to the row. Returns an outcome if some are missing."""
    until = epoch_ms(context.row.until) if context.row.until is not None else 0
    files = []
    for each in _files(context):
        recording = each["recording"]
        after = Position(recording["replication_id"], recording["offset"])
        history = [(str(identity), int(offset)) for identity, offset in recording["history"]]
        chain = change_chains.chain(found[recording["folder"]], history, after, until)
        if chain.until <= until and chain.end < recording["end_offset"]:
            message = (
                f"A file with recorded changes is missing in {recording['folder']}, after offset {chain.end}. Restore a backup, or "
                "to another point in time."
            )
            return Outcome(failed=message)
        files.append({**each, "changes": list(chain.paths)})
    [source] = context.row.sources
    context.row.sources = [{**source, "files": files}]
    transfers.clear_results(context.lists)
    return None


def _failure(tried: Sequence[Transfer]) -> str:
    """Return why the files of a folder cannot be listed; empty if another attempt is made."""
    failed = [each for each in tried if each.status in (TransferStatus.FAILED, TransferStatus.ABANDONED)]
    if len(failed) < MAX_ATTEMPTS:
        return ""
    return f"The files with recorded changes cannot be listed. {failed[-1].error}"


def _files(context: RestoreContext) -> list[dict[str, Any]]:
    return [each for source in context.row.sources for each in source["files"]]


def _folder(transfer: Transfer) -> str:
    return transfer.path.rpartition("/")[0]


def _paths(page: Mapping[str, Any]) -> list[str]:
    """Return the paths in a result, which was checked before it was stored."""
    return [str(each["path"]) for each in page["files"]]
