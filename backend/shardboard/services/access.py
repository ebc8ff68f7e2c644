"""Roles, lists of data rules, and which of them databases refer to (REST reference 3.5)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import acl_rules, roles
from shardboard.domain.acl_rules import Acl
from shardboard.domain.roles import ManagementRole, Role
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.user_accounts import GivenRole
from shardboard.services.users import Principal, insist_on_another_admin, insist_on_power, said
from shardboard.state import access, bdbs, events, ldap_mappings, service_tokens
from shardboard.state import cluster as clusters
from shardboard.state.access import RedisAcl
from shardboard.state.access import Role as RoleRow
from shardboard.state.users import User

Own = TypeVar("Own", RedisAcl, RoleRow)

LONGEST_NAME = 120
_LIMITED = " and ".join(sorted(roles.LIMITED))
MOST = 1000


async def acls(session: AsyncSession) -> list[Acl]:
    """All by uid."""
    own = [Acl(row.uid, row.name, row.acl) for row in await access.acls(session)]
    return [*acl_rules.BUILT_IN.values(), *own]


async def acl(session: AsyncSession, uid: int) -> Acl:
    found = next((each for each in await acls(session) if each.uid == uid), None)
    if found is None:
        raise NotFound("redis_acl_not_exist", f"There is no ACL {uid}.")
    return found


async def create_acl(session: AsyncSession, name: str, rules: str, by: Principal) -> Acl:
    await clusters.load_for_update(session)
    present = await acls(session)
    _insist_on_name(name, (each.name for each in present))
    _insist_on_room(len(present))
    row = RedisAcl(uid=_next_uid(each.uid for each in present), name=name, acl=well_formed(rules))
    session.add(row)
    events.record(session, "redis_acl_created", f"The ACL {name} was created: {row.acl}", originator=by.username)
    await session.flush()
    return Acl(row.uid, row.name, row.acl)


async def change_acl(session: AsyncSession, uid: int, name: str | None, rules: str | None, by: Principal) -> Acl:
    """What is None stays. Databases that use it follow."""
    await clusters.load_for_update(session)
    row = await _own(session, RedisAcl, uid, await acl(session, uid))
    if name is not None and name != row.name:
        _insist_on_name(name, (each.name for each in await acls(session) if each.uid != uid))
        row.name = name
    if rules is not None:
        row.acl = well_formed(rules)
    events.record(session, "redis_acl_updated", f"The ACL {row.name} was changed: {row.acl}", originator=by.username)
    await session.flush()
    return Acl(row.uid, row.name, row.acl)


async def remove_acl(session: AsyncSession, uid: int, by: Principal) -> None:
    await clusters.load_for_update(session)
    row = await _own(session, RedisAcl, uid, await acl(session, uid))
    _insist_on_unused(row.name, await _databases_with(session, "redis_acl_uid", uid))
    await session.delete(row)
    events.record(session, "redis_acl_deleted", f"The ACL {row.name} was deleted.", originator=by.username)


async def every_role(session: AsyncSession) -> list[Role]:
    """All by uid."""
    own = [_role(row) for row in await access.roles(session)]
    return [*roles.BUILT_IN.values(), *own]


async def roles_seen(session: AsyncSession, viewer: Principal) -> list[Role]:
    """All by uid; to whom some databases are shown only, without those of others."""
    found = await every_role(session)
    if viewer.bdbs is None:
        return found
    shown = [replace(each, bdb_uids=tuple(uid for uid in each.bdb_uids if viewer.reaches(uid))) for each in found]
    return [mine for mine, whole in zip(shown, found, strict=True) if mine.bdb_uids or not whole.bdb_uids]


async def role(session: AsyncSession, uid: int, viewer: Principal | None = None) -> Role:
    """One of them, or of those that the viewer sees."""
    known = await (every_role(session) if viewer is None else roles_seen(session, viewer))
    found = next((each for each in known if each.uid == uid), None)
    if found is None:
        raise NotFound("role_not_exist", f"There is no role {uid}.")
    return found


async def create_role(
    session: AsyncSession, name: str, management: ManagementRole, bdb_uids: Sequence[int], by: Principal
) -> Role:
    insist_on_power(by, management)
    await clusters.load_for_update(session)
    await _insist_on_reach(session, management, bdb_uids)
    present = await every_role(session)
    _insist_on_name(name, (each.name for each in present))
    _insist_on_room(len(present))
    uid = _next_uid(each.uid for each in present)
    row = RoleRow(uid=uid, name=name, management=management, bdb_uids=sorted(set(bdb_uids)))
    session.add(row)
    events.record(
        session,
        "role_created",
        f"The role {name} was created; its management role is {management}{_of(row)}.",
        originator=by.username,
    )
    await session.flush()
    return _role(row)


async def change_role(
    session: AsyncSession,
    uid: int,
    name: str | None,
    management: ManagementRole | None,
    bdb_uids: Sequence[int] | None,
    by: Principal,
) -> Role:
    """What is None stays. Its users and service tokens may do what it says from then on."""
    await clusters.load_for_update(session)
    row = await _own(session, RoleRow, uid, await role(session, uid))
    insist_on_power(by, row.management)
    if name is not None and name != row.name:
        _insist_on_name(name, (each.name for each in await every_role(session) if each.uid != uid))
        row.name = name
    if management is not None and management != row.management:
        insist_on_power(by, management)
        held = (await session.execute(select(User).where(User.role_uid == uid))).scalars().all()
        await insist_on_another_admin(session, held)
        for user in held:
            user.role = management
        for token in await service_tokens.with_role(session, uid):
            token.role = management
        row.management = management
    wanted = row.bdb_uids if bdb_uids is None else sorted(set(bdb_uids))
    await _insist_on_reach(session, row.management, wanted, gone=row.bdb_uids)
    row.bdb_uids = wanted
    events.record(
        session,
        "role_updated",
        f"The role {row.name} was changed; its management role is {row.management}{_of(row)}.",
        originator=by.username,
    )
    await session.flush()
    return _role(row)


async def remove_role(session: AsyncSession, uid: int, by: Principal) -> None:
    await clusters.load_for_update(session)
    row = await _own(session, RoleRow, uid, await role(session, uid))
    insist_on_power(by, row.management)
    held = (await session.execute(select(User.email).where(User.role_uid == uid).limit(3))).scalars().all()
    tokens = [each.name for each in await service_tokens.with_role(session, uid)]
    _insist_on_unused(row.name, await _databases_with(session, "role_uid", uid), held, tokens)
    if mapped := await ldap_mappings.of_role(session, uid):
        raise Conflict(
            "resource_in_use", f"{row.name} is given by the LDAP mapping {mapped[0].name}; change that first."
        )
    provider = (await clusters.load(session)).oidc or {}
    if uid in (provider.get("default_role_uid"), *(given for _, given in provider.get("roles", ()))):
        raise Conflict("resource_in_use", f"{row.name} is given by single sign-on; change that first.")
    await session.delete(row)
    events.record(session, "role_deleted", f"The role {row.name} was deleted.", originator=by.username)


async def insist_on_permissions(session: AsyncSession, given: object) -> None:
    """That `roles_permissions` of a database is what it should be."""
    uids = {
        "role_uid": {each.uid for each in await every_role(session)},
        "redis_acl_uid": {each.uid for each in await acls(session)},
    }
    if not isinstance(given, list) or not all(isinstance(row, dict) and row.keys() == uids.keys() for row in given):
        raise _refused("`roles_permissions` is a list of objects, each with `role_uid` and `redis_acl_uid`.")
    for row in given:
        for name, known in uids.items():
            if isinstance(row[name], bool) or row[name] not in known:
                raise _refused(f"`roles_permissions`: there is no {name} {str(row[name])[:40]}.")
    named = [row["role_uid"] for row in given]
    if len(set(named)) < len(named):
        raise _refused("`roles_permissions` names a role twice; give it one ACL.")


async def chosen(
    session: AsyncSession, management: ManagementRole | None, role_uids: Sequence[int] | None
) -> GivenRole | None:
    """The role of a user by either of its names; None where neither is given."""
    if role_uids is None:
        return GivenRole(management) if management is not None else None
    await clusters.load_for_update(session)  # nobody removes it before the user has it
    found = [each for each in await every_role(session) if [each.uid] == list(role_uids)]
    if not found or management not in (None, found[0].management):
        sentence = (
            "`role_uids` is one uid of /v1/roles, and its management role the same as `role` where both are given."
        )
        raise NotAcceptable("config_error", sentence, field="role_uids")
    role = found[0]
    is_built_in = role.uid in roles.BUILT_IN
    if is_built_in:
        return GivenRole(role.management, by_uid=True)
    return GivenRole(role.management, role.uid, role.name, by_uid=True)


async def _insist_on_reach(
    session: AsyncSession, management: str, bdb_uids: Sequence[int], gone: Sequence[int] = ()
) -> None:
    """That a role may reach these databases only; those that it did may be `gone`."""
    if not bdb_uids:
        return
    if management not in roles.LIMITED:
        sentence = (
            f"The management role {management} concerns the whole cluster; {_LIMITED} may reach some databases only."
        )
        raise NotAcceptable("invalid_param", sentence, field="resources")
    known = {bdb.uid for bdb in await bdbs.every(session)}
    if missing := sorted(set(bdb_uids) - known - set(gone)):
        raise NotAcceptable("invalid_param", f"`resources`: there is no database {missing[0]}.", field="resources")


def _role(row: RoleRow) -> Role:
    return Role(row.uid, row.name, row.management, tuple(row.bdb_uids))


def _of(row: RoleRow) -> str:
    return f" of {said(row.bdb_uids)}" if row.bdb_uids else ""


def well_formed(rules: str) -> str:
    """The list as it is kept."""
    try:
        return " ".join(acl_rules.parse(rules))
    except acl_rules.Malformed as what:
        raise NotAcceptable("invalid_param", str(what), field="acl") from what


def _refused(sentence: str) -> NotAcceptable:
    return NotAcceptable("invalid_param", sentence, field="roles_permissions")


async def _databases_with(session: AsyncSession, field: str, uid: int) -> list[str]:
    found = await bdbs.every(session)
    return [bdb.name for bdb in found if any(row[field] == uid for row in bdb.config.get("roles_permissions", ()))]


async def _own(session: AsyncSession, table: type[Own], uid: int, found: Acl | Role) -> Own:
    row = await session.get(table, uid)
    if row is None:
        raise Conflict("read_only", f"{found.name} is built in: it can be neither changed nor deleted.")
    return row


def _insist_on_name(name: str, others: Iterable[str]) -> None:
    if not 0 < len(name.strip()) <= LONGEST_NAME or not name.isprintable():
        raise NotAcceptable("invalid_param", f"A name is 1 to {LONGEST_NAME} printable characters.", field="name")
    if name.casefold() in {other.casefold() for other in others}:
        raise NotAcceptable("name_already_exists", f"There is another one called {name}.", field="name")


def _insist_on_room(present: int) -> None:
    if present >= MOST:
        raise Conflict("invalid_param", f"There are {present} already; remove some first.")


def _insist_on_unused(
    name: str, databases: Sequence[str], users: Sequence[str] = (), tokens: Sequence[str] = ()
) -> None:
    where = [
        *(f"database {each}" for each in databases[:3]),
        *(f"user {each}" for each in users),
        *(f"service token {each}" for each in tokens[:3]),
    ]
    if where:
        raise Conflict("resource_in_use", f"{name} is in use by {', '.join(where)}; change that first.")


def _next_uid(taken: Iterable[int]) -> int:
    return max(acl_rules.FIRST_OWN - 1, *taken) + 1
