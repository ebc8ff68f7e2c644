"""Adding, changing and removing users (REST reference 3.5), and the privileges that this requires.

Administrators may do everything. User managers may grant only permissions that they have, and may not take over users who have
more, by changing how these users sign in. All users may change their own name and password, but not their own role. At least one
administrator with a password always remains.
"""

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access import acl_rules, password_rules
from shardboard.errors import Conflict, Forbidden, NotAcceptable, NotFound
from shardboard.services.access import logins, passwords, two_factor
from shardboard.services.access.authorization import (
    ADMINS,
    USER_ADMINS,
    Principal,
    get_user,
    require_privilege_over,
    require_remaining_admin,
)
from shardboard.services.access.role_assignments import RoleAssignment, assignment_of, require_grantable_roles
from shardboard.state.access import acl_users, login_failures, roles_and_acls, users
from shardboard.state.access.users import LDAP, REGULAR, SSO, Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters

_FORBIDDEN_IN_NAMES = frozenset('&<>"')
_MAX_NAME_LENGTH = 254
MAX_PASSWORDS = 5
_NAMES = {REGULAR: "a password", SSO: "single sign-on", LDAP: "LDAP"}


@dataclass(frozen=True)
class PasswordHashes:
    """The hashes that may be stored for a password."""

    password_hash: str = field(repr=False)
    data_hash: str = field(repr=False)
    """Hash for engines."""


@dataclass(frozen=True)
class AccountChanges:
    """Requested changes of a user; None leaves a field unchanged."""

    email: str | None = None
    """Only the current value is accepted."""
    name: str | None = None
    password: PasswordHashes | None = None
    role: RoleAssignment | None = None
    auth_method: str | None = None


async def check_password(session: AsyncSession, password: str, email: str) -> None:
    """Check length and complexity of a password by the cluster's settings.

    Hashing takes 0.1 s, so callers hash after this check and outside a transaction.
    """
    rules = (await clusters.load(session)).settings
    passwords.check_length(password, rules.password_min_length)
    if rules.password_complexity and (message := password_rules.validation_error(password, email)):
        raise NotAcceptable("password_not_complex", message, field="password")


async def create(
    session: AsyncSession,
    email: str,
    name: str,
    password: PasswordHashes | None,
    role: RoleAssignment,
    principal: Principal,
) -> User:
    """Add a user; without a password, a user of single sign-on. Without `email`, the name is the username."""
    await require_grantable_roles(session, principal, role)
    has_name_only, login_field = not email, "email" if email else "name"
    email = email or name
    if not logins.is_login_name(email):
        message = f"`{login_field}` is the username: it must have 1 to 254 printable ASCII characters and no colon (HTTP Basic)."
        raise NotAcceptable("config_error", message, field=login_field)
    _check_name(name)
    if password is not None:
        await _check_data_access(session, email, role)
    # Serializes concurrent creations, so that names that differ in case only are detected.
    await clusters.load_for_update(session)
    if await users.by_email(session, email) is not None:
        code = "name_already_exists" if has_name_only else "email_already_exists"
        raise Conflict(code, f"The user {email} already exists.", field=login_field)
    user = User(
        email=email,
        name=name,
        password_hash="",
        role=role.management,
        role_uid=role.uid,
        role_uids=list(role.uids),
        has_name_only=has_name_only,
        auth_method=REGULAR if password is not None else SSO,
        other_passwords=[],
        created_at=datetime.now(UTC),
    )
    user.set_passwords([_stored_password(password) if password is not None else Password("")])
    session.add(user)
    suffix = "" if password is not None else ", for single sign-on"
    message = f"User {email} was created with the role {role}{suffix}."
    events.record(session, "user_created", message, originator=principal.username)
    await session.flush()
    return user


async def change(session: AsyncSession, uid: int, requested: AccountChanges, principal: Principal) -> User:
    """Change a user. A new password ends all tokens and sessions of the user, and clears the login throttling."""
    user = await _for_update(session, uid)
    if user.email != principal.username:
        require_privilege_over(principal, user.role)
        if requested.password is not None:
            await require_grantable_roles(session, principal, assignment_of(user))
    if not _is_own_email(user, requested.email):
        message = f"The `email` of {user.email} cannot be changed; create a new user instead."
        raise NotAcceptable("config_error", message, field="email")
    changes = []
    if requested.role is not None and _is_role_change(user, requested.role):
        changes.append(await _change_role(session, user, requested.role, principal))
    if requested.name is not None and requested.name != user.name:
        await _change_name(session, user, requested.name, principal)
        changes.append("the name")
    if requested.auth_method not in (None, user.auth_method):
        await _require_sign_in_privilege(session, user, principal)
        changes.append(_change_sign_in(user, str(requested.auth_method), has_password=requested.password is not None))
    elif requested.password is not None:
        require_local_password(user)
        changes.append("the password")
    if requested.password is not None:
        user.set_passwords([_stored_password(requested.password)])
        await login_failures.clear(session, user.uid)
    if changes:
        events.record(
            session,
            "user_updated",
            f"User {user.email} was changed: {', '.join(changes)}.",
            originator=principal.username,
        )
        await session.flush()
    return user


