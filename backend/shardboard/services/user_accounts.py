"""Adding, changing and removing users (REST reference 3.5), and who may do that to whom.

Administrators may do everything; user managers everything but to administrators, or they could make themselves one; everybody
may change his own name and password. There is always an administrator with a password left.
"""

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import password_rules
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services import logins, passwords, second_factor
from shardboard.services.users import ADMINS, Principal, insist_on_another_admin, insist_on_power, one
from shardboard.state import access, data_users, events, login_failures, users
from shardboard.state import cluster as clusters
from shardboard.state.users import LDAP, REGULAR, SSO, Password, User

_FORBIDDEN_IN_NAMES = frozenset('&<>"')
_LONGEST_NAME = 254
MOST_PASSWORDS = 5
_NAMES = {REGULAR: "a password", SSO: "single sign-on", LDAP: "LDAP"}


@dataclass(frozen=True)
class GivenRole:
    """What a user may do here, and, where that is a role of the cluster's own, its uid."""

    management: str
    uid: int | None = None
    name: str = field(default="", compare=False)
    """Of a role of the cluster's own."""
    by_uid: bool = field(default=False, compare=False)
    """Whether it was asked for as one of /v1/roles."""

    def __str__(self) -> str:
        return f"{self.name} ({self.management})" if self.name else self.management


@dataclass(frozen=True)
class NewPassword:
    """What may be kept of a password."""

    password_hash: str = field(repr=False)
    data_hash: str = field(repr=False)
    """For engines; kept only where a database lets the user at its data."""


@dataclass(frozen=True)
class Changes:
    """None: as it is."""

    email: str | None = None
    """Only the one that it is."""
    name: str | None = None
    password: NewPassword | None = None
    role: GivenRole | None = None
    auth_method: str | None = None


async def insist_on_password(session: AsyncSession, password: str, email: str) -> None:
    """As long, and as complex, as the cluster wants it. Hashing takes a tenth of a second, so it comes after this and in no
    transaction."""
    wanted = (await clusters.load(session)).settings
    passwords.check_length(password, wanted.password_min_length)
    if wanted.password_complexity and (sentence := password_rules.fault(password, email)):
        raise NotAcceptable("password_not_complex", sentence, field="password")


async def create(
    session: AsyncSession, email: str, name: str, password: NewPassword | None, role: GivenRole, by: Principal
) -> User:
    """Without a password: one of single sign-on."""
    insist_on_power(by, role.management)
    if not logins.is_login_name(email):
        sentence = "A user logs in by `email`: 1 to 254 printable ASCII characters without a colon, at which HTTP Basic ends it."
        raise NotAcceptable("config_error", sentence, field="email")
    _check_name(name)
    # Two that are created at once see each other, in whatever case they are written.
    await clusters.load_for_update(session)
    if await users.by_email(session, email) is not None:
        raise Conflict("email_already_exists", f"There is a user {email} already.", field="email")
    user = User(
        email=email,
        name=name,
        password_hash="",
        role=role.management,
        role_uid=role.uid,
        auth_method=REGULAR if password is not None else SSO,
        other_passwords=[],
        created_at=datetime.now(UTC),
    )
    user.keep([await _kept(session, user, password) if password is not None else Password("")])
    session.add(user)
    how = "" if password is not None else ", for single sign-on"
    told = f"User {email} was created with the role {role}{how}."
    events.record(session, "user_created", told, originator=by.username)
    await session.flush()
    return user


