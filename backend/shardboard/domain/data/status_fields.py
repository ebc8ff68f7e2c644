"""Fields of a database about its last backup, export and import, as in the Redis Enterprise REST API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardboard.domain.data.statuses import BackupStatus, RestoreStatus

_BACKUP: Mapping[str, str] = {
    BackupStatus.RUNNING: "exporting",
    BackupStatus.SUCCEEDED: "succeeded",
    BackupStatus.FAILED: "failed",
    BackupStatus.CANCELLED: "failed",
}
_IMPORT: Mapping[str, str] = {
    RestoreStatus.RUNNING: "importing",
    RestoreStatus.SUCCEEDED: "succeeded",
    RestoreStatus.SUCCEEDED_WITH_LOSSES: "succeeded",
    RestoreStatus.FAILED: "failed",
    RestoreStatus.CANCELLED: "failed",
}
_BACKUP_REASONS = frozenset({"no-permission", "wrong-file-path"})
_IMPORT_REASONS = frozenset(
    {
        "download-error",
        "file-corrupted",
        "general-error",
        "file-larger-than-mem-limit",
        "key-too-long",
        "invalid-bulk-length",
    }
)
"""Codes of the Redis Enterprise REST API. Others are reported as `general-error`."""


@dataclass(frozen=True)
class LastOperation:
    """The newest backup, export or import of a database."""

    status: str
    error_code: str
    progress: float
    """Of its action; 0-100."""
    is_hidden: bool
    """Whether its result was hidden with the reset call."""


def status_fields(kind: str, last: LastOperation | None) -> dict[str, Any]:
    """Return status, progress and failure reason. `kind` is `backup`, `export` or `import`."""
    statuses, reasons = (_IMPORT, _IMPORT_REASONS) if kind == "import" else (_BACKUP, _BACKUP_REASONS)
    if last is None or last.is_hidden or last.status not in statuses:  # a backup that is being deleted has no status
        return {f"{kind}_status": "", f"{kind}_progress": 0, f"{kind}_failure_reason": ""}
    shown = statuses[last.status]
    reason = (last.error_code if last.error_code in reasons else "general-error") if shown == "failed" else ""
    return {f"{kind}_status": shown, f"{kind}_progress": round(last.progress), f"{kind}_failure_reason": reason}
