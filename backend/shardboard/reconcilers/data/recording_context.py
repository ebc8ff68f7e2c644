"""Rows that a step of the recordings needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.locations import Location
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.data.backup_plan import Copy
from shardboard.domain.data.location_fields import with_own_type
from shardboard.domain.data.recordings import EndReason, is_lost
from shardboard.domain.databases import backup_rules
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.domain.databases.shard_status import is_ready
from shardboard.domain.placement import slots
from shardboard.reconcilers.data.locations import location_of
from shardboard.state.cluster import actions, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import locations, recordings, restore_points, transfers
from shardboard.state.data.recordings import Recording
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

SLOT_MOVES = (ActionName.RESHARD_BDB, ActionName.REPAIR_BDB)
"""Actions after whose start a recording of a pair cannot be used: keys of slots that leave are deleted, and those of slots that
arrive are missing in the backup."""
EVERY_SLOT = slots.render(((0, slots.SLOTS - 1),))


@dataclass(frozen=True)
class Target:
    """Where and how the changes of a database are recorded."""

    location_uid: int | None
    location: dict[str, Any]
    """With its current credentials."""
    recipients: list[str]
    segment_seconds: int

    @property
    def inline(self) -> dict[str, Any] | None:
        return self.location if self.location_uid is None else None

    @property
    def digest(self) -> str:
        return restore_points.digest(self.location)


@dataclass(frozen=True)
class RecordingContext:
    """Rows of one database."""

    bdb_uid: int
    bdb: Bdb | None
    """None: it was deleted."""
    target: Target | None
    """None: its changes are not recorded."""
    recordings: Sequence[Recording]
    shards: Sequence[Shard]
    nodes: Sequence[Node]
    slot_moves: Sequence[datetime]
    """When actions that move slots were requested, oldest first."""
    is_moving_slots: bool
    running: dict[int, Transfer] = field(default_factory=dict)
    """Transfers that have not ended, by the uid of their recording."""

    @property
    def open(self) -> list[Recording]:
        return [each for each in self.recordings if each.ended_at is None]

    @property
    def slots_by_pair(self) -> dict[int, str]:
        is_sharded = self.bdb is not None and self.bdb.sharding
        return {row.pair: row.slots if is_sharded else EVERY_SLOT for row in self.shards}

    def copies(self, pair: int) -> list[Copy]:
        available = {node.uid for node in self.nodes if node.is_available}
        return [
            Copy(
                row.uid,
                row.pair,
                row.node_uid,
                row.current_role,
                is_ready(row.observed_status, row.current_role, row.observed_link),
                row.node_uid in available,
            )
            for row in self.shards
            if row.pair == pair
        ]

    def moved_at(self, row: Recording) -> datetime | None:
        """Return when the first action that moves slots was requested since the recording was started; None if there is none."""
        return next((each for each in self.slot_moves if each >= row.created_at), None)

    def end_reason(self, row: Recording) -> EndReason | None:
        """Return why a recording must end; None if it continues."""
        if self.target is None:
            return EndReason.STOPPED
        if self.moved_at(row) is not None or self.slots_by_pair.get(row.pair) != row.slots:
            return EndReason.SLOTS_MOVED
        current = (self.target.location_uid, self.target.inline, self.target.recipients)
        if (row.location_uid, row.location, row.recipients) != current:
            return EndReason.LOCATION_CHANGED
        return EndReason.STREAM_LOST if is_lost(self.copies(row.pair), row.lost_on) else None

    def must_stop(self, row: Recording) -> bool:
        """Return whether the transfer of a recording must end, for good or to start again with other settings."""
        target = self.target
        if target is None or self.end_reason(row) is not None:
            return True
        if (row.segment_seconds, row.location_digest) != (target.segment_seconds, target.digest):
            return True
        ready = {each.shard_uid for each in self.copies(row.pair) if each.is_in_sync and each.is_reachable}
        return bool(ready) and row.shard_uid not in ready  # a replica without its primary receives no changes


async def load_contexts(session: AsyncSession) -> list[RecordingContext]:
    """Return the contexts of databases whose changes are or were recorded."""
    rows = await recordings.list_all(session)
    databases = {bdb.uid: bdb for bdb in await bdbs.list_all(session)}
    targets = {uid: target for uid, bdb in databases.items() if (target := await _target(session, bdb)) is not None}
    uids = {*targets, *(row.bdb_uid for row in rows if row.ended_at is None)}
    if not uids:
        return []
    machines = await nodes.list_all(session)
    running = {
        each.recording_uid: each
        for each in await transfers.list_for_recordings(session)
        if each.finished_at is None and each.recording_uid is not None
    }
    contexts = []
    for uid in sorted(uids):
        moves = [each for name in SLOT_MOVES for each in await actions.list_attempts_for_bdb(session, uid, name)]
        own = [row for row in rows if row.bdb_uid == uid]
        contexts.append(
            RecordingContext(
                bdb_uid=uid,
                bdb=databases.get(uid),
                target=targets.get(uid),
                recordings=own,
                shards=await shards.list_for_bdb(session, uid),
                nodes=machines,
                slot_moves=sorted(each.created_at for each in moves),
                is_moving_slots=any(each.finished_at is None for each in moves),
                running={row.uid: running[row.uid] for row in own if row.uid in running},
            )
        )
    return contexts


_LOCATION: TypeAdapter[Location] = TypeAdapter(Location)


def _parsed(location: dict[str, Any]) -> dict[str, Any] | None:
    """Return a location in the form that is stored with backups; None if there is none."""
    try:
        parsed: dict[str, Any] = _LOCATION.validate_python(with_own_type(location)).model_dump(mode="json")
    except ValidationError:
        return None
    return parsed


async def _target(session: AsyncSession, bdb: Bdb) -> Target | None:
    seconds = backup_rules.policy_of(bdb.config).segment_seconds
    if seconds is None or bdb.status not in IN_SERVICE:
        return None
    inline = _parsed(bdb.config.get("backup_location") or {})
    uid = None if inline else bdb.config.get("backup_location_uid") or None
    location = await location_of(session, uid, inline)
    if location is None:
        return None
    stored = await locations.by_uid(session, uid) if uid is not None else None
    return Target(uid, location, list(stored.recipients) if stored is not None else [], seconds)