async def change(session: AsyncSession, uid: int, given: Changes, by: Principal) -> User:
    """A new password ends all tokens and sessions of the user, and the waiting after failed logins."""
    user = await _for_update(session, uid)
    if user.email != by.username:
        insist_on_power(by, user.role)
    if given.email is not None and given.email.lower() != user.email.lower():
        sentence = f"The `email` of {user.email} cannot be changed; create another user instead."
        raise NotAcceptable("config_error", sentence, field="email")
    told = []
    if given.role is not None and _is_another(user, given.role):
        insist_on_power(by, user.role, given.role.management)
        if given.role.management != user.role:
            await insist_on_another_admin(session, [user])
        told.append(f"the role from {await _role_of(session, user)} to {given.role}")
        user.role, user.role_uid = given.role.management, given.role.uid
    if given.name is not None and given.name != user.name:
        _check_name(given.name)
        told.append("the name")
        user.name = given.name
    if given.auth_method not in (None, user.auth_method):
        await _insist_on_power_over_sign_in(session, user, by)
        told.append(_signs_in(user, str(given.auth_method), has_password=given.password is not None))
    elif given.password is not None:
        insist_on_regular(user)
        told.append("the password")
    if given.password is not None:
        user.keep([await _kept(session, user, given.password)])
        await login_failures.forget(session, user.uid)
    if told:
        events.record(
            session, "user_updated", f"User {user.email} was changed: {', '.join(told)}.", originator=by.username
        )
        await session.flush()
    return user


async def of_name(session: AsyncSession, email: str, by: Principal) -> User:
    """Whose passwords are to be changed: one's own, or for administrators anybody's."""
    user = await users.by_email(session, email) if logins.is_user_name(email) else None
    if by.role not in ADMINS and (user is None or user.email != by.username):
        raise Forbidden("unauthorized_action", "Only an administrator changes the passwords of others.")
    if user is None:
        raise NotFound("user_not_exist", f"There is no user {email}.")
    return user


async def add_password(session: AsyncSession, uid: int, password: NewPassword, beside: str, by: Principal) -> None:
    """One more, hashed with the salt of `beside`; those that are there stay, and what was begun with them goes on."""
    user = await _for_update(session, uid)
    insist_on_regular(user)
    if user.password_hash != beside:
        raise Conflict("busy", f"The passwords of {user.email} were changed at the same moment; try again.")
    if password.password_hash in user.password_hashes:
        return
    if len(user.passwords) >= MOST_PASSWORDS:
        sentence = f"{user.email} has {MOST_PASSWORDS} passwords already; remove one that is not used any more."
        raise Conflict("too_many_passwords", sentence, field="new_password")
    user.keep([*user.passwords, await _kept(session, user, password)])
    events.record(
        session, "user_updated", f"User {user.email} was changed: a password was added.", originator=by.username
    )


async def remove_password(session: AsyncSession, uid: int, password_hash: str, by: Principal) -> None:
    """Ends tokens and sessions that were begun with it, and not those of other passwords."""
    user = await _for_update(session, uid)
    left = [each for each in user.passwords if each.hash != password_hash]
    if not left:
        sentence = f"It is the only password of {user.email}, who could not log in without it; add another one first."
        raise NotAcceptable("last_password", sentence, field="old_password")
    if len(left) < len(user.passwords):
        user.keep(left)
        events.record(
            session, "user_updated", f"User {user.email} was changed: a password was removed.", originator=by.username
        )


async def use_second_factor(session: AsyncSession, uid: int, code: str | None) -> None:
    """Accept the code, this once, where there is a second factor."""
    user = await _for_update(session, uid)
    if user.totp_secret is not None and not second_factor.use(user, code or ""):
        raise Conflict("busy", f"The second factor of {user.email} was used or changed at the same moment; try again.")


async def switch_second_factor_on(session: AsyncSession, uid: int, secret: str, code: str, by: Principal) -> list[str]:
    """The user logs in with an app's code as well; the recovery codes. Tokens and sessions end: they were begun without it."""
    user = await _for_update(session, uid)
    insist_on_regular(user)
    codes = second_factor.adopt(user, secret, code)
    user.keep([each.anew() for each in user.passwords])
    events.record(
        session,
        "user_updated",
        f"User {user.email} was changed: a second factor was switched on.",
        originator=by.username,
    )
    return codes


async def switch_second_factor_off(session: AsyncSession, uid: int, by: Principal) -> None:
    """The password is enough again: of oneself, or of a user who has lost the phone."""
    user = await _for_update(session, uid)
    if user.email != by.username:
        insist_on_power(by, user.role)
    if user.totp_secret is not None:
        second_factor.forget(user)
        events.record(
            session,
            "user_updated",
            f"User {user.email} was changed: the second factor was switched off.",
            originator=by.username,
        )


