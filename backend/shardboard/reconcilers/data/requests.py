"""Requests of loops that users make too. The console passes their implementation to the loops, because it belongs to the services.

Each runs in the transaction of the caller, who holds the lock of the cluster row, and can raise ApiError.
"""

from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.cluster.actions import Action
from shardboard.state.data.backups import Backup
from shardboard.state.data.restores import Restore
from shardboard.state.databases.bdbs import Bdb


class DataRequests(Protocol):
    async def start_backup(self, session: AsyncSession, bdb: Bdb) -> Backup:
        """Start a scheduled backup of a database to the location of its schedule."""

    async def retry_backup(self, session: AsyncSession, bdb: Bdb, backup: Backup) -> Backup:
        """Resume a scheduled backup that failed, or start another one if it cannot be resumed."""

    async def delete_backup(self, session: AsyncSession, backup: Backup) -> None:
        """Start the deletion of a backup and its files."""

    async def create_temporary_database(self, session: AsyncSession, backup: Backup, action: Action) -> Bdb:
        """Create a database with the settings of the backup's database, without traffic, for a verification."""

    async def start_restore(self, session: AsyncSession, bdb: Bdb, backup: Backup, originator: str) -> Restore:
        """Start the restore of a backup into an empty database."""

    async def delete_database(self, session: AsyncSession, bdb: Bdb) -> None:
        """Start the deletion of a database."""
