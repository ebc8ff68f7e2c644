"""Certificates of agents that the console signed or that agents served."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base, UtcDateTime


class IssuedCertificate(Base):
    """A certificate that has not expired."""

    __tablename__ = "issued_certificates"

    serial: Mapped[str] = mapped_column(primary_key=True)
    """Lowercase hexadecimal digits without leading zeros."""
    node_uid: Mapped[int] = mapped_column(index=True)
    valid_until: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked: Mapped[bool] = mapped_column(default=False)
    """Whether its node was removed."""


async def record(session: AsyncSession, node_uid: int, serial: str, valid_until: datetime) -> None:
    """Store a certificate if it is not stored already."""
    if await session.get(IssuedCertificate, serial) is None:
        session.add(IssuedCertificate(serial=serial, node_uid=node_uid, valid_until=valid_until))


async def is_known(session: AsyncSession, serial: str) -> bool:
    return await session.get(IssuedCertificate, serial) is not None


async def revoke(session: AsyncSession, node_uid: int) -> None:
    """Revoke all certificates of a node."""
    await session.execute(update(IssuedCertificate).where(IssuedCertificate.node_uid == node_uid).values(revoked=True))


async def revoked_serials(session: AsyncSession) -> Collection[str]:
    """Return the serial numbers of revoked certificates."""
    serials = await session.execute(select(IssuedCertificate.serial).where(IssuedCertificate.revoked))
    return set(serials.scalars())


async def delete_expired(session: AsyncSession, now: datetime) -> None:
    """Delete expired certificates, which no peer accepts any longer."""
    await session.execute(delete(IssuedCertificate).where(IssuedCertificate.valid_until < now))
