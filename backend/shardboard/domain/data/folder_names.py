"""Names of the folders and files of backups."""

import re
from datetime import UTC, datetime

from shardboard.domain.placement.slots import SLOTS, Ranges

MANIFEST = "manifest.json"
MAX_NAME = 30
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
EXTENSIONS = {"zstd": "zst", "gzip": "gz"}


def database_folder(name: str, uid: int) -> str:
    """Return the folder of a database: its name with only letters, digits, `-` and `_`, and its uid."""
    return f"{_UNSAFE.sub('-', name)[:MAX_NAME].strip('-') or 'db'}-{uid}"


def backup_folder(name: str, bdb_uid: int, backup_uid: int, moment: datetime) -> str:
    """Return the folder of a backup. The uid makes it unique for backups in the same second."""
    return f"{database_folder(name, bdb_uid)}/{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}-{backup_uid}"


def changes_folder(name: str, bdb_uid: int, ranges: Ranges, recording: str) -> str:
    """Return the folder of a recording of a replication pair. `recording` makes it unique."""
    first, last = (ranges[0][0], ranges[-1][1]) if ranges else (0, SLOTS - 1)
    return f"{database_folder(name, bdb_uid)}/changes/{first}-{last}/{recording}"


def file_name(ranges: Ranges, attempt: int, compression: str, *, is_encrypted: bool = False) -> str:
    """Return the name of the file of a replication pair.

    Each attempt has its own name: an attempt on a node that does not respond can still write its file later.
    """
    first, last = (ranges[0][0], ranges[-1][1]) if ranges else (0, SLOTS - 1)
    suffix = f"-{attempt}" if attempt > 1 else ""
    return f"{first}-{last}{suffix}.rdb.{EXTENSIONS[compression]}{'.age' if is_encrypted else ''}"


def is_safe_name(name: str) -> bool:
    """Return whether a name from a manifest is the name of a file in its own folder."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}", name) is not None and ".." not in name
