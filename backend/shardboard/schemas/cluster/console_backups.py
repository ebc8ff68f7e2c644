"""Models of backups of the console."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.domain.cluster.console_backups import MAX_KEPT, ConsoleBackupStatus
from shardboard.domain.data.schedules import MAX_EXPRESSION
from shardboard.schemas.timestamps import iso


class ConsoleVerification(BaseModel):
    at: str
    ok: bool
    detail: str = Field(description="Contents of the backup, or why it cannot be restored.")


class ConsoleBackup(BaseModel):
    uid: int
    location_uid: int
    location_name: str = Field(description="Empty if the location was deleted.")
    path: str = Field(description="Path of the file in the location; empty until the backup runs.")
    status: ConsoleBackupStatus
    detail: str = Field(description="Why it failed or cannot be deleted.")
    is_scheduled: bool
    originator: str
    created_at: str
    finished_at: str | None
    bytes: int | None = Field(description="Size of the file.")
    sha256: str
    has_store_key: bool = Field(
        description="Whether the file contains the store key. Otherwise, it is encrypted with the store key."
    )
    is_verifying: bool
    verified: ConsoleVerification | None = Field(description="Result of the last verification; null: never verified.")


class NewConsoleBackup(BaseModel):
    location_uid: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Location of the backup. Default: the location of the schedule, or the only location.",
    )


class ConsoleBackupScheduleSettings(BaseModel):
    location_uid: int = Field(ge=1, le=2**31 - 1)
    cron: str = Field(max_length=MAX_EXPRESSION, description="Cron expression with five fields, such as `30 2 * * *`.")
    time_zone: str = Field(default="UTC", max_length=64, description="Name in the time zone database.")
    keep: int = Field(
        default=30, ge=1, le=MAX_KEPT, description="Number of successful scheduled backups that are kept."
    )


class ConsoleBackupSchedule(ConsoleBackupScheduleSettings):
    next_at: str | None = Field(description="Next due time.")


class BackupRow(Protocol):
    @property
    def uid(self) -> int: ...
    @property
    def location_uid(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def is_scheduled(self) -> bool: ...
    @property
    def originator(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def finished_at(self) -> datetime | None: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def sha256(self) -> str: ...
    @property
    def has_store_key(self) -> bool: ...
    @property
    def is_verifying(self) -> bool: ...
    @property
    def verified(self) -> dict[str, Any] | None: ...


class ScheduleRow(Protocol):
    @property
    def location_uid(self) -> int: ...
    @property
    def cron(self) -> str: ...
    @property
    def time_zone(self) -> str: ...
    @property
    def keep(self) -> int: ...
    @property
    def next_at(self) -> datetime | None: ...


def render(row: BackupRow, location_name: str) -> dict[str, Any]:
    return {
        "uid": row.uid,
        "location_uid": row.location_uid,
        "location_name": location_name,
        "path": row.path,
        "status": row.status,
        "detail": row.detail,
        "is_scheduled": row.is_scheduled,
        "originator": row.originator,
        "created_at": iso(row.created_at),
        "finished_at": iso(row.finished_at) if row.finished_at else None,
        "bytes": row.bytes,
        "sha256": row.sha256,
        "has_store_key": row.has_store_key,
        "is_verifying": row.is_verifying,
        "verified": row.verified,
    }


def render_schedule(row: ScheduleRow) -> dict[str, Any]:
    return {
        "location_uid": row.location_uid,
        "cron": row.cron,
        "time_zone": row.time_zone,
        "keep": row.keep,
        "next_at": iso(row.next_at) if row.next_at else None,
    }
