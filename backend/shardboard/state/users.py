"""Users of the console."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.encrypted import Encrypted, EncryptedJson

REGULAR, SSO, LDAP = "regular", "sso", "ldap"


@dataclass(frozen=True)
class Password:
    """One of those by which a user logs in."""

    hash: str = field(repr=False)
    """By argon2, of one salt with the user's others (`services/passwords.py`)."""
    data_hash: str | None = field(default=None, repr=False)
    """SHA-256, hex, for engines; only while some database lets the user at its data (`state/data_users.py`)."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tokens and sessions are bound to it: they do not come back with a password that is set again. Empty for what was set before
    users had several."""
    issued: int = 0
    """When it was set, in epoch seconds; 0 for what was set before that was kept."""

    def anew(self) -> "Password":
        """The same password, to which no token or session is bound yet."""
        return replace(self, id=secrets.token_hex(8))


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
    auth_method: Mapped[str] = mapped_column(default=REGULAR, server_default=REGULAR)
    """Of the REST reference: `regular` by a password here, `sso` by single sign-on (`services/sso.py`) and
    `ldap` by a directory (`services/ldap.py`), without one."""
    subject: Mapped[str | None] = mapped_column(unique=True, index=True)
    """What an account elsewhere is recognized by, of whom another vouches for; None until the first sign-in."""
    role_uid: Mapped[int | None]
    """Of a role of the cluster's own (`state/access.py`), whose management role is `role`; None: a built-in one."""
    data_hash: Mapped[str | None] = mapped_column(Encrypted("users.data_hash"))
    password_id: Mapped[str] = mapped_column(default="", server_default="")
    other_passwords: Mapped[list[dict[str, Any]]] = mapped_column(
        EncryptedJson("users.other_passwords"), default=list, server_default="[]"
    )
    """The fields of `Password` of each beside the first, whose fields are columns."""
    password_issued: Mapped[int] = mapped_column(default=0, server_default="0")
    totp_secret: Mapped[str | None] = mapped_column(Encrypted("users.totp_secret"))
    """Base 32; None without a second factor (`services/second_factor.py`)."""
    totp_step: Mapped[int] = mapped_column(default=0, server_default="0")
    """That of the last code accepted: none is valid twice."""
    recovery_codes: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """SHA-256, hexadecimal, of those that were not used yet."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_login: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def passwords(self) -> list[Password]:
        """All by which the user logs in; whoever changes them locks the row first."""
        first = Password(self.password_hash, self.data_hash, self.password_id, self.password_issued)
        return [first, *(Password(**each) for each in self.other_passwords)]

    @property
    def password_hashes(self) -> list[str]:
        return [each.hash for each in self.passwords]

    def password_of(self, password_hash: str) -> Password:
        """The one of that hash, which the user has."""
        return next(each for each in self.passwords if each.hash == password_hash)

    def keep(self, passwords: Sequence[Password]) -> None:
        """Have these passwords and no others; at least one."""
        first, *others = passwords
        self.password_hash, self.data_hash, self.password_id = first.hash, first.data_hash, first.id
        self.password_issued = first.issued
        self.other_passwords = [vars(each) for each in others]


async def by_email(session: AsyncSession, email: str) -> User | None:
    """The user of that name; without one, of that name in another case, because mail addresses are written either way. A store
    may hold both."""
    same = or_(User.email == email, func.lower(User.email) == email.lower())
    exact_first = (User.email == email).desc()
    return (
        await session.execute(select(User).where(same).order_by(exact_first, User.uid).limit(1))
    ).scalar_one_or_none()


async def by_subject(session: AsyncSession, subject: str) -> User | None:
    """Whom single sign-on vouches for."""
    return (await session.execute(select(User).where(User.subject == subject))).scalar_one_or_none()


async def of_method(session: AsyncSession, auth_method: str) -> Sequence[User]:
    return (await session.execute(select(User).where(User.auth_method == auth_method))).scalars().all()


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(User))).scalar_one()


async def count_with_password(session: AsyncSession, role: str) -> int:
    """Those of that role who log in by themselves."""
    chosen = select(func.count()).select_from(User).where(User.role == role, User.auth_method == REGULAR)
    return (await session.execute(chosen)).scalar_one()