async def find_for_password_change(session: AsyncSession, email: str, principal: Principal) -> User:
    """Return the user whose passwords are changed: oneself, or any user for administrators. Raises Forbidden, NotFound."""
    user = await users.by_email(session, email) if logins.is_user_name(email) else None
    if principal.role not in ADMINS and (user is None or user.email != principal.username):
        raise Forbidden("unauthorized_action", "Only administrators can change the passwords of other users.")
    if user is None:
        raise NotFound("user_not_exist", f"The user {email} does not exist.")
    return user


async def add_password(
    session: AsyncSession, uid: int, password: PasswordHashes, salt_of: str, principal: Principal
) -> None:
    """Add a password, hashed with the salt of `beside`. Other passwords, their tokens and sessions remain valid."""
    user = await _for_update(session, uid)
    require_local_password(user)
    if user.password_hash != salt_of:
        raise Conflict("busy", f"The passwords of {user.email} were changed concurrently; try again.")
    if password.password_hash in user.password_hashes:
        return
    if len(user.passwords) >= MAX_PASSWORDS:
        message = f"{user.email} already has {MAX_PASSWORDS} passwords; remove one that is no longer used."
        raise Conflict("too_many_passwords", message, field="new_password")
    user.set_passwords([*user.passwords, _stored_password(password)])
    events.record(
        session, "user_updated", f"User {user.email} was changed: a password was added.", originator=principal.username
    )


async def remove_password(session: AsyncSession, uid: int, password_hash: str, principal: Principal) -> None:
    """Remove a password, and end the tokens and sessions that were started with it."""
    user = await _for_update(session, uid)
    remaining = [each for each in user.passwords if each.hash != password_hash]
    if not remaining:
        message = f"This is the only password of {user.email}. Add another one first."
        raise NotAcceptable("last_password", message, field="old_password")
    if len(remaining) < len(user.passwords):
        user.set_passwords(remaining)
        events.record(
            session,
            "user_updated",
            f"User {user.email} was changed: a password was removed.",
            originator=principal.username,
        )


async def use_second_factor(session: AsyncSession, uid: int, code: str | None) -> None:
    """Accept and invalidate the code, if the user uses two-factor authentication. Raises Conflict."""
    user = await _for_update(session, uid)
    if user.totp_secret is not None and not two_factor.consume_code(user, code or ""):
        raise Conflict(
            "busy",
            f"The authentication code of {user.email} was already used, or two-factor authentication was changed at the "
            "same time. Try again.",
        )


async def enable_second_factor(
    session: AsyncSession, uid: int, secret: str, code: str, principal: Principal
) -> list[str]:
    """Enable two-factor authentication, and return the recovery codes. Tokens and sessions end, because they started without it."""
    user = await _for_update(session, uid)
    require_local_password(user)
    codes = two_factor.enable(user, secret, code)
    user.set_passwords([each.with_new_id() for each in user.passwords])
    events.record(
        session,
        "user_updated",
        f"User {user.email} was changed: two-factor authentication was enabled.",
        originator=principal.username,
    )
    return codes


async def disable_second_factor(session: AsyncSession, uid: int, principal: Principal) -> None:
    """Disable two-factor authentication of oneself, or of a user who has lost the phone."""
    user = await _for_update(session, uid)
    if user.email != principal.username:
        await require_grantable_roles(session, principal, assignment_of(user))
    if user.totp_secret is not None:
        two_factor.disable(user)
        events.record(
            session,
            "user_updated",
            f"User {user.email} was changed: two-factor authentication was disabled.",
            originator=principal.username,
        )


async def _check_data_access(session: AsyncSession, email: str, role: RoleAssignment) -> None:
    """Raise NotAcceptable if a user with this name could never authenticate to the databases that the role gives access to."""
    reason = acl_rules.engine_user_error(email)
    if not reason:
        return
    if email.lower() in acl_rules.RESERVED:
        raise NotAcceptable("config_error", f"The name {email} is reserved: {reason}.", field="email")
    if not (await acl_users.granted_role_uids(session)).isdisjoint(role.all_uids):
        message = f"{email} could not authenticate to the databases to whose data the role {role} has access: {reason}."
        raise NotAcceptable("config_error", message, field="role")


def require_local_password(user: User) -> None:
    """Raise NotAcceptable unless the user has a password in Shardboard."""
    if user.auth_method != REGULAR:
        message = f"{user.email} signs in with {_NAMES[user.auth_method]} and has no password in Shardboard."
        raise NotAcceptable("no_password", message, field="password")


async def _require_sign_in_privilege(session: AsyncSession, user: User, principal: Principal) -> None:
    await require_grantable_roles(session, principal, assignment_of(user))
    if user.email == principal.username:
        raise Forbidden("unauthorized_action", "You cannot change your own sign-in method. Ask another administrator.")
    await require_remaining_admin(session, [user])


