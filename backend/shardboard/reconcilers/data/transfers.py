"""Transfers of steppers and loops: request them, read their states, and write both to their rows.

A row is written before the request is sent. A transfer that its agent does not know is requested, whether it was requested before
or not, so the console can be killed at any line.
"""

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from shardboard.contract.transfers import InspectResult, RecordResult, RestoreResult, SnapshotResult
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.domain.text import as_sentence
from shardboard.driver.interfaces import Agents, NodeRef, StartTransfer, TransferState
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.reconcilers.load_database import node_ref
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import transfers
from shardboard.state.data.transfers import Transfer

STALLED_SECONDS = 900.0
"""Without progress. Longer than all timeouts and retries of stores and shards."""
NO_PROGRESS = f"The transfer made no progress for {STALLED_SECONDS / 60:.0f} minutes."
FIRST_POLL_SECONDS = 0.2
"""Between polls of a transfer that has just started."""
Request = Callable[[Transfer], Any]
"""Returns the contract's message of a transfer, or None if it is no longer possible."""

_Call = Callable[[NodeRef, Sequence[str]], Awaitable[list[TransferState]]]
_RESULTS: Mapping[str, type[BaseModel]] = {
    TransferKind.SNAPSHOT: SnapshotResult,
    TransferKind.RESTORE: RestoreResult,
    TransferKind.INSPECT: InspectResult,
    TransferKind.RECORD: RecordResult,
}


@dataclass
class Poll:
    """States of transfers, as reported by their agents."""

    states: dict[str, TransferState] = field(default_factory=dict)
    silent: dict[int, float] = field(default_factory=dict)
    """Nodes that do not respond, and for how many seconds."""
    stalled: set[str] = field(default_factory=set)
    """Transfers that run without any progress, for example because a network file system hangs."""


