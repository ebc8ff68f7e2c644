"""Actions: long operations with progress. The row is the request; a leased loop executes it."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Index, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.cluster.actions import OPEN_STATUSES, ActionName, current_name
from shardboard.domain.placement.moves import Move
from shardboard.store.db import Base, UtcDateTime

MAX_LISTED = 100
"""Maximum number of actions in one list."""
MAX_ATTEMPTS = 30
"""The retry delay reaches its maximum after far fewer failures."""


class Action(Base):
    """`name` is the state machine (SMCreateBDB, …); `lease_*` identify the loop that executes it, and the end of its lease."""

    __tablename__ = "actions"
    __kind__ = "action"
    __quiet__ = frozenset({"lease_token", "lease_until"})
    __table_args__ = (Index("ix_actions_object", "object_type", "object_uid", "created_at"),)

    uid: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    object_type: Mapped[str]
    object_uid: Mapped[int]
    status: Mapped[str] = mapped_column(index=True)
    """An `ActionStatus`."""
    progress: Mapped[float] = mapped_column(default=0.0)
    """0-100."""
    description: Mapped[str] = mapped_column(default="")
    error: Mapped[str] = mapped_column(default="")
    params: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    """Written and parsed by the models in `actions/`. The properties below read what all actions have in common."""
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    """`[{"name": text, "status": StepStatus, "detail": text}]`; `detail` is optional."""
    originator: Mapped[str] = mapped_column(default="system")
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    deadline_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    cancelled_by: Mapped[str] = mapped_column(default="")
    """User who cancelled it; its steps then clean up intermediate states."""
    lease_token: Mapped[str | None]
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def current_name(self) -> str:
        """Its name in this release. `name` can be one of an earlier release."""
        return current_name(self.name)

    @property
    def cancellable(self) -> bool:
        """Whether it is open, supports cancellation and has not been cancelled yet."""
        return bool(self.params.get("cancellable")) and self.status in OPEN_STATUSES and not self.cancelled_by

    @property
    def moves(self) -> list[Move]:
        """Its moves of shards, by number; none if it is not a movement."""
        return [Move.parse(each) for each in self.params.get("moves", ())]

    @property
    def remaining_moves(self) -> list[Move]:
        """Moves that are neither done nor failed; none if the action has ended."""
        if self.finished_at is not None:
            return []
        ended_numbers = {*self.params.get("done", ()), *map(int, self.params.get("failed", {}))}
        return [move for number, move in enumerate(self.moves) if number not in ended_numbers]

    @property
    def eta_seconds(self) -> float | None:
        """Estimated remaining seconds of an open action, if known."""
        eta: float | None = self.params.get("eta_seconds")
        return eta if self.finished_at is None else None

    def is_leased_as(self, token: str | None) -> bool:
        """Return whether the holder of this lease may still write: the action is open, and no other loop has taken it over."""
        return self.lease_token == token and self.status in OPEN_STATUSES


async def list_recent(
    session: AsyncSession, object_type: str | None = None, uids: Collection[int] | None = None
) -> Sequence[Action]:
    """Return open actions and the newest finished ones, newest first: all, or those on objects of a type with these `uids`."""
    query = select(Action).order_by(Action.created_at.desc(), Action.uid).limit(MAX_LISTED)
    if object_type is not None:
        query = query.where(Action.object_type == object_type)
    if uids is not None:
        query = query.where(Action.object_uid.in_(uids))
    return (await session.execute(query)).scalars().all()


async def list_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Action]:
    """Return all retained actions on a database, newest first."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid)
        .order_by(Action.created_at.desc())
    )
    return (await session.execute(query)).scalars().all()


async def list_open_for_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Action]:
    """Return queued and running actions on a database, newest first."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid, Action.status.in_(OPEN_STATUSES))
        .order_by(Action.created_at.desc())
    )
    return (await session.execute(query)).scalars().all()


async def list_changing_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Action]:
    """Return queued and running actions on a database that change it, newest first: repairs need not wait for a backup, which only
    reads and can take hours."""
    return [each for each in await list_open_for_bdb(session, bdb_uid) if each.current_name != ActionName.BACKUP_BDB]


async def list_attempts_for_bdb(session: AsyncSession, bdb_uid: int, name: ActionName) -> Sequence[Action]:
    """Return the newest actions of this name on a database, newest first: as many as the retry decision needs."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid, Action.name.in_(name.stored_names))
        .order_by(Action.created_at.desc())
        .limit(MAX_ATTEMPTS)
    )
    return (await session.execute(query)).scalars().all()


async def list_for_object(session: AsyncSession, object_type: str, object_uid: int | None = None) -> Sequence[Action]:
    """Return actions on one object, or on all objects of a type, newest first."""
    query = select(Action).where(Action.object_type == object_type)
    if object_uid is not None:
        query = query.where(Action.object_uid == object_uid)
    return (await session.execute(query.order_by(Action.created_at.desc(), Action.uid))).scalars().all()


async def list_unfinished(session: AsyncSession, name: ActionName | None = None) -> Sequence[Action]:
    """Return all queued and running actions, or those of this name."""
    query = select(Action).where(Action.status.in_(OPEN_STATUSES))
    if name is not None:
        query = query.where(Action.name.in_(name.stored_names))
    return (await session.execute(query)).scalars().all()


async def list_active_since(session: AsyncSession, since: datetime) -> Sequence[Action]:
    """Return queued and running actions, and those that ended since then. Actions that started more than one day before are left
    out, so that an index can be used."""
    conditions = (Action.created_at >= since - timedelta(days=1), Action.finished_at >= since)
    recent = (await session.execute(select(Action).where(*conditions))).scalars().all()
    return [*await list_unfinished(session), *recent]


async def by_uid(session: AsyncSession, uid: str) -> Action | None:
    return await session.get(Action, uid)


async def list_by_uids(session: AsyncSession, uids: Collection[str]) -> Sequence[Action]:
    return (await session.execute(select(Action).where(Action.uid.in_(uids)))).scalars().all()


async def select_open(session: AsyncSession, uids: Collection[str]) -> set[str]:
    """Return those of these uids whose actions are queued or running."""
    query = select(Action.uid).where(Action.uid.in_(uids), Action.status.in_(OPEN_STATUSES))
    return set((await session.execute(query)).scalars())


async def list_leased(session: AsyncSession) -> Sequence[Action]:
    """Return open actions with a lease."""
    query = select(Action).where(Action.status.in_(OPEN_STATUSES), Action.lease_until.is_not(None))
    return (await session.execute(query)).scalars().all()


async def list_due(session: AsyncSession, now: datetime) -> Sequence[Action]:
    """Return open actions without a valid lease, oldest first."""
    query = (
        select(Action)
        .where(Action.status.in_(OPEN_STATUSES), or_(Action.lease_until.is_(None), Action.lease_until < now))
        .order_by(Action.created_at)
        .with_for_update(skip_locked=True)
    )
    return (await session.execute(query)).scalars().all()


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest actions that finished before a time, at most `limit`, and return their number."""
    finished = (Action.status.not_in(OPEN_STATUSES), Action.finished_at < before)
    expired = select(Action.uid).where(*finished).order_by(Action.finished_at).limit(limit)
    uids = (await session.execute(expired)).scalars().all()
    if uids:
        await session.execute(delete(Action).where(Action.uid.in_(uids)).execution_options(synchronize_session=False))
    return len(uids)


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(Action))).scalar_one()
