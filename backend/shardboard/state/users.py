"""Users of the console."""

from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime


class User(Base):
    """Who may log in. Wrong passwords are counted in `state/login_failures.py`."""

    __tablename__ = "users"
    __kind__ = "user"

    uid: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    """The login name."""
    name: Mapped[str]
    password_hash: Mapped[str]
    role: Mapped[str]
    """A management role of the REST reference (2.8)."""
    role_uid: Mapped[int | None]
    """Of a role of the cluster's own (`state/access.py`), whose management role is `role`; None: a built-in one."""
    data_hash: Mapped[str | None]
    """SHA-256 of the password, hex, for engines; only of those that some database lets at its data (`state/data_users.py`)."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_login: Mapped[datetime | None] = mapped_column(UtcDateTime)


async def by_email(session: AsyncSession, email: str) -> User | None:
    """The user of that name; without one, of that name in another case, because mail addresses are written either way. A store
    may hold both."""
    same = or_(User.email == email, func.lower(User.email) == email.lower())
    exact_first = (User.email == email).desc()
    return (
        await session.execute(select(User).where(same).order_by(exact_first, User.uid).limit(1))
    ).scalar_one_or_none()


async def count(session: AsyncSession, *, role: str | None = None) -> int:
    """All of them, or those with a role."""
    chosen = select(func.count()).select_from(User)
    return (await session.execute(chosen if role is None else chosen.where(User.role == role))).scalar_one()
