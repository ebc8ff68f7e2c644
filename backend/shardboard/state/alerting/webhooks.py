"""Webhooks: external receivers of events."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedText


class Webhook(Base):
    """Configuration and, below, delivery state, which only the notifier writes."""

    __tablename__ = "webhooks"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(default="webhook")
    """`webhook`, `alertmanager`, `syslog` or `email`; the `url` of `email` starts with mailto:."""
    url: Mapped[str] = mapped_column(EncryptedText("webhooks.url"))
    """Encrypted, because anyone who knows the URL may be able to post there."""
    secret: Mapped[str] = mapped_column(EncryptedText("webhooks.secret"))
    """Key for the signature of messages; empty: no signature."""
    ca: Mapped[str] = mapped_column(default="", server_default="")
    """CA certificates in PEM that its certificate is verified with; empty: those of the system."""
    events: Mapped[str]
    """`alarms`, `all`, or `audit` for lines of the audit log."""
    min_severity: Mapped[str]
    enabled: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_sent_uid: Mapped[int]
    """Uid of the newest event, or line of the audit log, that was sent or did not match the filters."""
    raised: Mapped[list[int]] = mapped_column(JSON, default=list)
    """Uids of events whose start was sent and whose end was not."""
    reminded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Alarms whose acknowledgements expired until then were sent again."""
    failures: Mapped[int] = mapped_column(default=0)
    """Consecutive failures since the last success."""
    last_error: Mapped[str] = mapped_column(default="")
    muted_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


async def list_all(session: AsyncSession) -> Sequence[Webhook]:
    """Return all webhooks by uid."""
    return (await session.execute(select(Webhook).order_by(Webhook.uid))).scalars().all()


async def list_failing(session: AsyncSession, failures: int) -> list[str]:
    """Return the names of enabled webhooks with at least this number of consecutive failures, sorted."""
    query = select(Webhook.name).where(Webhook.enabled, Webhook.failures >= failures).order_by(Webhook.name)
    return list((await session.execute(query)).scalars())


async def by_uid(session: AsyncSession, uid: int) -> Webhook | None:
    return await session.get(Webhook, uid)
