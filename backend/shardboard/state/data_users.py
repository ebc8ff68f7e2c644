"""Which users a database lets at its data, and by which rules: by their roles and its `roles_permissions`.

The engine wants the SHA-256 of a password, which is quickly tried; so it is kept only of users whose role lets them at some
database, and for as long. Of those who had no such role when they set their password it is noted when they log in next.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import acl_rules, disabled_commands
from shardboard.domain.roles import uid_of
from shardboard.state import access, bdbs
from shardboard.state import cluster as clusters
from shardboard.state.bdbs import Bdb
from shardboard.state.users import User


@dataclass(frozen=True)
class Allowed:
    """A user, the hashes of the passwords for the engine, and the rules for it."""

    name: str
    passwords_sha256: tuple[str, ...]
    rules: tuple[str, ...]


def digest(password: str) -> str:
    """As the engine stores passwords."""
    return hashlib.sha256(password.encode()).hexdigest()


def role_uid(user: User) -> int:
    """Of the role that databases refer to; 0 for one that none can."""
    return user.role_uid or uid_of(user.role)


async def allowed(session: AsyncSession) -> dict[int, list[Allowed]]:
    """By uid of each active database, its users by name."""
    lists = await access.rules(session)
    all_channels = (await clusters.load(session)).rules.acl_pubsub_default == "allchannels"
    people = await _known(session)
    found = {}
    for bdb in await bdbs.every(session):
        if bdb.status not in ("active", "active-change-pending"):
            continue
        disabled = disabled_commands.rules(bdb.config.get("disabled_commands", ""))
        rules = {row["role_uid"]: lists.get(row["redis_acl_uid"], "") for row in _permissions(bdb)}
        found[bdb.uid] = [
            Allowed(
                user.email,
                tuple(each.data_hash for each in user.passwords if each.data_hash is not None),
                tuple(acl_rules.for_engine(list_, all_channels=all_channels, disabled=disabled)),
            )
            for user in people
            if acl_rules.can_be_user(user.email) and (list_ := rules.get(role_uid(user)))
        ]
    return found


async def has_idle_hashes(session: AsyncSession) -> bool:
    """Whether there is something to forget."""
    return bool(await _idle(session))


async def forget(session: AsyncSession) -> None:
    """Forget the hashes of users that no database lets in any more."""
    for user in await _idle(session, locked=True):
        user.keep([replace(each, data_hash=None) for each in user.passwords])


async def _idle(session: AsyncSession, *, locked: bool = False) -> list[User]:
    known = await _known(session, locked=locked)
    granted = _granted(await bdbs.every(session))
    return [user for user in known if role_uid(user) not in granted]


async def _known(session: AsyncSession, *, locked: bool = False) -> list[User]:
    """Users of some password of whom the hash for engines is there, by name; `locked` against who changes them meanwhile."""
    query = select(User).order_by(User.email)
    known = [user for user in (await session.execute(query)).scalars() if _is_known(user)]
    if not locked:
        return known
    query = query.where(User.uid.in_([user.uid for user in known])).with_for_update()
    users = (await session.execute(query.execution_options(populate_existing=True))).scalars()
    return [user for user in users if _is_known(user)]


def _is_known(user: User) -> bool:
    return any(each.data_hash is not None for each in user.passwords)


async def is_wanted(session: AsyncSession, user: User) -> bool:
    """Whether some database lets this user at its data, and needs the hash of the password for that."""
    return role_uid(user) in _granted(await bdbs.every(session))


def _granted(databases: Iterable[Bdb]) -> set[int]:
    return {row["role_uid"] for bdb in databases for row in _permissions(bdb)}


def _permissions(bdb: Bdb) -> list[Mapping[str, int]]:
    return list(bdb.config.get("roles_permissions", ()))
