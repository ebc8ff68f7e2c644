"""Users of the console."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, false, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.access.roles import uid_of
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson, EncryptedText

REGULAR, SSO, LDAP = "regular", "sso", "ldap"


@dataclass(frozen=True)
class Password:
    """One of the passwords of a user."""

    hash: str = field(repr=False)
    """Argon2 hash; all passwords of a user have the same salt (`services/access/passwords.py`)."""
    data_hash: str | None = field(default=None, repr=False)
    """SHA-256 in hexadecimal for engines; None for passwords of earlier releases until the next sign-in."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tokens and sessions refer to it, so they do not become valid again if the same password is set again. Empty for passwords
    from before users could have several."""
    issued: int = 0
    """When it was set, in epoch seconds; 0 if unknown."""

    def with_new_id(self) -> "Password":
        """Return the same password with a new id, so that no tokens or sessions refer to it."""
        return replace(self, id=secrets.token_hex(8))


class User(Base):
    """A user that can sign in. Failed sign-ins are counted in `state/access/login_failures.py`."""

    __tablename__ = "users"
    __kind__ = "user"

    uid: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    """The username for signing in."""
    name: Mapped[str]
    password_hash: Mapped[str]
    role: Mapped[str]
    """A management role of the REST reference (2.8)."""
    auth_method: Mapped[str] = mapped_column(default=REGULAR, server_default=REGULAR)
    """Of the REST reference: `regular` with a password here; `sso` with single sign-on (`services/access/sso.py`) and `ldap` with a
    directory (`services/access/ldap.py`), without a password here."""
    subject: Mapped[str | None] = mapped_column(unique=True, index=True)
    """Identifies the account at an external provider; None until the first sign-in."""
    role_uid: Mapped[int | None]
    """Uid of a custom role (`state/access/roles_and_acls.py`), whose management role is `role`; None for a built-in role."""
    role_uids: Mapped[list[int]] = mapped_column(JSON, default=list, server_default="[]")
    """Uids of all roles of a user with several. `role` and `role_uid` then name the one with the permissions of all others.
    Empty for users with one role."""
    has_name_only: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the user has no email address. `email` and `name` are then both the username."""
    data_hash: Mapped[str | None] = mapped_column(EncryptedText("users.data_hash"))
    password_id: Mapped[str] = mapped_column(default="", server_default="")
    other_passwords: Mapped[list[dict[str, Any]]] = mapped_column(
        EncryptedJson("users.other_passwords"), default=list, server_default="[]"
    )
    """Fields of `Password` for all except the first password, whose fields are columns."""
    password_issued: Mapped[int] = mapped_column(default=0, server_default="0")
    totp_secret: Mapped[str | None] = mapped_column(EncryptedText("users.totp_secret"))
    """Base 32; None without two-factor authentication (`services/access/two_factor.py`)."""
    totp_step: Mapped[int] = mapped_column(default=0, server_default="0")
    """Time step of the last accepted code, so that no code can be used twice."""
    recovery_codes: Mapped[list[str]] = mapped_column(JSON, default=list, server_default="[]")
    """SHA-256 hashes of unused codes, hexadecimal."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_login: Mapped[datetime | None] = mapped_column(UtcDateTime)

    @property
    def all_role_uids(self) -> list[int]:
        """Uids of its roles, to which databases refer; built-in roles included."""
        return list(self.role_uids) or [self.role_uid or uid_of(self.role)]

    @property
    def passwords(self) -> list[Password]:
        """All passwords of the user. Code that changes them must lock the row first."""
        first = Password(self.password_hash, self.data_hash, self.password_id, self.password_issued)
        return [first, *(Password(**each) for each in self.other_passwords)]

    @property
    def password_hashes(self) -> list[str]:
        return [each.hash for each in self.passwords]

    def password_of(self, password_hash: str) -> Password:
        """Return the password with this hash, which the user must have."""
        return next(each for each in self.passwords if each.hash == password_hash)

    def set_passwords(self, passwords: Sequence[Password]) -> None:
        """Replace all passwords; at least one is required."""
        first, *others = passwords
        self.password_hash, self.data_hash, self.password_id = first.hash, first.data_hash, first.id
        self.password_issued = first.issued
        self.other_passwords = [vars(each) for each in others]


async def by_email(session: AsyncSession, email: str) -> User | None:
    """Return the user with this name, otherwise one whose name differs only in case, because email addresses are written both ways.
    A store can contain both."""
    condition = or_(User.email == email, func.lower(User.email) == email.lower())
    exact_first = (User.email == email).desc()
    return (
        await session.execute(select(User).where(condition).order_by(exact_first, User.uid).limit(1))
    ).scalar_one_or_none()


async def is_name_used(session: AsyncSession, name: str, *, except_uid: int | None) -> bool:
    """Return whether another user has this username or name, in any case."""
    query = select(User.uid).where(or_(func.lower(User.email) == name.lower(), func.lower(User.name) == name.lower()))
    return any(uid != except_uid for uid in (await session.execute(query)).scalars())


async def by_subject(session: AsyncSession, subject: str) -> User | None:
    """Return the user that single sign-on authenticated."""
    return (await session.execute(select(User).where(User.subject == subject))).scalar_one_or_none()


async def list_by_auth_method(session: AsyncSession, auth_method: str) -> Sequence[User]:
    return (await session.execute(select(User).where(User.auth_method == auth_method))).scalars().all()


async def count(session: AsyncSession) -> int:
    return (await session.execute(select(func.count()).select_from(User))).scalar_one()


async def count_with_password(session: AsyncSession, role: str) -> int:
    """Return the number of users with this role who sign in with a password of the console."""
    query = select(func.count()).select_from(User).where(User.role == role, User.auth_method == REGULAR)
    return (await session.execute(query)).scalar_one()
