"""Roles and ACLs, and the databases that refer to them (REST reference 3.5)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access import acl_rules, roles
from shardboard.domain.access.acl_rules import Acl
from shardboard.domain.access.roles import AnyManagementRole, ManagementRole, Role
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services.access.authorization import (
    ADMINS,
    Principal,
    databases_text,
    require_grantable,
    require_grantable_management,
    require_privilege_over,
    require_remaining_admin,
)
from shardboard.services.access.role_assignments import RoleAssignment
from shardboard.state.access import ldap_mappings, roles_and_acls, service_tokens
from shardboard.state.access.roles_and_acls import RedisAcl
from shardboard.state.access.roles_and_acls import Role as RoleRow
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.databases import bdbs

CustomRow = TypeVar("CustomRow", RedisAcl, RoleRow)

MAX_NAME_LENGTH = 120
_LIMITED = " and ".join(sorted(roles.LIMITED))
MAX_ENTRIES = 1000


async def list_acls(session: AsyncSession) -> list[Acl]:
    """Return all ACLs: the built-in ones, then the custom ones by uid."""
    custom = [Acl(row.uid, row.name, row.acl) for row in await roles_and_acls.list_acls(session)]
    return [*acl_rules.BUILT_IN.values(), *custom]


async def get_acl(session: AsyncSession, uid: int) -> Acl:
    acl = next((each for each in await list_acls(session) if each.uid == uid), None)
    if acl is None:
        raise NotFound("redis_acl_not_exist", f"ACL {uid} does not exist.")
    return acl


async def create_acl(session: AsyncSession, name: str, rules: str, principal: Principal) -> Acl:
    await clusters.load_for_update(session)
    acls = await list_acls(session)
    _check_name(name, (each.name for each in acls))
    _check_limit(len(acls))
    row = RedisAcl(uid=_next_uid(each.uid for each in acls), name=name, acl=normalize_rules(rules))
    session.add(row)
    events.record(session, "redis_acl_created", f"The ACL {name} was created: {row.acl}", originator=principal.username)
    await session.flush()
    return Acl(row.uid, row.name, row.acl)


async def change_acl(session: AsyncSession, uid: int, name: str | None, rules: str | None, principal: Principal) -> Acl:
    """Change a custom ACL; None leaves a field unchanged. Databases that use the ACL apply the change."""
    await clusters.load_for_update(session)
    row = await _load_custom(session, RedisAcl, uid, await get_acl(session, uid))
    if principal.role not in ADMINS and await _databases_with(session, "redis_acl_uid", uid):
        message = f"Only administrators can change {row.name}, because it gives access to the data of a database."
        raise Forbidden("unauthorized_action", message)
    if name is not None and name != row.name:
        _check_name(name, (each.name for each in await list_acls(session) if each.uid != uid))
        row.name = name
    if rules is not None:
        row.acl = normalize_rules(rules)
    events.record(
        session, "redis_acl_updated", f"The ACL {row.name} was changed: {row.acl}", originator=principal.username
    )
    await session.flush()
    return Acl(row.uid, row.name, row.acl)


async def remove_acl(session: AsyncSession, uid: int, principal: Principal) -> None:
    await clusters.load_for_update(session)
    row = await _load_custom(session, RedisAcl, uid, await get_acl(session, uid))
    _check_unused(row.name, await _databases_with(session, "redis_acl_uid", uid))
    await session.delete(row)
    events.record(session, "redis_acl_deleted", f"The ACL {row.name} was deleted.", originator=principal.username)


async def list_roles(session: AsyncSession) -> list[Role]:
    """Return all roles: the built-in ones, then the custom ones by uid."""
    custom = [_role(row) for row in await roles_and_acls.list_roles(session)]
    return [*roles.BUILT_IN.values(), *custom]


async def list_visible_roles(session: AsyncSession, viewer: Principal) -> list[Role]:
    """Return the roles that `viewer` may see.

    A viewer who is limited to some databases sees no roles that are limited to other databases only, and of each role only the
    databases that the viewer can access.
    """
    all_roles = await list_roles(session)
    if viewer.bdbs is None:
        return all_roles
    visible_roles = [
        replace(each, bdb_uids=tuple(uid for uid in each.bdb_uids if viewer.can_access_database(uid)))
        for each in all_roles
    ]
    return [
        visible
        for visible, original in zip(visible_roles, all_roles, strict=True)
        if visible.bdb_uids or not original.bdb_uids
    ]


async def get_role(session: AsyncSession, uid: int, viewer: Principal | None = None) -> Role:
    """Return a role; with `viewer`, only if that viewer may see it. Raises NotFound."""
    visible_roles = await (list_roles(session) if viewer is None else list_visible_roles(session, viewer))
    role = next((each for each in visible_roles if each.uid == uid), None)
    if role is None:
        raise NotFound("role_not_exist", f"Role {uid} does not exist.")
    return role


async def create_role(
    session: AsyncSession, name: str, management: AnyManagementRole, bdb_uids: Sequence[int], principal: Principal
) -> Role:
    require_grantable_management(principal, management)
    await clusters.load_for_update(session)
    await _check_bdb_uids(session, management, bdb_uids)
    all_roles = await list_roles(session)
    _check_name(name, (each.name for each in all_roles))
    _check_limit(len(all_roles))
    uid = _next_uid(each.uid for each in all_roles)
    row = RoleRow(uid=uid, name=name, management=management, bdb_uids=sorted(set(bdb_uids)))
    session.add(row)
    events.record(
        session,
        "role_created",
        f"The role {name} was created; its management role is {management}{_limits(row)}.",
        originator=principal.username,
    )
    await session.flush()
    return _role(row)


async def change_role(
    session: AsyncSession,
    uid: int,
    name: str | None,
    management: AnyManagementRole | None,
    bdb_uids: Sequence[int] | None,
    principal: Principal,
) -> Role:
    """Change a custom role; None leaves a field unchanged. Users and service tokens with the role are updated as well."""
    await clusters.load_for_update(session)
    row = await _load_custom(session, RoleRow, uid, await get_role(session, uid))
    await require_grantable(session, principal, row.management, uid)
    if name is not None and name != row.name:
        _check_name(name, (each.name for each in await list_roles(session) if each.uid != uid))
        row.name = name
    if management is not None and management != row.management:
        require_grantable_management(principal, management)
        members = await _members(session, uid)
        await require_remaining_admin(session, members)
        _require_other_role(principal, uid)
        await _require_single_roles(session, uid)
        for user in members:
            user.role = management
        for token in await service_tokens.list_for_role(session, uid):
            token.role = management
        row.management = management
    desired = row.bdb_uids if bdb_uids is None else sorted(set(bdb_uids))
    await _check_bdb_uids(session, row.management, desired, removed=row.bdb_uids)
    if desired != row.bdb_uids:
        _require_other_role(principal, uid)
        await _require_single_roles(session, uid)
    row.bdb_uids = desired
    events.record(
        session,
        "role_updated",
        f"The role {row.name} was changed; its management role is {row.management}{_limits(row)}.",
        originator=principal.username,
    )
    await session.flush()
    return _role(row)


async def _members(session: AsyncSession, uid: int) -> list[User]:
    """Return the users that have a custom role."""
    return [user for user in (await session.execute(select(User))).scalars() if uid in user.all_role_uids]


async def _require_single_roles(session: AsyncSession, uid: int) -> None:
    """Raise Conflict if users have the role together with others, because the others might then no longer be included."""
    if several := [user.email for user in await _members(session, uid) if user.role_uids]:
        message = f"{several[0]} has this role together with others. Change the roles of this user first."
        raise Conflict("resource_in_use", message)


def _require_other_role(principal: Principal, uid: int) -> None:
    if principal.role_uid == uid:
        raise Forbidden("unauthorized_action", "You cannot change your own role. Ask another administrator.")


async def remove_role(session: AsyncSession, uid: int, principal: Principal) -> None:
    await clusters.load_for_update(session)
    row = await _load_custom(session, RoleRow, uid, await get_role(session, uid))
    require_privilege_over(principal, row.management)
    members = [user.email for user in await _members(session, uid)][:3]
    tokens = [each.name for each in await service_tokens.list_for_role(session, uid)]
    _check_unused(row.name, await _databases_with(session, "role_uid", uid), members, tokens)
    if mapped := await ldap_mappings.list_for_role(session, uid):
        raise Conflict(
            "resource_in_use", f"{row.name} is assigned by the LDAP mapping {mapped[0].name}; change the mapping first."
        )
    provider = (await clusters.load(session)).oidc or {}
    if uid in (provider.get("default_role_uid"), *(role_uid for _, role_uid in provider.get("roles", ()))):
        raise Conflict("resource_in_use", f"{row.name} is assigned by single sign-on; change its settings first.")
    await session.delete(row)
    events.record(session, "role_deleted", f"The role {row.name} was deleted.", originator=principal.username)


async def check_roles_permissions(session: AsyncSession, value: object) -> None:
    """Raise NotAcceptable unless `given` is a valid value of `roles_permissions` and its roles and ACLs exist."""
    uids = {
        "role_uid": {each.uid for each in await list_roles(session)},
        "redis_acl_uid": {each.uid for each in await list_acls(session)},
    }
    if not isinstance(value, list) or not all(isinstance(row, dict) and row.keys() == uids.keys() for row in value):
        raise _invalid_permissions(
            "`roles_permissions` must be a list of objects, each with `role_uid` and `redis_acl_uid`."
        )
    for row in value:
        for name, existing in uids.items():
            if isinstance(row[name], bool) or row[name] not in existing:
                raise _invalid_permissions(f"`roles_permissions`: {name} {str(row[name])[:40]} does not exist.")
    role_uids = [row["role_uid"] for row in value]
    if len(set(role_uids)) < len(role_uids):
        raise _invalid_permissions("`roles_permissions` lists a role twice; assign one ACL to each role.")


async def requested_role(
    session: AsyncSession, management: AnyManagementRole | None, role_uids: Sequence[int] | None
) -> RoleAssignment | None:
    """Return the roles that a request names by management role, by uids, or by both; None if it names neither.

    An empty list of uids stands for no role, unless the request names a management role.
    """
    if role_uids is None:
        return RoleAssignment(management) if management is not None else None
    if not role_uids:
        return RoleAssignment(management or ManagementRole.NONE, by_uid=management is None)
    await clusters.load_for_update(session)  # so that the roles cannot be removed before the user has them
    uids = tuple(dict.fromkeys(role_uids))
    known = {each.uid: each for each in await list_roles(session)}
    if missing := [uid for uid in uids if uid not in known]:
        message = f"`role_uids`: role {missing[0]} does not exist. Use uids from /v1/roles."
        raise NotAcceptable("config_error", message, field="role_uids")
    role = roles.leading_role([known[uid] for uid in uids])
    if role is None:
        message = (
            "These roles cannot be combined: the management permissions of one of them must include those of the others. Use "
            "additional roles with the management role none."
        )
        raise NotAcceptable("config_error", message, field="role_uids")
    if management not in (None, role.management):
        message = (
            f"`role` must be {role.management}, the management role of role {role.uid} in `role_uids`, or be omitted."
        )
        raise NotAcceptable("config_error", message, field="role_uids")
    several = uids if len(uids) > 1 else ()
    if role.uid in roles.BUILT_IN:
        return RoleAssignment(role.management, by_uid=True, uids=several)
    return RoleAssignment(role.management, role.uid, role.name, by_uid=True, uids=several)


async def _check_bdb_uids(
    session: AsyncSession, management: str, bdb_uids: Sequence[int], removed: Sequence[int] = ()
) -> None:
    """Raise NotAcceptable unless the role can be limited to these databases. Databases in `removed` need not exist any longer."""
    if not bdb_uids:
        return
    if management not in roles.LIMITED:
        message = (
            f"The management role {management} covers the whole cluster; only {_LIMITED} can be limited to databases."
        )
        raise NotAcceptable("invalid_param", message, field="resources")
    existing = {bdb.uid for bdb in await bdbs.list_all(session)}
    if missing := sorted(set(bdb_uids) - existing - set(removed)):
        raise NotAcceptable("invalid_param", f"`resources`: database {missing[0]} does not exist.", field="resources")


def _role(row: RoleRow) -> Role:
    return Role(row.uid, row.name, row.management, tuple(row.bdb_uids))


def _limits(row: RoleRow) -> str:
    return f" of {databases_text(row.bdb_uids)}" if row.bdb_uids else ""


def normalize_rules(rules: str) -> str:
    """Return the rules in the form in which they are stored. Raises NotAcceptable."""
    try:
        return " ".join(acl_rules.parse(rules))
    except acl_rules.InvalidAcl as error:
        raise NotAcceptable("invalid_param", str(error), field="acl") from error


def _invalid_permissions(message: str) -> NotAcceptable:
    return NotAcceptable("invalid_param", message, field="roles_permissions")


async def _databases_with(session: AsyncSession, field: str, uid: int) -> list[str]:
    all_bdbs = await bdbs.list_all(session)
    return [bdb.name for bdb in all_bdbs if any(row[field] == uid for row in bdb.config.get("roles_permissions", ()))]


async def _load_custom(session: AsyncSession, table: type[CustomRow], uid: int, found: Acl | Role) -> CustomRow:
    row = await session.get(table, uid)
    if row is None:
        raise Conflict("read_only", f"{found.name} is built in and cannot be changed or deleted.")
    return row


def _check_name(name: str, others: Iterable[str]) -> None:
    if not 0 < len(name.strip()) <= MAX_NAME_LENGTH or not name.isprintable():
        raise NotAcceptable(
            "invalid_param", f"The name must have 1 to {MAX_NAME_LENGTH} printable characters.", field="name"
        )
    if name.casefold() in {other.casefold() for other in others}:
        raise NotAcceptable("name_already_exists", f"The name {name} is already in use.", field="name")


def _check_limit(present: int) -> None:
    if present >= MAX_ENTRIES:
        raise Conflict("invalid_param", f"There are already {present}, which is the maximum; delete some first.")


def _check_unused(name: str, databases: Sequence[str], users: Sequence[str] = (), tokens: Sequence[str] = ()) -> None:
    users_of_role = [
        *(f"database {each}" for each in databases[:3]),
        *(f"user {each}" for each in users),
        *(f"service token {each}" for each in tokens[:3]),
    ]
    if users_of_role:
        raise Conflict("resource_in_use", f"{name} is in use by {', '.join(users_of_role)}; change that first.")


def _next_uid(taken: Iterable[int]) -> int:
    return max(acl_rules.FIRST_CUSTOM_UID - 1, *taken) + 1
