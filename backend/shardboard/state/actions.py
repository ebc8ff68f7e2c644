"""Actions: long operations with progress. The row is the order; a leased loop carries it out."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Index, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime

OPEN = ("queued", "running")
MOST = 100
"""Of one list."""
FAILOVER = "SMFailover"
"""What the console orders when primaries are lost."""
HAND_OVER = frozenset(
    {
        "SMShardFailover",
        "SMMigrateShards",
        "SMRebalance",
        "SMReturnPrimaries",
        "SMReshardBDB",
        "SMUpgradeBDB",
        "SMNodeMaintenanceOn",
        "SMNodeMaintenanceOff",
        "SMNodeEnslave",
        "SMNodeRemove",
    }
)
"""What changes roles on purpose."""
TRIES = 30
"""After far fewer failures the wait for the next try is the longest."""


class Action(Base):
    """`name` is the state machine (SMCreateBDB, …); `lease_*` say which loop works on it and until when."""

    __tablename__ = "actions"
    __kind__ = "action"
    __quiet__ = frozenset({"lease_token", "lease_until"})
    __table_args__ = (Index("ix_actions_object", "object_type", "object_uid", "created_at"),)

    uid: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    object_type: Mapped[str]
    object_uid: Mapped[int]
    status: Mapped[str] = mapped_column(index=True)
    """queued, running, completed, failed, cancelled."""
    progress: Mapped[float] = mapped_column(default=0.0)
    """0-100."""
    description: Mapped[str] = mapped_column(default="")
    error: Mapped[str] = mapped_column(default="")
    params: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    """`[{"name": sentence, "status": pending|running|completed|failed}]`."""
    originator: Mapped[str] = mapped_column(default="system")
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    deadline_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    cancelled_by: Mapped[str] = mapped_column(default="")
    """Who asked for its end; its steps see to it that nothing half-made is left."""
    lease_token: Mapped[str | None]
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def cancellable(self) -> bool:
        """Whether its steps know how to end it early, and it may still be asked to."""
        return bool(self.params.get("cancellable")) and self.status in OPEN and not self.cancelled_by

    def is_leased_as(self, token: str | None) -> bool:
        """Whether who has that lease may still write for it: it has not ended, and nobody has taken it over."""
        return self.lease_token == token and self.status in OPEN


async def recent(
    session: AsyncSession, object_type: str | None = None, uids: Collection[int] | None = None
) -> Sequence[Action]:
    """Open actions and the newest finished ones, newest first: all, or those on objects of a type, of these `uids`."""
    query = select(Action).order_by(Action.created_at.desc(), Action.uid).limit(MOST)
    if object_type is not None:
        query = query.where(Action.object_type == object_type)
    if uids is not None:
        query = query.where(Action.object_uid.in_(uids))
    return (await session.execute(query)).scalars().all()


async def of_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Action]:
    """All that are kept, newest first."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid)
        .order_by(Action.created_at.desc())
    )
    return (await session.execute(query)).scalars().all()


async def open_of_bdb(session: AsyncSession, bdb_uid: int) -> Sequence[Action]:
    """What is queued or running for a database, newest first."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid, Action.status.in_(OPEN))
        .order_by(Action.created_at.desc())
    )
    return (await session.execute(query)).scalars().all()


async def tries_of_bdb(session: AsyncSession, bdb_uid: int, name: str) -> Sequence[Action]:
    """The newest actions of that name on a database, newest first: as many as a decision to try again looks at."""
    query = (
        select(Action)
        .where(Action.object_type == "bdb", Action.object_uid == bdb_uid, Action.name == name)
        .order_by(Action.created_at.desc())
        .limit(TRIES)
    )
    return (await session.execute(query)).scalars().all()


async def of_object(session: AsyncSession, object_type: str, object_uid: int | None = None) -> Sequence[Action]:
    """Actions on one object, or on all of a kind, newest first."""
    query = select(Action).where(Action.object_type == object_type)
    if object_uid is not None:
        query = query.where(Action.object_uid == object_uid)
    return (await session.execute(query.order_by(Action.created_at.desc(), Action.uid))).scalars().all()


async def unfinished(session: AsyncSession) -> Sequence[Action]:
    """Everything that is queued or running."""
    return (await session.execute(select(Action).where(Action.status.in_(OPEN)))).scalars().all()


async def lately(session: AsyncSession, since: datetime) -> Sequence[Action]:
    """What is queued or running, and what has ended since then, unless it was begun more than a day before: those are found by an
    index."""
    ended = (Action.created_at >= since - timedelta(days=1), Action.finished_at >= since)
    found = (await session.execute(select(Action).where(*ended))).scalars().all()
    return [*await unfinished(session), *found]


async def by_uid(session: AsyncSession, uid: str) -> Action | None:
    return await session.get(Action, uid)


async def leased_by(session: AsyncSession, prefix: str) -> Sequence[Action]:
    """Open actions whose lease token starts with `prefix`."""
    query = select(Action).where(Action.status.in_(OPEN), Action.lease_token.startswith(prefix, autoescape=True))
    return (await session.execute(query)).scalars().all()


async def due(session: AsyncSession, now: datetime) -> Sequence[Action]:
    """Open actions that nobody holds a valid lease on, oldest first."""
    query = (
        select(Action)
        .where(Action.status.in_(OPEN), or_(Action.lease_until.is_(None), Action.lease_until < now))
        .order_by(Action.created_at)
        .with_for_update(skip_locked=True)
    )
    return (await session.execute(query)).scalars().all()


async def forget_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete the oldest actions that were finished before a moment, at most `limit`; how many those were."""
    finished = (Action.status.not_in(OPEN), Action.finished_at < before)
    doomed = select(Action.uid).where(*finished).order_by(Action.finished_at).limit(limit)
    uids = (await session.execute(doomed)).scalars().all()
    if uids:
        await session.execute(delete(Action).where(Action.uid.in_(uids)).execution_options(synchronize_session=False))
    return len(uids)


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(Action))).scalar_one()
