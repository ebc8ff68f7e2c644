"""Users with access to the data of databases, and their ACL rules, derived from roles and the field `roles_permissions`.

The engine needs the SHA-256 hash of a password. The console stores it for each password, encrypted, so that users can use a
database as soon as it allows their role. For passwords of earlier releases, it is stored at the next sign-in.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access import acl_rules
from shardboard.domain.databases import disabled_commands
from shardboard.domain.databases.bdb_status import IN_SERVICE
from shardboard.state.access import roles_and_acls
from shardboard.state.access.users import REGULAR, User
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


async def granted_users(session: AsyncSession) -> dict[int, list[GrantedUser]]:
    """Return the users of each active database by uid of the database, ordered by name."""
    lists = await roles_and_acls.rules_by_uid(session)
    all_channels = (await clusters.load(session)).rules.acl_pubsub_default == "allchannels"
    users = (await session.execute(select(User).order_by(User.email))).scalars().all()
    engine_names = _engine_names(users)
    users_by_name = {}
    for bdb in await bdbs.list_all(session):
        if bdb.status not in IN_SERVICE:
            continue
        disabled = disabled_commands.rules(bdb.config.get("disabled_commands", ""))
        rules = {row["role_uid"]: lists.get(row["redis_acl_uid"], "") for row in _permissions(bdb)}
        granted = []
        for user in users:
            acls = [acl for uid in sorted(user.all_role_uids) if (acl := rules.get(uid))]
            hashes = tuple(each.data_hash for each in user.passwords if each.data_hash is not None) if acls else ()
            if not hashes:
                continue
            acl = acl_rules.union(acls, all_channels=all_channels)
            engine = acl_rules.engine_rules(
                acl,
                all_channels=all_channels,
                on_flash=bdb.on_flash,
                disabled=disabled,
                info_sections=bdb.info_sections,
            )
            granted += [GrantedUser(name, hashes, tuple(engine)) for name in engine_names[user.uid]]
        users_by_name[bdb.uid] = sorted(granted, key=lambda each: each.name)
    return users_by_name


def _engine_names(users: Sequence[User]) -> dict[int, list[str]]:
    """Return the names with which users can authenticate to databases, by uid of the user: the username and the name.

    Usernames take precedence. A name that several users have is not used. Names of users without a local password do not count,
    because providers and directories define them.
    """
    names = Counter(user.name.lower() for user in users if user.auth_method == REGULAR and _is_alias(user.name))
    used = {user.email.lower() for user in users} | {name for name, count in names.items() if count > 1}
    return {
        user.uid: [
            name
            for name in (
                user.email,
                *((user.name,) if _is_alias(user.name) and user.name.lower() not in used else ()),
            )
            if not acl_rules.engine_user_error(name)
        ]
        for user in users
    }


def _is_alias(name: str) -> bool:
    return bool(name) and name.isascii() and name.isprintable()


async def granted_role_uids(session: AsyncSession) -> set[int]:
    """Return the uids of the roles that have access to the data of a database."""
    return {row["role_uid"] for bdb in await bdbs.list_all(session) for row in _permissions(bdb)}


def _permissions(bdb: Bdb) -> list[Mapping[str, int]]:
    return list(bdb.config.get("roles_permissions", ()))
