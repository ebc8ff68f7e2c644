"""Rows that a step of a backup needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.policy import Policy
from shardboard.domain.data.statuses import TransferKind, TransferStatus
from shardboard.reconcilers.data.locations import location_of
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import transfers
from shardboard.state.data.backups import Backup
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard


@dataclass(frozen=True)
class BackupContext:
    """Rows that a step needs."""

    row: Backup
    bdb: Bdb | None
    transfers: Sequence[Transfer]
    shards: Sequence[Shard]
    nodes: Sequence[Node]
    location: dict[str, Any] | None
    rules: Policy

    @property
    def snapshots(self) -> list[Transfer]:
        return [each for each in self.transfers if each.kind == TransferKind.SNAPSHOT]

    @property
    def attempts(self) -> list[Transfer]:
        """Snapshots that succeeded, and those of the current run."""
        return [each for each in self.snapshots if each.run == self.row.runs or each.status == TransferStatus.SUCCEEDED]

    @property
    def manifests(self) -> list[Transfer]:
        """Attempts to write the manifest in the current run."""
        return [each for each in self.transfers if each.kind == TransferKind.WRITE_FILE and each.run == self.row.runs]

    @property
    def slots_by_pair(self) -> dict[int, str]:
        return {int(pair): text for pair, text in self.row.slots.items()}


async def load_context(session: AsyncSession, row: Backup) -> BackupContext:
    """Return all rows that concern a backup."""
    return BackupContext(
        row=row,
        bdb=await bdbs.by_uid(session, row.bdb_uid),
        transfers=await transfers.list_for_backups(session, [row.uid]),
        shards=await shards.list_for_bdb(session, row.bdb_uid),
        nodes=await nodes.list_all(session),
        location=await location_of(session, row.location_uid, row.location),
        rules=(await clusters.load(session)).rules,
    )
