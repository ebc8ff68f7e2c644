"""Fields of databases about scheduled backups. `domain/databases/backup_rules.py` validates the values."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from shardboard.domain.data import recordings, retention, schedules


class BackupSchedule(BaseModel):
    """When scheduled backups start. Omitted fields have their defaults."""

    model_config = ConfigDict(strict=True)

    cron: str = Field(
        default="",
        max_length=schedules.MAX_EXPRESSION,
        description="Five fields: minute, hour, day of month, month, day of week. Empty: `backup_interval` applies.",
    )
    time_zone: str = Field(
        default="UTC",
        max_length=64,
        description="Name in the time zone database, such as `Europe/Berlin`, for `cron` and the periods of `backup_retention`.",
    )
    window_minutes: int = Field(
        default=60,
        description="Minutes after the due time during which a backup that was missed or delayed by another action is "
        "started. Afterwards, it is skipped.",
        json_schema_extra={"minimum": 1, "maximum": schedules.MAX_WINDOW},
    )
    verify: bool = Field(
        default=False, description="Whether each scheduled backup is restored into a temporary database and compared."
    )
    record_changes: bool = Field(
        default=False,
        description="Whether all changes between backups are recorded, so that the database can be restored to a point in time.",
    )
    record_segment_seconds: int = Field(
        default=recordings.DEFAULT_SEGMENT,
        description="Seconds after which recorded changes are stored. Changes of this time can be lost with the nodes.",
        json_schema_extra={"minimum": recordings.MIN_SEGMENT, "maximum": recordings.MAX_SEGMENT},
    )


_KEPT: dict[str, JsonValue] = {"minimum": 0, "maximum": retention.MAX_KEPT}


class BackupRetention(BaseModel):
    """Rules for the backups to keep; others are deleted. 0 turns a rule off. Without any rule, all backups are kept.

    The newest successful backup is always kept.
    """

    model_config = ConfigDict(strict=True)

    count: int = Field(default=0, description="Number of newest backups.", json_schema_extra=_KEPT)
    days: int = Field(default=0, description="Days before the newest backup.", json_schema_extra=_KEPT)
    daily: int = Field(
        default=0, description="Days with a backup; the newest of each is kept.", json_schema_extra=_KEPT
    )
    weekly: int = Field(
        default=0, description="Weeks with a backup, from Monday; the newest of each is kept.", json_schema_extra=_KEPT
    )
    monthly: int = Field(
        default=0, description="Months with a backup; the newest of each is kept.", json_schema_extra=_KEPT
    )
    yearly: int = Field(
        default=0, description="Years with a backup; the newest of each is kept.", json_schema_extra=_KEPT
    )
    include_manual: bool = Field(
        default=False,
        description="Whether manual backups are deleted too. Otherwise they are kept until a user deletes them.",
    )
