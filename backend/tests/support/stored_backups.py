"""Backups in the store, without files, and databases with a schedule."""

from datetime import UTC, datetime
from typing import Any

from shardboard.console import Console
from shardboard.domain.data.manifest import Manifest, ManifestFile
from shardboard.state.cluster import actions
from shardboard.state.data import backups
from shardboard.state.data.backups import Backup
from shardboard.state.data.locations import BackupLocation
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb

LOCATION = {"type": "mount_point", "path": "/backups"}


async def add_location(console: Console, name: str = "vault") -> int:
    async with console.store.begin() as session:
        row = BackupLocation(name=name, location=LOCATION, created_at=datetime.now(UTC))
        session.add(row)
        await session.flush()
        return row.uid


async def configure(console: Console, bdb_uid: int, **fields: Any) -> None:
    """Change fields of a database directly."""
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, bdb_uid)
        bdb.config = {**bdb.config, **fields}


async def add_backup(console: Console, bdb_uid: int, created_at: datetime, *, keys: int = 3, **fields: Any) -> int:
    """Add a successful scheduled backup with a manifest of one file."""
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, bdb_uid)
        defaults: dict[str, Any] = {
            "location_name": "vault",
            "location": LOCATION,
            "path": "shop-1/then-1",
            "kind": "backup",
            "trigger": "schedule",
            "status": "succeeded",
            "finished_at": created_at,
            "raw_bytes": 1000,
            "keys": keys,
            "bdb": {
                "memory_size": bdb.memory_size,
                "sharding": bdb.sharding,
                "replication": bdb.replication,
                **{name: bdb.config[name] for name in ("shard_key_regex", "bigstore", "io_threads")},
            },
            "slots": {"0": "0-16383"},
            "shards_count": bdb.shards_count,
            "originator": "system",
            "action_uid": "",
        }
        row = Backup(bdb_uid=bdb_uid, bdb_name=bdb.name, created_at=created_at, **{**defaults, **fields})
        session.add(row)
        await session.flush()
        file = ManifestFile("0-16383.rdb.zst", "0-16383", 100, 1000, "0" * 64, keys)
        manifest = Manifest(row.uid, row.bdb, "9.1.2", created_at.isoformat(), created_at.isoformat(), [file])
        await backups.save_manifest(session, row.uid, manifest.as_json())
        return row.uid


async def all_backups(console: Console) -> list[Backup]:
    """Return all backups, oldest first."""
    async with console.store.read() as session:
        return sorted(await backups.page(session, limit=1000), key=lambda each: each.uid)


async def end_backups(console: Console) -> None:
    """Make all backups succeed, and end their actions."""
    now = datetime.now(UTC)
    async with console.store.begin() as session:
        for row in await backups.page(session, limit=1000):
            row.status, row.finished_at = "succeeded", now
        for action in await actions.list_unfinished(session):
            action.status, action.finished_at = "completed", now
        for bdb in await bdbs.list_all(session):
            bdb.action_uid = None
