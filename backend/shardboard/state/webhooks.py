"""Webhooks: addresses outside that are told of events."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.encrypted import Encrypted


class Webhook(Base):
    """What it is and, below, how far it was told; that is written by the notifier alone."""

    __tablename__ = "webhooks"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(default="webhook")
    """`webhook`, `alertmanager`, `syslog`, or `email`, whose `url` begins with mailto: then."""
    url: Mapped[str] = mapped_column(Encrypted("webhooks.url"))
    """Whoever knows it may often post there."""
    secret: Mapped[str] = mapped_column(Encrypted("webhooks.secret"))
    """Signs what is sent; empty for none."""
    ca: Mapped[str] = mapped_column(default="", server_default="")
    """Authorities whose certificates it may show, in PEM; empty: those that the system trusts."""
    events: Mapped[str]
    """`alarms`, `all`, or `audit`: lines of the audit trail."""
    min_severity: Mapped[str]
    enabled: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    told_to: Mapped[int]
    """Uid of the newest event, or line of the audit trail, that it was told of, or that was not for it."""
    raised: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Uids of events that it was told to have begun, and not yet to have ended."""
    failures: Mapped[int] = mapped_column(default=0)
    """In a row, since the last success."""
    last_error: Mapped[str] = mapped_column(default="")
    silent_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_told_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


async def every(session: AsyncSession) -> Sequence[Webhook]:
    """All by uid."""
    return (await session.execute(select(Webhook).order_by(Webhook.uid))).scalars().all()


async def by_uid(session: AsyncSession, uid: int) -> Webhook | None:
    return await session.get(Webhook, uid)
