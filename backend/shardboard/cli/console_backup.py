"""`shardboard backup-console` and `shardboard restore-console`."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import shardboard.state  # noqa: F401 - registers the tables
from shardboard.app import locked_state_dir
from shardboard.cli import location_files
from shardboard.cli.progress import print_progress
from shardboard.cli.secret_files import read_identities, read_passphrase
from shardboard.cli.store import SHELL, opened
from shardboard.cli.store_placement import contains_store, put_store
from shardboard.domain.text import plural
from shardboard.errors import CommandError
from shardboard.kit import age_keys
from shardboard.kit.age import AgeError, WrongKey
from shardboard.kit.age_keys import InvalidKey
from shardboard.kit.bus import Bus
from shardboard.kit.work_directory import work_directory
from shardboard.pki.key_files import write_private
from shardboard.services.cluster import console_backup_file
from shardboard.services.cluster.console_backup_file import Encryption
from shardboard.settings import Settings
from shardboard.store.console_archive import ArchiveError, Manifest, Unpacked
from shardboard.store.db import STORE_ERRORS, Store
from shardboard.store.store_copy import CopyError
from shardboard.store.store_key import FileStoreKeys, StoreKeyError, StoreKeys, is_key_file_missing, store_keys
from shardboard.store.transient_errors import describe_error

WORK = ".console-backup-"
MIN_PASSPHRASE = 12


def backup_console(file: Path, passphrase_file: Path | None, recipients: Sequence[str]) -> str:
    """Write a backup of the console. Return a message. Raises CommandError, like all functions here."""
    if file.exists():
        raise CommandError(f"{file} already exists. Choose another name")
    if not file.parent.is_dir():
        raise CommandError(f"the directory {file.parent} does not exist")
    encryption = Encryption(read_passphrase(passphrase_file), recipients)
    if encryption.passphrase is not None and len(encryption.passphrase) < MIN_PASSPHRASE:
        raise CommandError(f"the passphrase must have at least {MIN_PASSPHRASE} characters")
    try:
        for recipient in recipients:
            age_keys.parse_recipient(recipient)
        manifest = asyncio.run(_create(file, encryption))
    except InvalidKey as error:
        raise CommandError(f"--recipient {error}") from error
    except (CopyError, OSError) as error:
        raise CommandError(f"the backup failed: {error}") from error
    except STORE_ERRORS as error:
        raise CommandError(f"the backup failed: {describe_error(error)}") from error
    size = f"{plural(file.stat().st_size, 'byte')}, {manifest.bytes:,} before compression"
    hint = (
        ""
        if encryption.contains_store_key
        else "\nA restore requires the store key. Keep a copy of it on another machine."
    )
    return f"Backed up {encryption.content} of {manifest.cluster} to {file} ({size}).{hint}"


async def _create(file: Path, encryption: Encryption) -> Manifest:
    directory = Settings().state_dir
    async with opened() as (store, keys):
        with work_directory(directory, WORK) as work:
            manifest = await console_backup_file.create(store, keys, file, work, encryption, print_progress)
        await console_backup_file.record_backup(store, file, encryption, SHELL)
    return manifest


def restore_console(
    file: Path,
    passphrase_file: Path | None,
    identity_file: Path | None,
    *,
    location_file: Path | None = None,
    replace: bool = False,
    only_check: bool = False,
) -> str:
    """Restore a backup while the console is stopped, or only check it. Return a message.

    With a location file (`location_files.fetch`), `file` is a path in this location.
    """
    settings = Settings()
    directory = settings.state_dir
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if only_check:
            with work_directory(directory, WORK) as work:
                unpacked = _read(file, location_file, work, settings, passphrase_file, identity_file)
                return f"{file} is complete. {_describe(unpacked)}"
        with locked_state_dir(directory) as console_id:
            if contains_store(settings) and not replace:
                raise CommandError(f"{directory} contains a store. Use --replace, which keeps it under another name")
            with work_directory(directory, WORK) as work:
                unpacked = _read(file, location_file, work, settings, passphrase_file, identity_file)
                asyncio.run(_prepare(unpacked, _complete_keys(settings, unpacked)))
                target = put_store(unpacked.store, settings, console_id)
    except (CopyError, StoreKeyError, ValueError) as error:
        raise CommandError(str(error)) from error
    except STORE_ERRORS as error:
        raise CommandError(f"the restore failed: {describe_error(error)}") from error
    return f"Restored {_describe(unpacked)}\nThe store is {target}.\nStart the console."


def _read(
    file: Path,
    location_file: Path | None,
    directory: Path,
    settings: Settings,
    passphrase_file: Path | None,
    identity_file: Path | None,
) -> Unpacked:
    """Decrypt a backup that can be in a storage location."""
    if location_file is None:
        return read_backup(file, directory, settings, passphrase_file, identity_file)
    copy = directory / "backup.age"
    location_files.fetch(location_file, str(file), copy)
    return read_backup(copy, directory, settings, passphrase_file, identity_file)


def read_backup(
    file: Path, directory: Path, settings: Settings, passphrase_file: Path | None, identity_file: Path | None
) -> Unpacked:
    """Decrypt a backup into a directory. Raises CommandError, StoreKeyError, and CopyError."""
    identities = read_identities(identity_file)
    if not is_key_file_missing(settings):
        identities += store_keys(settings).identities
    try:
        return console_backup_file.read(file, directory, identities, read_passphrase(passphrase_file))
    except WrongKey as error:
        raise CommandError(
            f"{file} {error} Use --passphrase-file or --identity-file, or configure the store key in the same way as "
            f"for the console."
        ) from error
    except (AgeError, ArchiveError) as error:
        raise CommandError(f"{file} {error}") from error
    except OSError as error:
        raise CommandError(f"{error.filename or file} could not be read or written: {error.strerror}") from error


async def _prepare(unpacked: Unpacked, keys: StoreKeys) -> None:
    store = Store(f"sqlite+aiosqlite:///{unpacked.store}", Bus(), keys)
    try:
        await console_backup_file.prepare(unpacked, store, keys, SHELL)
    finally:
        await store.close()


def _complete_keys(settings: Settings, unpacked: Unpacked) -> StoreKeys:
    """Return the keys of the console. A key of the backup is added to the file with the keys, if they are in a file."""
    content = unpacked.store_key
    if is_key_file_missing(settings):
        if content is None:
            raise StoreKeyError(
                "The backup does not contain the store key. Configure it in the same way as for the console."
            )
        _write_keys(settings.key_file, content)
        return FileStoreKeys(settings.key_file)
    keys = store_keys(settings)
    if content is not None and isinstance(keys, FileStoreKeys):
        missing = [line for line in content.split() if StoreKeys([line]).first not in keys.names]
        if missing:
            _write_keys(settings.key_file, keys.file_content + "".join(f"{line}\n" for line in missing))
            keys = FileStoreKeys(settings.key_file)
    return keys


def _write_keys(file: Path, content: str) -> None:
    like = file.stat() if file.exists() else os.stat_result((0o600, *file.parent.stat()[1:]))
    write_private(file, content.encode(), like)


def _describe(unpacked: Unpacked) -> str:
    manifest = unpacked.manifest
    key = "with" if unpacked.store_key is not None else "without"
    return (
        f"Backup of {manifest.cluster}, {manifest.created_at}, release {manifest.release}, {key} the store key "
        f"{manifest.store_key}."
    )