def insist_on_regular(user: User) -> None:
    """That the user has a password here."""
    if user.auth_method != REGULAR:
        sentence = f"{user.email} signs in by {_NAMES[user.auth_method]}, and has no password here."
        raise NotAcceptable("no_password", sentence, field="password")


async def _insist_on_power_over_sign_in(session: AsyncSession, user: User, by: Principal) -> None:
    insist_on_power(by, user.role)
    if user.email == by.username:
        raise Forbidden("unauthorized_action", "Nobody changes how he signs in himself; another administrator can.")
    await insist_on_another_admin(session, [user])


def _signs_in(user: User, auth_method: str, *, has_password: bool) -> str:
    """Have the user sign in another way from now on; what that is called. Sessions and tokens end."""
    if has_password != (auth_method == REGULAR):
        sentence = "Who signs in by single sign-on or LDAP has no password here; who does not needs one."
        raise NotAcceptable("config_error", sentence, field="password")
    user.auth_method, user.subject = auth_method, None
    second_factor.forget(user)
    user.keep([Password("")])
    return f"the way to sign in to {_NAMES[auth_method]}"


def _is_another(user: User, given: GivenRole) -> bool:
    """By the management role alone nobody loses a role of the cluster's own with the same, which may reach less."""
    if given.uid is None and not given.by_uid and given.management == user.role:
        return False
    return given != GivenRole(user.role, user.role_uid)


async def _role_of(session: AsyncSession, user: User) -> GivenRole:
    own = await access.role(session, user.role_uid) if user.role_uid is not None else None
    return GivenRole(user.role, user.role_uid, own.name if own is not None else "")


async def _for_update(session: AsyncSession, uid: int) -> User:
    await clusters.load_for_update(session)  # two administrators cannot make each other ordinary users at once
    user = await one(session, uid)
    await session.refresh(user, with_for_update=True)  # against what logging in notes
    return user


async def unlock(session: AsyncSession, email: str, originator: str) -> bool:
    """End the waiting after failed logins; False when there was none."""
    user = await users.by_email(session, email) if logins.is_user_name(email) else None
    if user is None:
        raise NotFound("user_not_exist", f"There is no user {email}.")
    await session.refresh(user, with_for_update=True)
    was_locked = user.uid in await logins.locked(session)
    await login_failures.forget(session, user.uid)
    if was_locked:
        sentence = f"Waiting after failed logins of {user.email} was ended."
        events.record(session, "user_updated", sentence, source="cluster", originator=originator)
    return was_locked


async def remove(session: AsyncSession, uid: int, by: Principal) -> None:
    await clusters.load_for_update(session)
    user = await one(session, uid)
    insist_on_power(by, user.role)
    await insist_on_another_admin(session, [user])
    if user.email == by.username:
        raise Forbidden("unauthorized_action", "Nobody removes himself; another administrator can.")
    await login_failures.forget(session, user.uid)
    await session.delete(user)
    events.record(session, "user_deleted", f"User {user.email} was deleted.", originator=by.username)


async def note_data_hash(session: AsyncSession, uid: int, password_hash: str, data_hash: str) -> None:
    """Of that password, if the user still has it and some database lets the user at its data."""
    user = await session.get(User, uid, with_for_update=True, populate_existing=True)
    if user is not None and await data_users.is_wanted(session, user):
        user.keep(
            [replace(each, data_hash=data_hash) if each.hash == password_hash else each for each in user.passwords]
        )


async def _kept(session: AsyncSession, user: User, password: NewPassword) -> Password:
    is_wanted = await data_users.is_wanted(session, user)
    return Password(password.password_hash, password.data_hash if is_wanted else None, issued=int(time.time()))


def is_name(name: str) -> bool:
    """Fit to be shown for a user."""
    return len(name) <= _LONGEST_NAME and name.isprintable() and _FORBIDDEN_IN_NAMES.isdisjoint(name)


def _check_name(name: str) -> None:
    if not is_name(name):
        sentence = f'A name has at most {_LONGEST_NAME} printable characters, none of them & < > ".'
        raise NotAcceptable("config_error", sentence, field="name")
