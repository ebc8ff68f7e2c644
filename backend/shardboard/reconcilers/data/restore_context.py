"""Rows that a step of a restore needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.contract.transfers import RestoreFile
from shardboard.domain.data import restore_plan
from shardboard.domain.data.statuses import RestoreMode, TransferKind, TransferStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.domain.placement import slots
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.reconcilers.data.locations import location_of
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import transfers
from shardboard.state.data.restores import Restore
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

EVERY_SLOT = ((0, slots.SLOTS - 1),)


@dataclass(frozen=True)
class RestoreContext:
    """Rows that a step needs."""

    row: Restore
    bdb: Bdb | None
    transfers: Sequence[Transfer]
    shards: Sequence[Shard]
    nodes: Sequence[Node]
    locations: Sequence[dict[str, Any] | None]
    """Of each source."""

    @property
    def checks(self) -> list[Transfer]:
        return [each for each in self.transfers if each.kind == TransferKind.CHECK_FILES]

    @property
    def lists(self) -> list[Transfer]:
        """Lists of files with recorded changes."""
        return [each for each in self.transfers if each.kind == TransferKind.LIST_FILES]

    @property
    def writes(self) -> list[Transfer]:
        return [each for each in self.transfers if each.kind == TransferKind.RESTORE]

    @property
    def inspections(self) -> list[Transfer]:
        return [each for each in self.transfers if each.kind == TransferKind.INSPECT]

    @property
    def running(self) -> list[Transfer]:
        return [each for each in self.writes if each.finished_at is None]

    @property
    def has_changed_keys(self) -> bool:
        """Whether keys may have been deleted or written."""
        return self.row.erased_at is not None or bool(self.writes)

    @property
    def is_blocked(self) -> bool:
        """Whether a process on a node may still write to a primary."""
        may_run = (TransferStatus.RUNNING, TransferStatus.ABANDONED)
        is_primary = {row.uid for row in self.primaries}
        return any(
            each.is_stored_on_node and each.status in may_run and is_primary & set(each.shard_uids)
            for each in self.writes
        )

    @property
    def primaries(self) -> list[Shard]:
        return [
            row
            for row in self.shards
            if row.current_role == ShardRole.PRIMARY and row.observed_status != ShardStatus.DOWN
        ]

    @property
    def missing_pairs(self) -> list[int]:
        """Replication pairs without an available primary."""
        return sorted({row.pair for row in self.shards} - {row.pair for row in self.primaries})

    def identities(self, source: int) -> list[str]:
        """Return the private keys of a source; none if it is not encrypted."""
        keys: list[str] = self.row.sources[source].get("identities") or []
        return keys

    @property
    def unerased(self) -> list[Shard]:
        """Primaries that may have keys from before a restore that replaces all keys."""
        if self.row.mode != RestoreMode.REPLACE:
            return []
        if self.writes and not self.row.erased_shards:  # an earlier release deleted the keys
            return []
        return [row for row in self.primaries if row.uid not in self.row.erased_shards]

    def slots_of(self, shard: Shard) -> slots.Ranges:
        """Return the selected slots of a shard."""
        owned = slots.parse(shard.slots) if self.bdb is not None and self.bdb.sharding else EVERY_SLOT
        return slots.intersect(owned, slots.parse(self.row.slots)) if self.row.slots else owned

    def files(self, source: int, targets: Sequence[Shard]) -> list[RestoreFile]:
        """Return the files of a source that can contain keys of these primaries."""
        return [
            RestoreFile(path=each["path"], sha256=each["sha256"], **self._changes(each))
            for each in self.row.sources[source]["files"]
            if any(
                restore_plan.overlaps(slots.parse(each["slots"]) or EVERY_SLOT, self.slots_of(shard))
                for shard in targets
            )
        ]

    def _changes(self, file: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields about recorded changes of a file."""
        if self.row.until is None:
            return {}
        until = epoch_ms(self.row.until)
        return {
            "changes": file.get("changes", []),
            "changes_after": file["recording"]["offset"],
            "changes_until": until,
            "changes_slots": list(slots.parse(file["slots"]) or EVERY_SLOT),
        }


def epoch_ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


async def load_context(session: AsyncSession, row: Restore) -> RestoreContext:
    """Return all rows that concern a restore."""
    return RestoreContext(
        row=row,
        bdb=await bdbs.by_uid(session, row.bdb_uid),
        transfers=await transfers.list_for_restores(session, [row.uid]),
        shards=await shards.list_for_bdb(session, row.bdb_uid),
        nodes=await nodes.list_all(session),
        locations=[await location_of(session, each["location_uid"], each["location"]) for each in row.sources],
    )
