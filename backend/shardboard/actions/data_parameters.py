"""Parameters of backups, restores and imports."""

from dataclasses import dataclass

from shardboard.actions.parameters import Cancellable


@dataclass(frozen=True, kw_only=True)
class BackupParameters(Cancellable):
    """Backup or export of a database."""

    backup_uid: int


@dataclass(frozen=True, kw_only=True)
class RestoreParameters(Cancellable):
    """Restore or import into a database."""

    restore_uid: int
    verifies_files: bool = True
    """Whether files with a known checksum are read completely before keys are deleted."""
