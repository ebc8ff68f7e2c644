"""Signing in with an LDAP directory: its settings, role mappings of its groups, and its users.

A directory user has no password in Shardboard and gets a role from the groups at each login. Users with a password in Shardboard
are never looked up in the directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import ca_validation
from shardboard.domain.access import ldap
from shardboard.domain.access.ldap import Directory, DirectoryUser
from shardboard.domain.access.roles import ManagementRole, Role
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services.access import logins, roles_and_acls
from shardboard.services.access.authorization import Principal, require_grantable, require_privilege_over
from shardboard.services.access.role_assignments import RoleAssignment, assignment_of
from shardboard.state.access import ldap_mappings, users
from shardboard.state.access.ldap_mappings import LdapMapping
from shardboard.state.access.users import LDAP, Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster.cluster import Cluster

PLACEHOLDER = "***"
"""Placeholder for the password of `bind_dn`, as in the REST reference. A request that contains it leaves the password unchanged."""
MAX_NAME_LENGTH = 120
MAX_MAPPINGS = 200
_ORIGINATOR = "the directory"
_NO_ROLE = RoleAssignment(ManagementRole.NONE)
_EXCLUSIVE = (("user_dn_template", "user_dn_query"), ("dn_group_attr", "dn_group_query"))
"""Setting one of a pair clears the other."""
_BIND_TARGET = ("uris", "bind_dn", "ca_cert", "starttls")
"""Settings that decide to which server the password of `bind_dn` is sent, and how. If one changes, it must be sent again."""


def directory_of(cluster: Cluster) -> Directory | None:
    """Return the configured directory; None if there is none."""
    return None if cluster.ldap is None else ldap.directory(cluster.ldap)


async def validate(session: AsyncSession, payload: Mapping[str, Any]) -> Directory:
    """Return the directory that a request would configure; omitted fields keep their values. Raises an error if it is invalid."""
    previous = (await clusters.load(session)).ldap or asdict(Directory(()))
    values = {name: value for name, value in payload.items() if value is not None}
    if values.get("bind_pass") == PLACEHOLDER:
        del values["bind_pass"]
    for pair in _EXCLUSIVE:
        for one, other in (pair, pair[::-1]):
            if values.get(one) and not values.get(other):
                values[other] = None if other.endswith("query") else ""
    merged = {**previous, **values}
    if "bind_pass" not in values and any(merged[name] != previous[name] for name in _BIND_TARGET):
        merged["bind_pass"] = ""
    directory = ldap.directory(merged)
    if (error := ldap.validation_error(directory)) is not None:
        name, problem = error
        raise NotAcceptable("config_error", f"`{name}` {problem}.", field=name)
    if problem := ca_validation.ca_error(directory.ca_cert):
        raise NotAcceptable("invalid_certificate", f"`ca_cert` {problem}.", field="ca_cert")
    return directory


async def configure(session: AsyncSession, payload: Mapping[str, Any], principal: Principal) -> Directory:
    """Configure the directory for future logins. If a relevant setting changes, all directory users are signed out."""
    cluster_row = await clusters.load_for_update(session)
    previous, directory = directory_of(cluster_row), await validate(session, payload)
    cluster_row.ldap = {**asdict(directory), "uris": list(directory.uris)}
    if previous is not None and _without_timings(previous) != _without_timings(directory):
        await _sign_all_out(session)
    message = (
        f"LDAP sign-in ({', '.join(directory.uris)}) was {'configured' if directory.control_plane else 'disabled'}."
    )
    events.record(session, "ldap_updated", message, source="cluster", originator=principal.username)
    await session.flush()
    return directory


async def remove(session: AsyncSession, principal: Principal) -> None:
    """Remove the directory. Its users remain, but cannot log in."""
    cluster_row = await clusters.load_for_update(session)
    if cluster_row.ldap is None:
        raise NotFound("ldap_not_configured", "LDAP is not configured.")
    cluster_row.ldap = None
    await _sign_all_out(session)
    events.record(session, "ldap_updated", "LDAP sign-in was removed.", source="cluster", originator=principal.username)


async def get_mapping(session: AsyncSession, uid: int) -> LdapMapping:
    mapping = await session.get(LdapMapping, uid) if 0 < uid < 2**31 else None
    if mapping is None:
        raise NotFound("ldap_mapping_not_exist", f"LDAP mapping {uid} does not exist.")
    return mapping


async def create_mapping(
    session: AsyncSession, name: str, dn: str, role_uid: int, email: str, principal: Principal
) -> LdapMapping:
    """Map a group to a role. It applies to members of the group from their next login, unless an older mapping matches too."""
    await clusters.load_for_update(session)
    mappings = await ldap_mappings.list_all(session)
    if len(mappings) >= MAX_MAPPINGS:
        raise Conflict("too_many", f"There are already {MAX_MAPPINGS} LDAP mappings, which is the maximum.")
    await _check_mapping(session, name, dn, role_uid, mappings, principal)
    _check_email(email)
    row = LdapMapping(uid=await ldap_mappings.next_uid(session), name=name, dn=dn, role_uid=role_uid, email=email)
    session.add(row)
    events.record(
        session, "ldap_mapping_created", f"The LDAP mapping {name} was created.", originator=principal.username
    )
    await session.flush()
    return row


async def change_mapping(
    session: AsyncSession,
    uid: int,
    principal: Principal,
    *,
    name: str | None,
    dn: str | None,
    role_uid: int | None,
    email: str | None,
) -> LdapMapping:
    """Change a mapping; None leaves a field unchanged."""
    await clusters.load_for_update(session)
    row = await get_mapping(session, uid)
    require_privilege_over(principal, (await _role_of(session, row.role_uid)).management)
    other_mappings = [each for each in await ldap_mappings.list_all(session) if each.uid != uid]
    if dn is not None and not ldap.same_dn(dn, row.dn):
        await _require_later_mappings_grantable(session, row, other_mappings, principal)
    row.name, row.dn = name if name is not None else row.name, dn if dn is not None else row.dn
    row.role_uid = role_uid if role_uid is not None else row.role_uid
    row.email = email if email is not None else row.email
    await _check_mapping(session, row.name, row.dn, row.role_uid, other_mappings, principal)
    _check_email(row.email)
    events.record(
        session, "ldap_mapping_updated", f"The LDAP mapping {row.name} was changed.", originator=principal.username
    )
    await session.flush()
    return row


async def remove_mapping(session: AsyncSession, uid: int, principal: Principal) -> None:
    await clusters.load_for_update(session)
    row = await get_mapping(session, uid)
    require_privilege_over(principal, (await _role_of(session, row.role_uid)).management)
    await _require_later_mappings_grantable(session, row, await ldap_mappings.list_all(session), principal)
    await session.delete(row)
    events.record(
        session, "ldap_mapping_deleted", f"The LDAP mapping {row.name} was deleted.", originator=principal.username
    )


def _without_timings(directory: Directory) -> Directory:
    """Return the directory without its timeout and cache time, which do not affect who can log in."""
    return replace(directory, directory_timeout_s=0, cache_ttl=0)


async def find_directory_and_user(
    session: AsyncSession, username: str, alias_of: int | None
) -> tuple[Directory, User | None] | None:
    """Return the directory that must verify passwords of this name, with the user who logged in with it before.

    That user may have another name now, which was already resolved to the uid `alias_of`. None if the name is a local user's,
    or if no directory is used.
    """
    directory = directory_of(await clusters.load(session))
    # Directories ignore trailing spaces: `ann ` and `ann  ` would become users with failure counters separate from those of `ann`.
    if directory is None or not directory.control_plane or not logins.is_login_name(username) or " " in username:
        return None
    user = await users.by_email(session, username)
    if user is not None:
        return (directory, user) if user.auth_method == LDAP else None
    known_as = await session.get(User, alias_of) if alias_of is not None else None
    return directory, known_as if known_as is not None and known_as.auth_method == LDAP else None


async def find_unchanged_user(
    session: AsyncSession, directory: Directory, directory_user: DirectoryUser
) -> User | None:
    """Return the user of a directory entry, if nothing about the user would change."""
    role, user = await mapped_role(session, directory_user), await users.by_subject(session, subject_id(directory_user))
    is_unchanged = user is not None and role == assignment_of(user)
    return user if is_unchanged and directory_of(await clusters.load(session)) == directory else None


async def sign_in(session: AsyncSession, directory: Directory, username: str, directory_user: DirectoryUser) -> User:
    """Return the user of a directory entry, created or updated as its groups require. Raises Forbidden."""
    cluster_row = await clusters.load_for_update(session)  # concurrent logins must not create the user twice
    if directory_of(cluster_row) != directory:
        raise Forbidden("ldap_not_configured", "LDAP sign-in was changed or disabled in the meantime. Try again.")
    if (role := await mapped_role(session, directory_user)) is None:
        name = logins.printable_name(username)
        message = f"{name} is not a member of any group with a role. Ask the administrator of the groups."
        raise Forbidden("no_role", message)
    user = await users.by_subject(session, subject_id(directory_user)) or await users.by_email(session, username)
    if user is not None and user.auth_method == LDAP and user.subject not in (None, subject_id(directory_user)):
        # The entry was moved, or the name now belongs to another entry, which must not inherit existing sessions.
        user.set_passwords([Password("")])
        message = f"User {user.email} is now another entry of the directory and was signed out everywhere."
        events.record(session, "user_updated", message, source="cluster", originator=_ORIGINATOR)
    if user is None:
        user = User(
            email=username,
            name="",
            password_hash="",
            role=role.management,
            role_uid=role.uid,
            auth_method=LDAP,
            other_passwords=[],
            created_at=datetime.now(UTC),
        )
        user.set_passwords([Password("")])
        session.add(user)
        message = f"User {username} was created with the role {role}, by LDAP."
        events.record(session, "user_created", message, source="cluster", originator=_ORIGINATOR)
    elif user.auth_method != LDAP:
        raise Forbidden("local_user", f"{user.email} does not sign in with LDAP.")
    elif role != assignment_of(user):
        message = f"User {user.email} was changed: the role to {role}, because of directory groups."
        role.assign_to(user)
        events.record(session, "user_updated", message, source="cluster", originator=_ORIGINATOR)
    user.subject = subject_id(directory_user)
    await session.flush()
    return user


async def find_user_with_role(session: AsyncSession, directory_user: DirectoryUser) -> User | None:
    """Return the user of a directory entry if the user had a role at the last login."""
    user = await users.by_subject(session, subject_id(directory_user))
    return user if user is not None and assignment_of(user) != _NO_ROLE else None


async def sign_out(session: AsyncSession, directory_user: DirectoryUser) -> None:
    """Sign the user out everywhere and remove the role until the groups provide one again."""
    await clusters.load_for_update(session)
    if (user := await find_user_with_role(session, directory_user)) is not None:
        user.set_passwords([Password("")])
        _NO_ROLE.assign_to(user)
        message = f"User {user.email} was signed out everywhere, because the directory groups no longer provide a role."
        events.record(session, "user_updated", message, source="cluster", originator=_ORIGINATOR)


def subject_id(directory_user: DirectoryUser) -> str:
    """Return the identifier of an entry, independent of the name that was typed."""
    return f"ldap {ldap.normalized_dn(directory_user.dn)}"


async def mapped_role(session: AsyncSession, directory_user: DirectoryUser) -> RoleAssignment | None:
    """Return the role of the first matching mapping."""
    groups = {ldap.normalized_dn(group) for group in directory_user.groups}
    for each in await ldap_mappings.list_all(session):
        if ldap.normalized_dn(each.dn) in groups:
            matching_roles = await roles_and_acls.requested_role(session, None, [each.role_uid])
            if matching_roles is not None:
                return matching_roles
    return None


async def _check_mapping(
    session: AsyncSession, name: str, dn: str, role_uid: int, others: Sequence[LdapMapping], principal: Principal
) -> None:
    if not 0 < len(name.strip()) <= MAX_NAME_LENGTH or not name.isprintable():
        raise NotAcceptable(
            "invalid_name_param", f"`name` must have 1 to {MAX_NAME_LENGTH} printable characters.", field="name"
        )
    if any(each.name == name for each in others):
        raise Conflict("name_already_exists", f"The LDAP mapping {name} already exists.", field="name")
    if not ldap.is_dn(dn) or not dn.isprintable():
        message = "`dn` must be the distinguished name of a group, such as cn=dba,ou=groups,dc=example,dc=org."
        raise NotAcceptable("invalid_dn_param", message, field="dn")
    if any(ldap.same_dn(each.dn, dn) for each in others):
        raise Conflict(
            "name_already_exists",
            "This group already has a mapping, and only its first mapping would apply.",
            field="dn",
        )
    await _require_grantable(session, role_uid, principal)


def _check_email(email: str) -> None:
    if not email.isprintable():
        raise NotAcceptable("invalid_email_param", "`email` must have printable characters only.", field="email")


async def _role_of(session: AsyncSession, role_uid: int) -> Role:
    role = next((each for each in await roles_and_acls.list_roles(session) if each.uid == role_uid), None)
    if role is None:
        raise NotAcceptable("invalid_role_uids_param", f"Role {role_uid} does not exist.", field="role_uids")
    return role


async def _require_grantable(session: AsyncSession, role_uid: int, principal: Principal) -> None:
    """Require all permissions of a role to map it to a group: users could otherwise assign it to a group that they belong to."""
    role = await _role_of(session, role_uid)
    await require_grantable(session, principal, role.management, role.uid)


async def _require_later_mappings_grantable(
    session: AsyncSession, row: LdapMapping, mappings: Sequence[LdapMapping], principal: Principal
) -> None:
    """Require privileges over the roles of later mappings, which members of the group may get if this mapping no longer applies."""
    for each in mappings:
        if each.uid > row.uid:
            await _require_grantable(session, each.role_uid, principal)


async def _sign_all_out(session: AsyncSession) -> None:
    for user in await users.list_by_auth_method(session, LDAP):
        user.set_passwords([Password("")])
