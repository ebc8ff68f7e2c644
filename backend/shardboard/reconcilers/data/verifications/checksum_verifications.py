"""Verification of an encrypted backup that the console cannot decrypt: a node reads all its files and its manifest, and compares
their checksums with those that the console stores.

This proves that the files are those that were written, but not that their keys can be restored.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import CheckFiles
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.data import folder_names
from shardboard.domain.data import manifest as manifests
from shardboard.domain.data.backup_plan import MAX_ATTEMPTS
from shardboard.domain.data.manifest import Manifest
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.domain.data.verification import judge_checksums
from shardboard.driver.interfaces import Agents
from shardboard.reconcilers.data.inspections import FINAL_ERRORS
from shardboard.reconcilers.data.locations import location_of
from shardboard.reconcilers.data.transfers import NO_PROGRESS, Poll, TransferPoller, abandon, apply, new_row, next_poll
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import backups, transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.transfers import Transfer
from shardboard.store.db import Store

POLL_SECONDS = 1.0
SILENCE_SECONDS = 30.0
"""How long a node can be unreachable before another one reads the files."""


@dataclass(frozen=True)
class _Context:
    """Rows that a step needs."""

    backup: Backup
    manifest: Manifest
    location: dict[str, Any]
    checks: Sequence[Transfer]
    """Of this verification, oldest first."""
    nodes: Sequence[Node]

    def message(self, _transfer: Transfer) -> CheckFiles:
        location: Any = self.location
        files = {f"{self.backup.path}/{each.name}": each.sha256 for each in self.manifest.files}
        written = f"{self.backup.path}/{folder_names.MANIFEST}"
        known = files | ({written: self.backup.manifest_sha256} if self.backup.manifest_sha256 else {})
        return CheckFiles(location=location, paths=[*files, written], sha256=known, only_checksums=True)


class ChecksumVerification:
    """Performs one step of a verification at a time."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._poller = TransferPoller(agents)

    async def step(self, action: Action) -> Outcome:
        async with self._store.read() as session:
            context = await _load(session, action)
        if context is None:
            return Outcome(failed="The backup or its location no longer exists.")
        poll = await self._poller.poll(context.checks, context.nodes, context.message)
        async with leased_transaction(self._store, action) as leased:
            current = await _load(leased, action) if leased is not None else None
            if leased is None or current is None:
                return Outcome()
            return _advance(leased, current, poll)


async def stop(session: AsyncSession, action: Action) -> None:
    """Stop waiting for the transfers of a verification that ends. The clean-up loop removes them from their nodes."""
    for each in await _checks(session, action):
        abandon(each)


async def _load(session: AsyncSession, action: Action) -> _Context | None:
    backup = await backups.by_uid(session, action.object_uid)
    stored = await backups.manifest(session, action.object_uid)
    location = await location_of(session, backup.location_uid, backup.location) if backup is not None else None
    if backup is None or stored is None or location is None:
        return None
    checks = await _checks(session, action)
    return _Context(backup, manifests.parse(stored), location, checks, await nodes.list_all(session))


async def _checks(session: AsyncSession, action: Action) -> list[Transfer]:
    return [
        each
        for each in await transfers.list_for_backups(session, [action.object_uid])
        if each.kind == TransferKind.CHECK_FILES and each.created_at >= action.created_at
    ]


def _advance(session: AsyncSession, context: _Context, poll: Poll) -> Outcome:
    """Write the states of the transfers. Start the first one, or another one on another node if it failed."""
    for check in context.checks:
        if check.uid in poll.stalled:
            abandon(check, NO_PROGRESS)
        elif (state := poll.states.get(check.uid)) is not None:
            apply(check, state)
        elif poll.silent.get(check.node_uid, 0.0) >= SILENCE_SECONDS:
            abandon(check, f"Node {check.node_uid} does not respond.")
    last = context.checks[-1] if context.checks else None
    if last is not None and last.status == TransferStatus.SUCCEEDED and last.finished_at is not None:
        seconds = (last.finished_at - last.created_at).total_seconds()
        has_manifest = bool(context.backup.manifest_sha256)
        verdict = judge_checksums(len(context.manifest.files), has_manifest=has_manifest, seconds=seconds)
        return Outcome(finished=True, facts=asdict(verdict))
    if last is not None and last.finished_at is None:
        return _running(context, last, next_poll(context.checks, POLL_SECONDS))
    if last is not None and (len(context.checks) >= MAX_ATTEMPTS or last.error_code in FINAL_ERRORS):
        return Outcome(failed=f"Node {last.node_uid} cannot verify the files. {last.error}")
    return _start(session, context)


def _start(session: AsyncSession, context: _Context) -> Outcome:
    tried = [each.node_uid for each in context.checks]
    writers = {each.node_uid for each in context.manifest.files}  # they can reach the location
    candidates = [node for node in context.nodes if node.is_available]
    if not candidates:
        return Outcome(unreachable="no agent responds", retry_in=POLL_SECONDS)
    node = min(candidates, key=lambda each: (tried.count(each.uid), each.uid not in writers, each.uid))
    session.add(new_row(node.uid, TransferKind.CHECK_FILES, backup_uid=context.backup.uid))
    return _running(context, None, 0.0)


def _running(context: _Context, check: Transfer | None, retry_in: float) -> Outcome:
    share = check.bytes / context.manifest.bytes if check is not None and context.manifest.bytes else 0.0
    steps = [{"name": "Compare the checksums of the files", "status": StepStatus.RUNNING}]
    return Outcome(progress=99 * min(1.0, share), steps=steps, retry_in=retry_in)
