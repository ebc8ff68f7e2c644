"""Scenario runs: published benchmarks that one request executes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Text, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES
from shardboard.store.db import Base, UtcDateTime


class ScenarioRun(Base):
    """`plan` is what each part executes, at the scale of the run; `parts` is their progress, in the same order."""

    __tablename__ = "scenario_runs"
    __kind__ = "scenario_run"
    # Names of databases contain the uid, so it must not be used again.
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy declares it

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    scenario: Mapped[str]
    title: Mapped[str]
    document: Mapped[str]
    scale: Mapped[float]
    keep: Mapped[bool]
    """Whether the databases remain after the run."""
    plan: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    load_nodes: Mapped[list[int]] = mapped_column(JSON)
    deviations: Mapped[list[str]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(index=True)
    """A `RunStatus`."""
    detail: Mapped[str] = mapped_column(Text, default="")
    """Why the run failed. While it is still running, it only stops its benchmark runs and deletes its databases."""
    parts: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    result: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Published results, and those of the parts that have ended."""
    originator: Mapped[str]
    action_uid: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    def set_part(self, index: int, **changes: Any) -> None:
        """Change the progress of one part."""
        self.parts = [{**part, **changes} if number == index else part for number, part in enumerate(self.parts)]


async def page(session: AsyncSession, *, limit: int, offset: int = 0) -> Sequence[ScenarioRun]:
    """Return runs, newest first."""
    query = select(ScenarioRun).order_by(ScenarioRun.uid.desc()).limit(limit).offset(offset)
    return (await session.execute(query)).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> ScenarioRun | None:
    return await session.get(ScenarioRun, uid)


async def list_by_uids(session: AsyncSession, uids: Collection[int]) -> Sequence[ScenarioRun]:
    query = select(ScenarioRun).where(ScenarioRun.uid.in_(uids)).order_by(ScenarioRun.uid)
    return (await session.execute(query)).scalars().all()


async def open_run(session: AsyncSession) -> ScenarioRun | None:
    """Return a run that has not ended."""
    query = select(ScenarioRun).where(ScenarioRun.status.in_(OPEN_STATUSES)).order_by(ScenarioRun.uid).limit(1)
    return (await session.execute(query)).scalar_one_or_none()
