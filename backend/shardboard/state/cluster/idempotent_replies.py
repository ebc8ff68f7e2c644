"""Replies to requests with an idempotency key, which are returned again if the request is repeated."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import UniqueConstraint, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson

LIFETIME = timedelta(hours=24)
MAX_PER_USER = 1_000


class IdempotentReply(Base):
    """The reply to the first request of a user with a key and a request line. It is added in the transaction of the request."""

    __tablename__ = "idempotent_replies"
    __table_args__ = (UniqueConstraint("username", "request_line", "key"),)

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    username: Mapped[str]
    """Username, or name of the service token with a prefix."""
    request_line: Mapped[str]
    """Method and path."""
    key: Mapped[str]
    reply: Mapped[dict[str, Any]] = mapped_column(EncryptedJson("idempotent_replies.reply"))
    """Status, headers and body, with the fingerprint of the request. Encrypted, because bodies can contain passwords."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


async def lock(session: AsyncSession, *identity: str) -> bool:
    """Return whether no other console is executing this request. The transaction keeps the lock."""
    if session.get_bind().dialect.name != "postgresql":  # used by one console
        return True
    digest = hashlib.sha256("\0".join(identity).encode()).digest()
    key = int.from_bytes(digest[:8], signed=True)
    return bool((await session.execute(select(func.pg_try_advisory_xact_lock(key)))).scalar_one())


async def find(
    session: AsyncSession, username: str, request_line: str, key: str, since: datetime
) -> IdempotentReply | None:
    """Return the reply that was stored since a time."""
    query = select(IdempotentReply).where(
        IdempotentReply.username == username,
        IdempotentReply.request_line == request_line,
        IdempotentReply.key == key,
        IdempotentReply.created_at > since,
    )
    return (await session.execute(query)).scalar_one_or_none()


async def add(session: AsyncSession, row: IdempotentReply) -> None:
    """Add a reply. It replaces an expired one, and the oldest one if the user has the maximum number of replies."""
    own = IdempotentReply.username == row.username
    await session.execute(
        delete(IdempotentReply).where(
            own, IdempotentReply.request_line == row.request_line, IdempotentReply.key == row.key
        )
    )
    surplus = select(IdempotentReply.uid).where(own).order_by(IdempotentReply.uid.desc()).offset(MAX_PER_USER - 1)
    await session.execute(delete(IdempotentReply).where(IdempotentReply.uid.in_(surplus)))
    session.add(row)


async def delete_before(session: AsyncSession, before: datetime, limit: int) -> int:
    """Delete replies from before a time, at most `limit`, and return their number."""
    oldest = select(IdempotentReply.uid).where(IdempotentReply.created_at < before).limit(limit)
    found = (await session.execute(oldest)).scalars().all()
    await session.execute(delete(IdempotentReply).where(IdempotentReply.uid.in_(found)))
    return len(found)
