"""Backups of the console in storage locations, and their schedule."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, delete, false, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.cluster.console_backups import UNFINISHED, ConsoleBackupStatus
from shardboard.store.db import Base, UtcDateTime


class ConsoleBackupSchedule(Base):
    """The schedule, in one row; without the row, backups are not scheduled."""

    __tablename__ = "console_backup_schedule"
    __table_args__ = (CheckConstraint("uid = 1", name="ck_console_backup_schedule_one_row"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    location_uid: Mapped[int]
    cron: Mapped[str]
    time_zone: Mapped[str]
    keep: Mapped[int]
    """Number of successful scheduled backups that are kept."""
    handled_until: Mapped[datetime] = mapped_column(UtcDateTime)
    """All due times until then were started or skipped."""
    next_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Next due time; None if there is none."""


class ConsoleBackup(Base):
    """A backup of the console."""

    __tablename__ = "console_backups"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it
    """Uids of deleted rows are not used again."""

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    location_uid: Mapped[int]
    path: Mapped[str]
    """Path in the location; empty until it runs."""
    status: Mapped[str]
    """A `ConsoleBackupStatus`."""
    detail: Mapped[str]
    """A sentence: why it failed, or cannot be deleted."""
    is_scheduled: Mapped[bool]
    originator: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str]
    has_store_key: Mapped[bool]
    is_verifying: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether a verification was requested and has not ended."""
    verified: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """Result of the last verification, a `console_backup_file.Verification` with `at`."""


def new(location_uid: int, now: datetime, originator: str, *, is_scheduled: bool) -> ConsoleBackup:
    """Return a row that waits for the leading console."""
    return ConsoleBackup(
        location_uid=location_uid,
        path="",
        status=ConsoleBackupStatus.WAITING,
        detail="",
        is_scheduled=is_scheduled,
        originator=originator,
        created_at=now,
        sha256="",
        has_store_key=False,
    )


async def load_schedule(session: AsyncSession) -> ConsoleBackupSchedule | None:
    return await session.get(ConsoleBackupSchedule, 1)


async def by_uid(session: AsyncSession, uid: int) -> ConsoleBackup | None:
    return await session.get(ConsoleBackup, uid)


async def list_all(session: AsyncSession) -> Sequence[ConsoleBackup]:
    """Return all backups, newest first."""
    return (await session.execute(select(ConsoleBackup).order_by(ConsoleBackup.uid.desc()))).scalars().all()


async def delete_unfinished(session: AsyncSession) -> None:
    """Delete the backups of another console that are not finished, from a store that was restored."""
    await session.execute(delete(ConsoleBackup).where(ConsoleBackup.status.in_(UNFINISHED)))


async def uids_in_location(session: AsyncSession, location_uid: int) -> Sequence[int]:
    query = select(ConsoleBackup.uid).where(ConsoleBackup.location_uid == location_uid).order_by(ConsoleBackup.uid)
    return (await session.execute(query)).scalars().all()
