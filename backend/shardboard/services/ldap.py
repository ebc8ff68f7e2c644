"""Logging in by a directory (LDAP): its settings, the roles that its groups give, and the users that it vouches for.

A user of the directory has no password here, and the role that the groups give at every log-in. Users with a password here are
never looked for in the directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import ldap, trusted
from shardboard.domain.ldap import Directory, Person
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services import access, logins
from shardboard.services.user_accounts import GivenRole
from shardboard.services.users import Principal, insist_on_power
from shardboard.state import cluster as clusters
from shardboard.state import events, ldap_mappings, users
from shardboard.state.cluster import Cluster
from shardboard.state.ldap_mappings import LdapMapping
from shardboard.state.users import LDAP, Password, User

HIDDEN = "***"
"""In place of the password of `bind_dn`, as the REST reference has it; sent back, it changes nothing."""
LONGEST_NAME = 120
MOST_MAPPINGS = 200
_ORIGINATOR = "the directory"
_NO_ROLE = GivenRole("none")
_EITHER = (("user_dn_template", "user_dn_query"), ("dn_group_attr", "dn_group_query"))
"""Setting one takes the other away."""
_BOUND_TO = ("uris", "bind_dn", "ca_cert", "starttls")
"""To whom the password of `bind_dn` is told, and how: with another one it has to be given again."""


def directory_of(here: Cluster) -> Directory | None:
    """As it was set; None: there is none."""
    return None if here.ldap is None else ldap.directory(here.ldap)


async def examine(session: AsyncSession, given: Mapping[str, Any]) -> Directory:
    """What an order would make; raises what is wrong with it. What is left out stays."""
    before = (await clusters.load(session)).ldap or asdict(Directory(()))
    values = {name: value for name, value in given.items() if value is not None}
    if values.get("bind_pass") == HIDDEN:
        del values["bind_pass"]
    for pair in _EITHER:
        for one, other in (pair, pair[::-1]):
            if values.get(one) and not values.get(other):
                values[other] = None if other.endswith("query") else ""
    merged = {**before, **values}
    if "bind_pass" not in values and any(merged[name] != before[name] for name in _BOUND_TO):
        merged["bind_pass"] = ""
    directory = ldap.directory(merged)
    if (wrong := ldap.fault(directory)) is not None:
        name, what = wrong
        raise NotAcceptable("config_error", f"`{name}` {what}.", field=name)
    if what := trusted.ca_fault(directory.ca_cert):
        raise NotAcceptable("invalid_certificate", f"`ca_cert` {what}.", field="ca_cert")
    return directory


async def configure(session: AsyncSession, given: Mapping[str, Any], by: Principal) -> Directory:
    """From the next log-in on. All whom it vouched for as it was before are signed out."""
    here = await clusters.load_for_update(session)
    before, directory = directory_of(here), await examine(session, given)
    here.ldap = {**asdict(directory), "uris": list(directory.uris)}
    if before is not None and _vouching(before) != _vouching(directory):
        await _sign_all_out(session)
    told = f"Log-in by LDAP ({', '.join(directory.uris)}) was {'set' if directory.control_plane else 'switched off'}."
    events.record(session, "ldap_updated", told, source="cluster", originator=by.username)
    await session.flush()
    return directory


async def remove(session: AsyncSession, by: Principal) -> None:
    """Its users stay, and cannot log in."""
    here = await clusters.load_for_update(session)
    if here.ldap is None:
        raise NotFound("ldap_not_configured", "There is no directory.")
    here.ldap = None
    await _sign_all_out(session)
    events.record(session, "ldap_updated", "Log-in by LDAP was removed.", source="cluster", originator=by.username)


async def mapping(session: AsyncSession, uid: int) -> LdapMapping:
    found = await session.get(LdapMapping, uid) if 0 < uid < 2**31 else None
    if found is None:
        raise NotFound("ldap_mapping_not_exist", f"There is no LDAP mapping {uid}.")
    return found


async def create_mapping(
    session: AsyncSession, name: str, dn: str, role_uid: int, email: str, by: Principal
) -> LdapMapping:
    """Who is in that group has that role from the next log-in on, unless an older mapping fits, too."""
    await clusters.load_for_update(session)
    present = await ldap_mappings.every(session)
    if len(present) >= MOST_MAPPINGS:
        raise Conflict("too_many", f"There are {MOST_MAPPINGS} LDAP mappings already.")
    await _insist_on_fitting(session, name, dn, role_uid, present, by)
    _insist_on_email(email)
    row = LdapMapping(uid=await ldap_mappings.next_uid(session), name=name, dn=dn, role_uid=role_uid, email=email)
    session.add(row)
    events.record(session, "ldap_mapping_created", f"The LDAP mapping {name} was created.", originator=by.username)
    await session.flush()
    return row


async def change_mapping(
    session: AsyncSession,
    uid: int,
    by: Principal,
    *,
    name: str | None,
    dn: str | None,
    role_uid: int | None,
    email: str | None,
) -> LdapMapping:
    """What is None stays."""
    await clusters.load_for_update(session)
    row = await mapping(session, uid)
    await _insist_on_power(session, row.role_uid, by)
    others = [each for each in await ldap_mappings.every(session) if each.uid != uid]
    row.name, row.dn = name if name is not None else row.name, dn if dn is not None else row.dn
    row.role_uid = role_uid if role_uid is not None else row.role_uid
    row.email = email if email is not None else row.email
    await _insist_on_fitting(session, row.name, row.dn, row.role_uid, others, by)
    _insist_on_email(row.email)
    events.record(session, "ldap_mapping_updated", f"The LDAP mapping {row.name} was changed.", originator=by.username)
    await session.flush()
    return row


async def remove_mapping(session: AsyncSession, uid: int, by: Principal) -> None:
    await clusters.load_for_update(session)
    row = await mapping(session, uid)
    await _insist_on_power(session, row.role_uid, by)
    await session.delete(row)
    events.record(session, "ldap_mapping_deleted", f"The LDAP mapping {row.name} was deleted.", originator=by.username)


def _vouching(directory: Directory) -> Directory:
    """All of it but for how long its answers are waited for and remembered."""
    return replace(directory, directory_timeout_s=0, cache_ttl=0)


async def user_of(session: AsyncSession, username: str, alias_of: int | None) -> tuple[Directory, User | None] | None:
    """Where a password of that name is looked at, and who logged in by it before, perhaps with another name that `alias_of` was
    known by then; None: here, or nowhere."""
    directory = directory_of(await clusters.load(session))
    # A directory takes `ann ` and `ann  ` for ann: three users, each with failures of his own.
    if directory is None or not directory.control_plane or not logins.is_login_name(username) or " " in username:
        return None
    user = await users.by_email(session, username)
    if user is not None:
        return (directory, user) if user.auth_method == LDAP else None
    known_as = await session.get(User, alias_of) if alias_of is not None else None
    return directory, known_as if known_as is not None and known_as.auth_method == LDAP else None


async def known(session: AsyncSession, directory: Directory, person: Person) -> User | None:
    """The user that this is, if nothing of him is to be changed."""
    role, user = await role_of(session, person), await users.by_subject(session, subject(person))
    is_so = user is not None and role == GivenRole(user.role, user.role_uid)
    return user if is_so and directory_of(await clusters.load(session)) == directory else None


async def sign_in(session: AsyncSession, directory: Directory, username: str, person: Person) -> User:
    """The user that this is, made or changed as the groups say. Raises Forbidden."""
    here = await clusters.load_for_update(session)  # two who come at once are not made twice
    if directory_of(here) != directory:
        raise Forbidden("ldap_not_configured", "Log-in by LDAP was changed or switched off meanwhile; try again.")
    if (role := await role_of(session, person)) is None:
        sentence = (
            f"{logins.shown(username)} is in no group that has a role here; whoever manages the groups can change that."
        )
        raise Forbidden("no_role", sentence)
    user = await users.by_subject(session, subject(person)) or await users.by_email(session, username)
    if user is not None and user.auth_method == LDAP and user.subject not in (None, subject(person)):
        # Somebody moved within the directory, or somebody else has got the name: who signed in before is not taken for him.
        user.keep([Password("")])
        told = f"User {user.email} is another entry of the directory now, and was signed out everywhere."
        events.record(session, "user_updated", told, source="cluster", originator=_ORIGINATOR)
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
        user.keep([Password("")])
        session.add(user)
        told = f"User {username} was created with the role {role}, by LDAP."
        events.record(session, "user_created", told, source="cluster", originator=_ORIGINATOR)
    elif user.auth_method != LDAP:
        raise Forbidden("local_user", f"{user.email} logs in in another way.")
    elif role != GivenRole(user.role, user.role_uid):
        told = f"User {user.email} was changed: the role to {role}, by groups of the directory."
        user.role, user.role_uid = role.management, role.uid
        events.record(session, "user_updated", told, source="cluster", originator=_ORIGINATOR)
    user.subject = subject(person)
    await session.flush()
    return user


async def with_role(session: AsyncSession, person: Person) -> User | None:
    """The user that this is, who had a role at the last log-in."""
    user = await users.by_subject(session, subject(person))
    return user if user is not None and GivenRole(user.role, user.role_uid) != _NO_ROLE else None


async def sign_out(session: AsyncSession, person: Person) -> None:
    """Everywhere, and without a role until groups give one again."""
    await clusters.load_for_update(session)
    if (user := await with_role(session, person)) is not None:
        user.keep([Password("")])
        user.role, user.role_uid = _NO_ROLE.management, _NO_ROLE.uid
        told = f"User {user.email} was signed out everywhere: no group gives a role any more."
        events.record(session, "user_updated", told, source="cluster", originator=_ORIGINATOR)


def subject(person: Person) -> str:
    """What an entry is recognized by, whichever of its names is typed."""
    return f"ldap {ldap.one_way(person.dn)}"


async def role_of(session: AsyncSession, person: Person) -> GivenRole | None:
    """Of the first mapping that fits."""
    groups = {ldap.one_way(group) for group in person.groups}
    for each in await ldap_mappings.every(session):
        if ldap.one_way(each.dn) in groups:
            given = await access.chosen(session, None, [each.role_uid])
            if given is not None:
                return given
    return None


async def _insist_on_fitting(
    session: AsyncSession, name: str, dn: str, role_uid: int, others: Sequence[LdapMapping], by: Principal
) -> None:
    if not 0 < len(name.strip()) <= LONGEST_NAME or not name.isprintable():
        raise NotAcceptable("invalid_name_param", f"`name` is 1 to {LONGEST_NAME} printable characters.", field="name")
    if any(each.name == name for each in others):
        raise Conflict("name_already_exists", f"There is an LDAP mapping {name} already.", field="name")
    if not ldap.is_dn(dn) or not dn.isprintable():
        sentence = "`dn` is the distinguished name of a group, such as cn=dba,ou=groups,dc=example,dc=org."
        raise NotAcceptable("invalid_dn_param", sentence, field="dn")
    if any(ldap.same_dn(each.dn, dn) for each in others):
        raise Conflict(
            "name_already_exists", "This group has a mapping already; its first role would count.", field="dn"
        )
    await _insist_on_power(session, role_uid, by)


def _insist_on_email(email: str) -> None:
    if not email.isprintable():
        raise NotAcceptable("invalid_email_param", "`email` has a character that cannot be printed.", field="email")


async def _insist_on_power(session: AsyncSession, role_uid: int, by: Principal) -> None:
    """Who could give a role to a group could give it to himself."""
    role = next((each for each in await access.every_role(session) if each.uid == role_uid), None)
    if role is None:
        raise NotAcceptable("invalid_role_uids_param", f"There is no role {role_uid}.", field="role_uids")
    insist_on_power(by, role.management)


async def _sign_all_out(session: AsyncSession) -> None:
    for user in await users.of_method(session, LDAP):
        user.keep([Password("")])
