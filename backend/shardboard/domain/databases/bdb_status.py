"""Status of a database (REST reference 3.1.1)."""

from enum import StrEnum


class BdbStatus(StrEnum):
    """Stored in `bdbs.status` and returned by the API."""

    PENDING = "pending"
    """Its shards are being started."""
    ACTIVE = "active"
    CHANGE_PENDING = "active-change-pending"
    """It serves requests while an action changes it."""
    DELETE_PENDING = "delete-pending"
    CREATION_FAILED = "creation-failed"
    IMPORT_PENDING = "import-pending"
    """It serves requests while keys are restored or imported into it."""
    RECOVERY = "recovery"


NEVER_SET = (BdbStatus.RECOVERY,)
"""Statuses of the REST reference that Shardboard does not use."""
IN_SERVICE = (BdbStatus.ACTIVE, BdbStatus.CHANGE_PENDING, BdbStatus.IMPORT_PENDING)
"""Statuses of databases whose shards have been started and are not being removed."""
