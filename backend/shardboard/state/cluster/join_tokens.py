"""Join tokens: short-lived tokens for a single agent to join the cluster. Only their hash is stored."""

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class JoinToken(Base):
    __tablename__ = "join_tokens"

    token_hash: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 of the token's secret part, hexadecimal."""
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_by: Mapped[str]
    addr: Mapped[str | None]
    """The only address that may use it; None: any address."""


async def take(session: AsyncSession, token_hash: str) -> JoinToken | None:
    """Remove and return the token. The row lock makes it single-use even if two agents present it at the same time."""
    query = select(JoinToken).where(JoinToken.token_hash == token_hash).with_for_update()
    token = (await session.execute(query)).scalar_one_or_none()
    if token is not None:
        await session.delete(token)
    return token


async def by_hash(session: AsyncSession, token_hash: str) -> JoinToken | None:
    return await session.get(JoinToken, token_hash)


async def delete_expired(session: AsyncSession, now: datetime) -> None:
    await session.execute(delete(JoinToken).where(JoinToken.expires_at < now))
