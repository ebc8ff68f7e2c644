"""Backups of the console: its store, with the console CA, the certificates, and all settings, in one encrypted file."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shardboard import __version__
from shardboard.domain.text import plural
from shardboard.kit import age, age_keys
from shardboard.pki.key_files import sync_directory
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_backups
from shardboard.store.console_archive import ArchiveError, Manifest, Unpacked, pack, unpack
from shardboard.store.db import Store
from shardboard.store.sqlite_copy import check, copy_to_sqlite, count_rows
from shardboard.store.store_copy import CopyError, Report
from shardboard.store.store_key import StoreKeyError, StoreKeys

BACKED_UP, RESTORED = "console_backed_up", "console_restored"
"""Types of events."""
READ_BYTES = 2**18


@dataclass(frozen=True)
class Encryption:
    """How a backup is encrypted. Without passphrase and public keys, the store key encrypts it."""

    passphrase: str | None = None
    recipients: Sequence[str] = ()

    @property
    def contains_store_key(self) -> bool:
        return self.passphrase is not None or bool(self.recipients)

    @property
    def content(self) -> str:
        return "store and store key" if self.contains_store_key else "store, without the store key"

    def encrypt(self, parts: Iterable[bytes], keys: StoreKeys) -> Iterator[bytes]:
        """Raises InvalidKey."""
        if self.passphrase is not None:
            return age.encrypt_with_passphrase(parts, self.passphrase)
        recipients = self.recipients or [age_keys.recipient_of(each) for each in keys.identities]
        return age.encrypt(parts, recipients)


async def create(
    store: Store, keys: StoreKeys, file: Path, directory: Path, encryption: Encryption, report: Report
) -> Manifest:
    """Write a backup to a new file, through the empty `directory`. The file appears when it is complete. Consoles can use the store
    at the same time. Raises CopyError, STORE_ERRORS, InvalidKey, and OSError.
    """
    copy = directory / "console.db"
    # In another event loop: the copy of a large store would delay samples and the lease of the leader.
    await asyncio.to_thread(asyncio.run, copy_to_sqlite(store.url, copy, report))
    async with store.read() as session:
        cluster = await clusters.load(session)
    manifest = Manifest(
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        release=__version__,
        cluster=cluster.name,
        store_key=keys.first,
        bytes=copy.stat().st_size,
    )
    archive = pack(manifest, copy, keys.file_content if encryption.contains_store_key else None)
    await asyncio.to_thread(_write, file, encryption.encrypt(archive, keys))
    return manifest


async def record_backup(store: Store, file: Path, encryption: Encryption, originator: str) -> None:
    message = f"The console was backed up to {file} ({encryption.content})."
    async with store.begin() as session:
        events.record(session, BACKED_UP, message, source="cluster", originator=originator)


def read(file: Path, directory: Path, identities: Sequence[str], passphrase: str | None) -> Unpacked:
    """Decrypt a backup, and write its content to the empty `directory`. Raises AgeError, ArchiveError, CopyError, and OSError."""
    with file.open("rb") as source:
        parts = iter(lambda: source.read(READ_BYTES), b"")
        unpacked = unpack(age.decrypt(parts, identities, passphrase), directory)
    check(unpacked.store)
    return unpacked


@dataclass(frozen=True)
class Verification:
    """Result of a verification."""

    ok: bool
    detail: str
    """A sentence: what the backup contains, or why it cannot be restored."""


def verify(file: Path, directory: Path, identities: Sequence[str], keys: StoreKeys) -> Verification:
    """Decrypt a backup, and check the store in it. Raises OSError."""
    try:
        unpacked = read(file, directory, identities, None)
    except age.WrongKey:
        reason = "None of the keys of this console belongs to it. Check a copy with restore-console --check."
        return Verification(ok=False, detail=f"The backup cannot be decrypted. {reason}")
    except (age.AgeError, ArchiveError) as error:
        return Verification(ok=False, detail=f"The backup {error}")
    except CopyError as error:
        return Verification(ok=False, detail=str(error))
    manifest = unpacked.manifest
    if unpacked.store_key is None and manifest.store_key not in keys.names:
        message = (
            f"The secrets in the backup are encrypted with the store key {manifest.store_key}, which is not configured."
        )
        return Verification(ok=False, detail=message)
    tables, rows = count_rows(unpacked.store)
    detail = f"Release {manifest.release}, {plural(tables, 'table')} with {plural(rows, 'row')}."
    return Verification(ok=True, detail=detail)


async def prepare(unpacked: Unpacked, store: Store, keys: StoreKeys, originator: str) -> None:
    """Migrate the store of a backup to this release, and record the restore in it. Raises ValueError, also without its key."""
    await store.check_release()
    if unpacked.manifest.store_key not in keys.names:
        raise StoreKeyError(
            f"The backup is encrypted with the store key {unpacked.manifest.store_key}, but this console has "
            f"{', '.join(keys.names)}. Add that key to the configured ones, after the first."
        )
    await store.migrate()
    created_at = unpacked.manifest.created_at
    message = f"The console was restored from the backup of {created_at}. Later changes are not in the store."
    async with store.begin() as session:
        await console_backups.delete_unfinished(session)
        events.record(session, RESTORED, message, source="cluster", severity="WARNING", originator=originator)


def _write(file: Path, parts: Iterable[bytes]) -> None:
    partial = file.with_name(f"{file.name}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            for part in parts:
                target.write(part)
            target.flush()
            os.fsync(target.fileno())
        partial.rename(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_directory(file.parent)