def _is_own_email(user: User, email: str | None) -> bool:
    """Return whether a request leaves the email address unchanged."""
    return email is None or email.lower() == user.email.lower() or (not email and user.has_name_only)


async def _change_name(session: AsyncSession, user: User, name: str, principal: Principal) -> None:
    _check_name(name)
    if user.has_name_only:
        message = f"The name of {user.email} is its username and cannot be changed; create a new user instead."
        raise NotAcceptable("config_error", message, field="name")
    if principal.role not in USER_ADMINS and await users.is_name_used(session, name, except_uid=user.uid):
        # Users authenticate to databases with their names, and names that several users have are not accepted.
        raise Conflict("name_already_exists", f"Another user has the name {name}. Use another name.", field="name")
    user.name = name


async def _change_role(session: AsyncSession, user: User, role: RoleAssignment, principal: Principal) -> str:
    """Change the role. Returns the description of the change."""
    require_privilege_over(principal, user.role)
    await require_grantable_roles(session, principal, role)
    if role.management != user.role:
        await require_remaining_admin(session, [user])
    if user.email == principal.username:
        raise Forbidden("unauthorized_action", "You cannot change your own role. Ask another administrator.")
    if user.auth_method == REGULAR:
        await _check_data_access(session, user.email, role)
    description = f"the role from {await _role_of(session, user)} to {role}"
    role.assign_to(user)
    return description


def _change_sign_in(user: User, auth_method: str, *, has_password: bool) -> str:
    """Change the sign-in method, which ends sessions and tokens. Returns the description of the change."""
    if has_password != (auth_method == REGULAR):
        message = (
            "`password` is required for users who sign in with a password, and not allowed for single sign-on or LDAP."
        )
        raise NotAcceptable("config_error", message, field="password")
    user.auth_method, user.subject = auth_method, None
    two_factor.disable(user)
    user.set_passwords([Password("")])
    return f"the sign-in method to {_NAMES[auth_method]}"


def _is_role_change(user: User, assignment: RoleAssignment) -> bool:
    """Return whether the role changes. Sending only the management role of a custom role keeps the custom role."""
    if assignment.uid is None and not assignment.by_uid and assignment.management == user.role:
        return False
    return assignment != assignment_of(user)


async def _role_of(session: AsyncSession, user: User) -> RoleAssignment:
    custom = await roles_and_acls.get_role(session, user.role_uid) if user.role_uid is not None else None
    return replace(assignment_of(user), name=custom.name if custom is not None else "")


async def _for_update(session: AsyncSession, uid: int) -> User:
    await clusters.load_for_update(session)  # two administrators must not demote each other concurrently
    user = await get_user(session, uid)
    await session.refresh(user, with_for_update=True)  # protects against concurrent logins
    return user


async def unlock(session: AsyncSession, email: str, originator: str) -> bool:
    """Clear the login throttling of a user. Returns False if there was none."""
    user = await users.by_email(session, email) if logins.is_user_name(email) else None
    if user is None:
        raise NotFound("user_not_exist", f"The user {email} does not exist.")
    await session.refresh(user, with_for_update=True)
    was_locked = user.uid in await logins.locked_user_uids(session)
    await login_failures.clear(session, user.uid)
    if was_locked:
        message = f"The sign-in delay of {user.email} was ended."
        events.record(session, "user_updated", message, source="cluster", originator=originator)
    return was_locked


async def remove(session: AsyncSession, uid: int, principal: Principal) -> None:
    await clusters.load_for_update(session)
    user = await get_user(session, uid)
    require_privilege_over(principal, user.role)
    await require_remaining_admin(session, [user])
    if user.email == principal.username:
        raise Forbidden("unauthorized_action", "You cannot delete your own account. Ask another administrator.")
    await login_failures.clear(session, user.uid)
    await session.delete(user)
    events.record(session, "user_deleted", f"User {user.email} was deleted.", originator=principal.username)


async def save_data_hash(session: AsyncSession, uid: int, password_hash: str, data_hash: str) -> None:
    """Store the data hash of that password, if the user still has it."""
    user = await session.get(User, uid, with_for_update=True, populate_existing=True)
    if user is not None:
        user.set_passwords(
            [replace(each, data_hash=data_hash) if each.hash == password_hash else each for each in user.passwords]
        )


def _stored_password(password: PasswordHashes) -> Password:
    return Password(password.password_hash, password.data_hash, issued=int(time.time()))


def is_display_name(name: str) -> bool:
    """Return whether the name can be displayed as a user's name."""
    return len(name) <= _MAX_NAME_LENGTH and name.isprintable() and _FORBIDDEN_IN_NAMES.isdisjoint(name)


def _check_name(name: str) -> None:
    if not is_display_name(name):
        message = f'The name must have at most {_MAX_NAME_LENGTH} printable characters, and none of & < > ".'
        raise NotAcceptable("config_error", message, field="name")
