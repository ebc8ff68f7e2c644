"""Statuses and kinds of backups, restores and their transfers. All values are stored and returned by the API."""

from enum import StrEnum


class BackupKind(StrEnum):
    BACKUP = "backup"
    EXPORT = "export"
    """Requested with the export call of the Redis Enterprise REST API; its files are compressed with gzip."""


class BackupTrigger(StrEnum):
    MANUAL = "manual"
    SCHEDULE = "schedule"


class BackupStatus(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETING = "deleting"


class RestoreKind(StrEnum):
    RESTORE = "restore"
    """From a backup of this cluster, which has a manifest."""
    IMPORT = "import"
    """From files of any origin."""
    INSPECTION = "inspection"
    """Only reads files, and reports what an import of them would do. Writes nothing."""


class RestoreMode(StrEnum):
    REPLACE = "replace"
    """All keys are deleted first."""
    MERGE = "merge"


class RestoreStatus(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    SUCCEEDED_WITH_LOSSES = "succeeded_with_losses"
    """Some keys were not restored, or differ from the backup."""
    FAILED = "failed"
    CANCELLED = "cancelled"


SUCCESSES = frozenset({RestoreStatus.SUCCEEDED, RestoreStatus.SUCCEEDED_WITH_LOSSES})
"""Statuses of restores that wrote all keys that the engine can load."""


class Forecast(StrEnum):
    """Expected result of an import."""

    POSSIBLE = "possible"
    LOSSES = "losses"
    """Some keys cannot be imported."""
    IMPOSSIBLE = "impossible"


class TransferKind(StrEnum):
    """Kinds of transfers that the store records, as in `contract/transfers.py`."""

    SNAPSHOT = "snapshot"
    RECORD = "record"
    RESTORE = "restore"
    CHECK_FILES = "check_files"
    INSPECT = "inspect"
    WRITE_FILE = "write_file"
    DELETE_FILES = "delete_files"
    CHECK_LOCATION = "check_location"
    LIST_FILES = "list_files"
    READ_FILE = "read_file"


class TransferStatus(StrEnum):
    RUNNING = "running"
    """Requested, or about to be requested. A transfer that its agent does not know is requested again."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"
    """Its node did not respond, or it is no longer needed. It may still run until its node responds again."""