class TransferPoller:
    """Reads the states of transfers, and requests those that are not known to their agents."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._silent_since: dict[int, float] = {}
        self._progress: dict[str, tuple[tuple[int, ...], float]] = {}
        """Last progress of running transfers, and since when it is the same."""

    async def poll(self, rows: Sequence[Transfer], nodes: Sequence[Node], request: Request) -> Poll:
        """Poll rows that have not ended."""
        by_node: dict[int, list[Transfer]] = defaultdict(list)
        for row in rows:
            if row.finished_at is None:
                by_node[row.node_uid].append(row)
        machines = {node.uid: node for node in nodes}
        result = Poll()
        await asyncio.gather(
            *(self._poll_node(result, machines.get(uid), group, request) for uid, group in by_node.items())
        )
        result.stalled = {uid for uid, state in result.states.items() if self._is_stalled(state)}
        return result

    def _is_stalled(self, state: TransferState) -> bool:
        # A recording keeps what it cannot store while its location is unavailable, and continues afterwards.
        if state.state != "running" or state.progress.problem:
            self._progress.pop(state.id, None)
            return False
        now, values = time.monotonic(), tuple(state.progress.model_dump().values())
        last, since = self._progress.get(state.id, (None, now))
        if values != last:
            self._progress[state.id] = (values, now)
            return False
        return now - since >= STALLED_SECONDS

    async def remove(self, rows: Sequence[Transfer], nodes: Sequence[Node]) -> Poll:
        """Kill transfers and remove what their nodes have of them."""
        return await self._end(rows, nodes, self._agents.remove_transfers)

    async def stop(self, rows: Sequence[Transfer], nodes: Sequence[Node]) -> Poll:
        """Request transfers to end. They can need some time."""
        return await self._end(rows, nodes, self._agents.stop_transfers)

    async def _end(self, rows: Sequence[Transfer], nodes: Sequence[Node], call: _Call) -> Poll:
        by_node: dict[int, list[Transfer]] = defaultdict(list)
        for row in rows:
            if row.is_stored_on_node:
                by_node[row.node_uid].append(row)
        machines = {node.uid: node for node in nodes}
        result = Poll()
        await asyncio.gather(*(self._end_on(result, machines.get(uid), group, call) for uid, group in by_node.items()))
        return result

    async def _poll_node(self, result: Poll, node: Node | None, rows: Sequence[Transfer], request: Request) -> None:
        if node is None:
            result.states |= {row.uid: _failed(row, f"Node {row.node_uid} was removed.") for row in rows}
            return
        try:
            states = await self._agents.transfer_states(node_ref(node), [row.uid for row in rows])
            for row, state in zip(rows, states, strict=True):
                result.states[row.uid] = await self._start(node, row, request) if state.state == "absent" else state
            self._silent_since.pop(node.uid, None)
        except AgentUnreachable:
            result.silent[node.uid] = self._silence(node.uid)
        except AgentRefused as error:
            result.states |= {row.uid: _failed(row, error.reason) for row in rows}

    async def _start(self, node: Node, row: Transfer, request: Request) -> TransferState:
        message = request(row)
        if message is None:
            return _failed(row, f"Shard redis:{row.shard_uids[0]} no longer exists." if row.shard_uids else "")
        try:
            state = await self._agents.start_transfer(node_ref(node), StartTransfer(id=row.uid, transfer=message))
        except AgentRefused as error:
            return _failed(row, error.reason)
        return _failed(row, state.error, state.error_code) if state.state == "absent" else state

    async def _end_on(self, result: Poll, node: Node | None, rows: Sequence[Transfer], call: _Call) -> None:
        identities = [row.uid for row in rows]
        if node is None:
            result.states |= {identity: TransferState(id=identity, state="absent") for identity in identities}
            return
        try:
            for state in await call(node_ref(node), identities):
                result.states[state.id] = state
            self._silent_since.pop(node.uid, None)
        except AgentRefused:  # an agent of an earlier release, which has no transfers
            result.states |= {identity: TransferState(id=identity, state="absent") for identity in identities}
        except AgentUnreachable:
            result.silent[node.uid] = self._silence(node.uid)

    def _silence(self, node_uid: int) -> float:
        now = time.monotonic()
        return now - self._silent_since.setdefault(node_uid, now)


def new_row(node_uid: int, kind: TransferKind, **columns: Any) -> Transfer:
    """Return the row of a transfer that will be requested in the next poll."""
    return Transfer(
        uid=uuid.uuid4().hex,
        node_uid=node_uid,
        kind=kind,
        status=TransferStatus.RUNNING,
        is_stored_on_node=True,
        created_at=datetime.now(UTC),
        **columns,
    )


def apply(row: Transfer, state: TransferState) -> None:
    """Write a state to the row."""
    if row.finished_at is not None:
        return
    if state.state == "running":
        _set_progress(row, state.progress.model_dump())
        return
    row.finished_at = datetime.now(UTC)
    if state.result is None:
        row.status, row.error_code = TransferStatus.FAILED, state.error_code
        row.error = as_sentence(state.error or "The transfer ended without a result")
        return
    try:
        checked = _RESULTS[row.kind].model_validate(state.result).model_dump() if row.kind in _RESULTS else state.result
    except ValidationError:
        row.status, row.error_code = TransferStatus.FAILED, "general-error"
        row.error = f"Node {row.node_uid} returned an invalid result."
        return
    _set_progress(row, {"keys": checked.get("restored", 0), **checked})
    transfers.set_result(row, checked)


def next_poll(rows: Sequence[Transfer], longest: float) -> float:
    """Return the seconds until the next poll: fewer while a transfer is young, because those of small databases end soon."""
    youngest = max((each.created_at for each in rows if each.finished_at is None), default=None)
    if youngest is None:
        return longest
    return min(longest, max(FIRST_POLL_SECONDS, (datetime.now(UTC) - youngest).total_seconds() / 2))


def abandon(row: Transfer, reason: str = "") -> None:
    """Stop waiting for a transfer. The clean-up loop removes it from its node."""
    if row.finished_at is None:
        row.status, row.finished_at, row.error = TransferStatus.ABANDONED, datetime.now(UTC), reason


def seconds_since_end(row: Transfer) -> float:
    return (datetime.now(UTC) - row.finished_at).total_seconds() if row.finished_at is not None else 0.0


def _failed(row: Transfer, reason: str, code: str = "general-error") -> TransferState:
    return TransferState(id=row.uid, state="ended", error=reason or "The transfer cannot start", error_code=code)


def _set_progress(row: Transfer, values: Mapping[str, Any]) -> None:
    for name in ("bytes", "raw_bytes", "keys"):
        if isinstance(value := values.get(name), int) and getattr(row, name) != value:
            setattr(row, name, value)
