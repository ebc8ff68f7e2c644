"""`shardboard migrate-store`: copy the SQLite store of a state directory to PostgreSQL."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import URL

import shardboard.state  # noqa: F401 - registers the tables
from shardboard.app import lock_state_dir
from shardboard.cli.progress import print_progress
from shardboard.errors import CommandError
from shardboard.kit.database_url import parse, secrets_of
from shardboard.lifecycle.store_locks import KEY
from shardboard.settings import Settings
from shardboard.store.db import STORE_ERRORS
from shardboard.store.store_copy import CopyError, copy_store
from shardboard.store.transient_errors import describe_error, is_transient


def migrate_store(target: str, password_file: Path | None) -> str:
    """Copy the store. Return a message. Raises CommandError."""
    settings = Settings()
    if settings.database_url is not None:
        raise CommandError(
            "SHARDBOARD_DATABASE_URL is set. Unset it to copy the SQLite store of the state directory, and set --to to the URL"
        )
    if not (settings.state_dir / "console.db").exists():
        raise CommandError(
            f"there is no SQLite store in {settings.state_dir}. Set SHARDBOARD_STATE_DIR as for the console"
        )
    try:
        url = _target_url(target, password_file)
        console_id = lock_state_dir(settings.state_dir)
        summary = asyncio.run(
            copy_store(settings.store_url, url.render_as_string(hide_password=False), console_id, KEY, print_progress)
        )
    except CopyError as error:
        raise CommandError(str(error)) from error
    except STORE_ERRORS as error:
        hint = "Run the command again to continue" if is_transient(error) else "Check --to"
        raise CommandError(f"the copy was interrupted: {describe_error(error)}. {hint}") from error
    except ValueError as error:
        raise CommandError(str(error).replace("SHARDBOARD_DATABASE_URL", "--to")) from error
    return (
        f"{summary.rows} rows in {summary.tables} tables were copied to {summary.target} and verified.\n"
        f"Set SHARDBOARD_DATABASE_URL for the console and start it. The store key is still required.\n"
        f"{settings.state_dir / 'console.db'} is kept as a copy of the current state, and is no longer used."
    )


def _target_url(target: str, password_file: Path | None) -> URL:
    url = parse(target)
    if url.get_backend_name() != "postgresql":
        raise ValueError("SHARDBOARD_DATABASE_URL must be a URL like postgresql://USER@HOST/DATABASE.")
    if secrets_of(target):
        raise CommandError(
            "other users of this machine can read arguments. Put the password into a file and use --password-file"
        )
    try:
        return url if password_file is None else url.set(password=password_file.read_text().removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the password file {password_file} is not readable") from error
