"""The files with recorded changes that a restore to a point in time needs: lists the folders of the recordings, and chooses files
without a gap before keys are deleted.
"""

from collections.abc import Collection, Mapping, Sequence
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
    """Return the request. `path` of the row is the path after which the list continues: of its first page, the folder."""
    location: Any = context.locations[0]
    return ListFiles(location=location, folder=_folder(transfer, _folders(context)), after=transfer.path)


async def advance(session: AsyncSession, context: RestoreContext, poll: Poll) -> Outcome | None:
    """Write the states of the lists, and add the rows of those that are needed next. Returns None if the files are chosen."""
    pages: dict[str, list[Transfer]] = {folder: [] for folder in _folders(context)}
    for each in context.lists:
        pages[_folder(each, pages)].append(each)
    for folder, rows in pages.items():
        following = _update(folder, rows, poll)
        session.add_all(following)
        rows += following
        if failed := _failure(rows):
            return Outcome(failed=failed)
    if not any(_unread(folder, rows) for folder, rows in pages.items()):
        return await _choose(session, context, pages)
    return _start(session, context, pages)


def _update(folder: str, rows: Sequence[Transfer], poll: Poll) -> list[Transfer]:
    """Write the states of the pages of a folder. Return the row of the next page, if there is one."""
    following = []
    number = len({each.path for each in rows})
    for each in rows:
        if each.finished_at is not None:
            continue
        if each.uid in poll.stalled:
            abandon(each, NO_PROGRESS)
        elif (state := poll.states.get(each.uid)) is not None:
            checked, after = _checked(each, state, folder, number)
            apply(each, checked)
            if after:  # in the same transaction, so that pages without a following one are the last ones
                following.append(_new_page(each.node_uid, each.restore_uid, after))
        elif poll.silent.get(each.node_uid, 0.0) >= SILENCE_SECONDS:
            abandon(each, f"Node {each.node_uid} does not respond.")
    return following


def _checked(transfer: Transfer, state: TransferState, folder: str, number: int) -> tuple[TransferState, str]:
    """Return the state, or a failure if its list is invalid, and the path after which the next page starts; empty: none."""
    if state.result is None:
        return state, ""
    try:
        paths, is_truncated = file_lists.parse_page(state.result, folder, transfer.path, number)
    except InvalidFileList as error:
        return TransferState(id=state.id, state="ended", error=str(error), error_code="general-error"), ""
    return state, paths[-1] if is_truncated else ""


def _unread(folder: str, rows: Sequence[Transfer]) -> list[str]:
    """Return the paths after which the pages of a folder start that have not been read."""
    read = {each.path for each in rows if each.status == TransferStatus.SUCCEEDED}
    return [path for path in dict.fromkeys([f"{folder}/", *(each.path for each in rows)]) if path not in read]


def _start(session: AsyncSession, context: RestoreContext, pages: Mapping[str, Sequence[Transfer]]) -> Outcome:
    candidates = [node for node in context.nodes if node.is_available]
    running = {each.path for rows in pages.values() for each in rows if each.finished_at is None}
    due = [(path, rows) for folder, rows in pages.items() for path in _unread(folder, rows) if path not in running]
    for number, (after, rows) in enumerate(due[: max(0, CLUSTER_LIMIT - len(running))] if candidates else ()):
        tried = [each.node_uid for each in rows if each.path == after]
        node = min(candidates, key=lambda each: (tried.count(each.uid), (each.uid + number) % len(candidates)))
        session.add(_new_page(node.uid, context.row.uid, after))
    return Outcome(
        steps=[{"name": "Find the recorded changes", "status": StepStatus.RUNNING}],
        retry_in=POLL_SECONDS / 4,
        unreachable="" if candidates else "no agent responds",
    )


def _new_page(node_uid: int, restore_uid: int | None, after: str) -> Transfer:
    return new_row(node_uid, TransferKind.LIST_FILES, restore_uid=restore_uid, path=after)


async def _choose(
    session: AsyncSession, context: RestoreContext, pages: Mapping[str, Sequence[Transfer]]
) -> Outcome | None:
    """Write the files with changes to the row. Returns an outcome if some are missing."""
    found = {folder: await _change_files(session, rows) for folder, rows in pages.items()}
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


def _folders(context: RestoreContext) -> list[str]:
    return list(dict.fromkeys(each["recording"]["folder"] for each in _files(context)))


def _folder(transfer: Transfer, folders: Collection[str]) -> str:
    """Return the folder that is listed. The last file of a page can be in a folder below, which another program created."""
    folder = transfer.path.rpartition("/")[0]
    while folder and folder not in folders:
        folder = folder.rpartition("/")[0]
    return folder


async def _change_files(session: AsyncSession, rows: Sequence[Transfer]) -> list[ChangeFile]:
    """Return the files in the pages of a folder, which were checked before they were stored."""
    pages = await transfers.results(session, [each.uid for each in rows if each.status == TransferStatus.SUCCEEDED])
    paths = (str(each["path"]) for page in pages.values() for each in page["files"])
    return list(filter(None, map(parse_change_file, paths)))
