"""Users with access to the data of databases, and their ACL rules, derived from roles and the field `roles_permissions`.

The engine needs the SHA-256 hash of a password, which is fast to brute-force. It is therefore stored only for users whose role has
access to a database, and only while it has. If the role gains access after the password was set, the hash is stored at the next
sign-in.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access import acl_rules
from shardboard.domain.access.roles import uid_of
from shardboard.domain.databases import disabled_commands
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.state.access import roles_and_acls
from shardboard.state.access.users import User
from shardboard.state.cluster import cluster as clusters
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb


@dataclass(frozen=True)
class GrantedUser:
    """A user with the password hashes and ACL rules for the engine."""

    name: str
    passwords_sha256: tuple[str, ...]
    rules: tuple[str, ...]


def digest(password: str) -> str:
    """Return a password hash in the engine's format."""
    return hashlib.sha256(password.encode()).hexdigest()


def role_uid(user: User) -> int:
    """Return the uid of the user's role, which databases refer to; 0 if databases cannot refer to it."""
    return user.role_uid or uid_of(user.role)


async def granted_users(session: AsyncSession) -> dict[int, list[GrantedUser]]:
    """Return the users of each active database by uid of the database, ordered by name."""
    lists = await roles_and_acls.rules_by_uid(session)
    all_channels = (await clusters.load(session)).rules.acl_pubsub_default == "allchannels"
    users_with_hash = await _known(session)
    users_by_name = {}
    for bdb in await bdbs.list_all(session):
        if bdb.status not in IN_SERVICE:
            continue
        disabled = disabled_commands.rules(bdb.config.get("disabled_commands", ""))
        rules = {row["role_uid"]: lists.get(row["redis_acl_uid"], "") for row in _permissions(bdb)}
        users_by_name[bdb.uid] = [
            GrantedUser(
                user.email,
                tuple(each.data_hash for each in user.passwords if each.data_hash is not None),
                tuple(
                    acl_rules.engine_rules(list_, all_channels=all_channels, on_flash=bdb.on_flash, disabled=disabled)
                ),
            )
            for user in users_with_hash
            if not acl_rules.engine_user_error(user.email) and (list_ := rules.get(role_uid(user)))
        ]
    return users_by_name


async def has_idle_hashes(session: AsyncSession) -> bool:
    """Return whether there are hashes that are no longer needed."""
    return bool(await _idle(session))


async def delete_idle_hashes(session: AsyncSession) -> None:
    """Delete the hashes of users that no longer have access to any database."""
    for user in await _idle(session, locked=True):
        user.set_passwords([replace(each, data_hash=None) for each in user.passwords])


async def _idle(session: AsyncSession, *, locked: bool = False) -> list[User]:
    users = await _known(session, locked=locked)
    granted = _granted(await bdbs.list_all(session))
    return [user for user in users if role_uid(user) not in granted]


async def _known(session: AsyncSession, *, locked: bool = False) -> list[User]:
    """Return users with a stored engine hash of a password, by name; `locked` prevents concurrent changes."""
    query = select(User).order_by(User.email)
    known_users = [user for user in (await session.execute(query)).scalars() if _is_known(user)]
    if not locked:
        return known_users
    query = query.where(User.uid.in_([user.uid for user in known_users])).with_for_update()
    users = (await session.execute(query.execution_options(populate_existing=True))).scalars()
    return [user for user in users if _is_known(user)]


def _is_known(user: User) -> bool:
    return any(each.data_hash is not None for each in user.passwords)


async def needs_data_hash(session: AsyncSession, user: User) -> bool:
    """Return whether a database gives this user access to data, so that the hash of the password is needed."""
    return role_uid(user) in await granted_role_uids(session)


async def granted_role_uids(session: AsyncSession) -> set[int]:
    """Return the uids of the roles that have access to the data of a database."""
    return _granted(await bdbs.list_all(session))


def _granted(databases: Iterable[Bdb]) -> set[int]:
    return {row["role_uid"] for bdb in databases for row in _permissions(bdb)}


def _permissions(bdb: Bdb) -> list[Mapping[str, int]]:
    return list(bdb.config.get("roles_permissions", ()))
