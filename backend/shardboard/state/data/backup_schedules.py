"""Schedules of backups: up to when their due times were handled. The settings are fields of the databases."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Text, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class BackupSchedule(Base):
    """The schedule of one database. The row is written by the loop that starts backups."""

    __tablename__ = "backup_schedules"

    bdb_uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    schedule: Mapped[str]
    """Interval or cron expression as text. If the settings differ, the schedule starts again."""
    since: Mapped[datetime] = mapped_column(UtcDateTime)
    """When it started to apply."""
    handled_until: Mapped[datetime] = mapped_column(UtcDateTime)
    """All due times until then were started or skipped."""
    next_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Next due time; None if there is none."""
    waiting_for: Mapped[str] = mapped_column(Text, default="")
    """Why a backup that is due has not been started yet; otherwise empty."""


async def by_bdb(session: AsyncSession, bdb_uid: int) -> BackupSchedule | None:
    return await session.get(BackupSchedule, bdb_uid)


async def list_all(session: AsyncSession) -> Sequence[BackupSchedule]:
    """Return all schedules by the uid of the database."""
    return (await session.execute(select(BackupSchedule).order_by(BackupSchedule.bdb_uid))).scalars().all()
