"""Tokens for programs. Each has a name and a role. Most do not belong to a user. Only their hash is stored."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ForeignKey, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class ServiceToken(Base):
    __tablename__ = "service_tokens"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    """A management role of the REST reference (2.8)."""
    role_uid: Mapped[int | None]
    """Uid of a custom role (`state/access/roles_and_acls.py`), whose management role is `role`; None for a built-in role."""
    token_hash: Mapped[str] = mapped_column(unique=True)
    """SHA-256, hexadecimal. No salt is needed, because a token has too many bits for brute force."""
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """None: it does not expire."""
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """With a precision of one minute."""
    user_uid: Mapped[int | None] = mapped_column(ForeignKey("users.uid", ondelete="CASCADE"), index=True)
    """User to whom the token belongs, if that user has signed in a program with it; None: it belongs to no user."""
    password_fingerprint: Mapped[str | None]
    """Identifies the password (`tokens.password_fingerprint`) with which the token of a user ends."""


async def list_all(session: AsyncSession) -> Sequence[ServiceToken]:
    """Return all tokens by name."""
    return (await session.execute(select(ServiceToken).order_by(ServiceToken.name))).scalars().all()


async def list_for_role(session: AsyncSession, role_uid: int) -> Sequence[ServiceToken]:
    """Return the tokens with a custom role."""
    return (await session.execute(select(ServiceToken).where(ServiceToken.role_uid == role_uid))).scalars().all()


async def list_for_user(session: AsyncSession, user_uid: int) -> Sequence[ServiceToken]:
    """Return the tokens that belong to a user, newest first."""
    query = select(ServiceToken).where(ServiceToken.user_uid == user_uid).order_by(ServiceToken.uid.desc())
    return (await session.execute(query)).scalars().all()


async def by_hash(session: AsyncSession, token_hash: str) -> ServiceToken | None:
    query = select(ServiceToken).where(ServiceToken.token_hash == token_hash)
    return (await session.execute(query)).scalar_one_or_none()
