"""Placement of a store that a command has prepared completely, so that a killed command leaves no half of it."""

import asyncio
import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from shardboard.cli.progress import print_progress
from shardboard.lifecycle.store_locks import KEY
from shardboard.pki.key_files import sync_directory
from shardboard.settings import Settings
from shardboard.store.store_copy import copy_store

STORE_FILES = ("console.db", "console.db-wal", "console.db-shm")


def contains_store(settings: Settings) -> bool:
    """Return whether the state directory has a SQLite store, if the console uses one."""
    return settings.database_url is None and (settings.state_dir / STORE_FILES[0]).exists()


def put_store(store: Path, settings: Settings, console_id: str) -> str:
    """Rename a SQLite store to its place, or copy it to an empty PostgreSQL database. Return a description of the place. A SQLite
    store that was there is kept. Raises CopyError and STORE_ERRORS.
    """
    if settings.database_url is not None:
        source = f"sqlite+aiosqlite:///{store}"
        return asyncio.run(copy_store(source, settings.store_url, console_id, KEY, print_progress)).target
    present = settings.state_dir / STORE_FILES[0]
    kept = _place(store, present)
    return f"{present}. The former store is {kept}" if kept else str(present)


def _place(store: Path, target: Path) -> Path | None:
    """Move the store to its place, and return the new name of the store that was there."""
    kept = None
    owner = target.parent.stat()
    os.chown(store, owner.st_uid, owner.st_gid)
    if target.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(target)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        kept = target.with_name(f"console.db.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S}Z")
        for name in reversed(STORE_FILES):
            with suppress(FileNotFoundError):
                target.with_name(name).rename(kept.with_name(name.replace("console.db", kept.name)))
    for name in STORE_FILES[1:]:  # of a store that was deleted
        target.with_name(name).unlink(missing_ok=True)
    store.rename(target)
    sync_directory(target.parent)
    return kept
