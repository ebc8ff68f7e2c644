"""Models of the schedules of backups."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import BaseModel, Field

from shardboard.schemas.timestamps import iso


class BackupScheduleState(BaseModel):
    """State of the schedule of a database. The settings are fields of the database."""

    bdb_uid: int
    bdb_name: str
    schedule: str = Field(description="Interval, or cron expression with its time zone, as text.")
    next_at: str | None = Field(description="Next due time.")
    waiting_for: str = Field(description="Why a backup that is due has not been started yet; otherwise empty.")
    retry_at: str | None = Field(description="When the last backup, which failed, is retried; otherwise null.")
    last_backup_at: str | None = Field(
        description="Start of the newest successful backup. Later changes are not in any backup. Null if there is none."
    )
    recorded_until: str | None = Field(
        description="All changes before are recorded in the location. Null unless changes of all shards are recorded."
    )
    not_recorded: str = Field(description="Why changes are not recorded now; empty if they are, or if this is off.")


class ScheduleRow(Protocol):
    @property
    def bdb_uid(self) -> int: ...
    @property
    def schedule(self) -> str: ...
    @property
    def next_at(self) -> datetime | None: ...
    @property
    def waiting_for(self) -> str: ...


def render(
    row: ScheduleRow,
    bdb_name: str,
    last_backup_at: datetime | None,
    retry_at: datetime | None,
    recorded_until: datetime | None,
    not_recorded: str,
) -> dict[str, Any]:
    return {
        "bdb_uid": row.bdb_uid,
        "bdb_name": bdb_name,
        "schedule": row.schedule,
        "next_at": iso(row.next_at) if row.next_at else None,
        "waiting_for": row.waiting_for,
        "retry_at": iso(retry_at) if retry_at else None,
        "last_backup_at": iso(last_backup_at) if last_backup_at else None,
        "recorded_until": iso(recorded_until) if recorded_until else None,
        "not_recorded": not_recorded,
    }
