"""Models of backups in the format of replies and the event stream."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.data.backup_progress import share_written
from shardboard.domain.data.statuses import (
    BackupKind,
    BackupStatus,
    BackupTrigger,
    TransferKind,
    TransferStatus,
)
from shardboard.domain.placement import slots
from shardboard.schemas.data.requests import DataRequest, OptionalUid
from shardboard.schemas.timestamps import iso


class BackupRequest(DataRequest):
    location_uid: OptionalUid = Field(
        description="Location of the backup. Default: the location of the database's schedule, or the only location."
    )


class StartedBackup(BaseModel):
    action_uid: str
    backup_uid: int


class StartedVerification(BaseModel):
    action_uid: str


class BackupFile(BaseModel):
    """The file of one replication pair."""

    shard_uid: int | None = Field(description="Shard that is backed up; null until it is chosen.")
    node_uid: int | None
    first_slot: int
    last_slot: int
    status: Literal["waiting", "running", "succeeded", "failed"]
    progress: float = Field(description="0-100")
    is_estimate: bool = Field(
        description="Whether `progress` is an estimate, based on the previous backup or on the used memory, while "
        "the file is written."
    )
    bytes: int
    raw_bytes: int
    keys: int
    error: str = Field(description="Why the last attempt failed; otherwise empty.")


class Verification(BaseModel):
    """Result of a verification."""

    at: str
    ok: bool
    detail: str = Field(description="Result in a sentence, or why it failed.")
    seconds: float = Field(description="Duration of the restore, or of the comparison of checksums.")
    keys: int = Field(description="Keys that were restored.")
    method: Literal["restore", "checksums"] = Field(
        description="`restore`: all keys were restored and compared. `checksums`: the console cannot decrypt the backup, so only "
        "the checksums of its files and of its manifest were compared."
    )


class Backup(BaseModel):
    """A backup or export of a database."""

    uid: int
    bdb_uid: int
    bdb_name: str
    location_uid: int | None = Field(description="Null if the location was part of the request.")
    location_name: str
    path: str = Field(description="Folder of its files in the location.")
    kind: str = Field(json_schema_extra={"enum": list(BackupKind)})
    trigger: str = Field(json_schema_extra={"enum": list(BackupTrigger)})
    status: str = Field(json_schema_extra={"enum": list(BackupStatus)})
    detail: str = Field(description="Message, for example why it failed; otherwise empty.")
    progress: float = Field(description="0-100")
    created_at: str
    finished_at: str | None
    bytes: int = Field(description="Size of its files.")
    raw_bytes: int = Field(description="Size without compression.")
    keys: int
    files: list[BackupFile]
    engine_version: str
    shards_count: int = Field(description="Number of primaries.")
    verified: Verification | None = Field(description="Result of the last verification; null if it was never verified.")
    runs: int = Field(description="Number of times it was started; more than 1 if it was resumed or retried.")
    resumable_until: str | None = Field(description="Until then, a failed backup can be resumed; otherwise null.")
    retry_at: str | None = Field(description="When a failed scheduled backup is retried automatically; otherwise null.")
    is_encrypted: bool
    recipients: list[str] = Field(description="Public keys for which its files are encrypted.")
    is_decryptable: bool = Field(
        description="Whether it is not encrypted, or the console stores one of its private keys. Verifications of other backups "
        "only compare checksums."
    )
    action_uid: str
    originator: str
    kept_because: str = Field(
        description="Why it is kept, separated by commas: rules of `backup_retention` of the database, `newest`, `manual`, "
        "`unfinished`, `failed`, `future` (it is dated in the future), or `no_rules`."
    )
    kept_until: str | None = Field(
        description="The rules do not delete it before this time. Null if the time is unknown, for example because "
        "it depends on newer backups."
    )


class TransferRow(Protocol):
    @property
    def node_uid(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def pair(self) -> int | None: ...
    @property
    def shard_uids(self) -> Sequence[int]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def raw_bytes(self) -> int: ...
    @property
    def keys(self) -> int: ...
    @property
    def error(self) -> str: ...


class BackupRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def bdb_uid(self) -> int: ...
    @property
    def bdb_name(self) -> str: ...
    @property
    def location_uid(self) -> int | None: ...
    @property
    def location_name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def trigger(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def finished_at(self) -> datetime | None: ...
    @property
    def bytes(self) -> int: ...
    @property
    def raw_bytes(self) -> int: ...
    @property
    def keys(self) -> int: ...
    @property
    def engine_version(self) -> str: ...
    @property
    def shards_count(self) -> int: ...
    @property
    def slots(self) -> dict[str, str]: ...
    @property
    def verified(self) -> dict[str, Any] | None: ...
    @property
    def runs(self) -> int: ...
    @property
    def resumable_until(self) -> datetime | None: ...
    @property
    def retry_at(self) -> datetime | None: ...
    @property
    def estimated_bytes(self) -> Mapping[str, int] | None: ...
    @property
    def recipients(self) -> Sequence[str]: ...
    @property
    def action_uid(self) -> str: ...
    @property
    def originator(self) -> str: ...
    @property
    def kept_because(self) -> str: ...
    @property
    def kept_until(self) -> datetime | None: ...
    @property
    def delete_error(self) -> str: ...


def render(
    row: BackupRow, transfers: Sequence[TransferRow], progress: float, *, is_decryptable: bool
) -> dict[str, Any]:
    """Render a backup with its transfers, oldest first. `progress` is that of its action."""
    attempts = {each.pair: each for each in transfers if each.kind == TransferKind.SNAPSHOT}
    estimates = row.estimated_bytes or {}
    return {
        "uid": row.uid,
        "bdb_uid": row.bdb_uid,
        "bdb_name": row.bdb_name,
        "location_uid": row.location_uid,
        "location_name": row.location_name,
        "path": row.path,
        "kind": row.kind,
        "trigger": row.trigger,
        "status": row.status,
        "detail": f"{row.detail} {row.delete_error}".strip(),
        "progress": progress,
        "created_at": iso(row.created_at),
        "finished_at": iso(row.finished_at) if row.finished_at else None,
        "bytes": row.bytes,
        "raw_bytes": row.raw_bytes,
        "keys": row.keys,
        "files": [
            _file(row, attempts.get(int(pair)), slots.parse(text), estimates.get(pair, 0))
            for pair, text in sorted(row.slots.items(), key=_pair)
        ],
        "engine_version": row.engine_version,
        "shards_count": row.shards_count,
        "verified": {"method": "restore", **row.verified} if row.verified else None,
        "runs": row.runs,
        "resumable_until": iso(row.resumable_until) if row.resumable_until else None,
        "retry_at": iso(row.retry_at) if row.retry_at else None,
        "is_encrypted": bool(row.recipients),
        "recipients": list(row.recipients),
        "is_decryptable": is_decryptable,
        "action_uid": row.action_uid,
        "originator": row.originator,
        "kept_because": row.kept_because,
        "kept_until": iso(row.kept_until) if row.kept_until else None,
    }


TRANSFER_STATUSES: dict[str, str] = {
    TransferStatus.RUNNING: "running",
    TransferStatus.SUCCEEDED: "succeeded",
    TransferStatus.FAILED: "failed",
    TransferStatus.ABANDONED: "failed",
}


def _pair(item: tuple[str, str]) -> int:
    return int(item[0])


def _file(row: BackupRow, attempt: TransferRow | None, ranges: slots.Ranges, expected_bytes: int) -> dict[str, Any]:
    # The transfers of a backup that was found in its location are unknown.
    missing = "succeeded" if row.status == BackupStatus.SUCCEEDED else "waiting"
    shown = missing if attempt is None else TRANSFER_STATUSES[attempt.status]
    share = share_written(attempt, expected_bytes) if attempt is not None else float(shown == "succeeded")
    return {
        "shard_uid": next(iter(attempt.shard_uids), None) if attempt is not None else None,
        "node_uid": attempt.node_uid if attempt is not None else None,
        "first_slot": ranges[0][0] if ranges else 0,
        "last_slot": ranges[-1][1] if ranges else slots.SLOTS - 1,
        "status": shown,
        "progress": round(100 * share, 1),
        "is_estimate": shown == "running",
        "bytes": attempt.bytes if attempt is not None else 0,
        "raw_bytes": attempt.raw_bytes if attempt is not None else 0,
        "keys": attempt.keys if attempt is not None else 0,
        "error": attempt.error if attempt is not None else "",
    }
