"""LDAP groups and the roles that they give."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.store.db import Base


class LdapMapping(Base):
    """A mapping of the REST reference (`/v1/ldap_mappings`)."""

    __tablename__ = "ldap_mappings"
    __kind__ = "ldap_mapping"

    uid: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(unique=True)
    dn: Mapped[str]
    """DN of the group."""
    role_uid: Mapped[int]
    """Uid of a role of /v1/roles."""
    email: Mapped[str]
    """Informational; can be empty."""


async def list_all(session: AsyncSession) -> Sequence[LdapMapping]:
    """Return all mappings by uid, which is the order of precedence."""
    return (await session.execute(select(LdapMapping).order_by(LdapMapping.uid))).scalars().all()


async def list_for_role(session: AsyncSession, role_uid: int) -> Sequence[LdapMapping]:
    return (await session.execute(select(LdapMapping).where(LdapMapping.role_uid == role_uid))).scalars().all()


async def next_uid(session: AsyncSession) -> int:
    return (await session.execute(select(func.coalesce(func.max(LdapMapping.uid), 0)))).scalar_one() + 1
