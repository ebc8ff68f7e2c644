"""Service tokens: credentials for programs, instead of a user's password.

A token is shown once, when it is created. It has the permissions of its role until it expires or is removed, even if its creator
is deleted. The exception are tokens of users who have signed in a program: they end with the user, the password, and the role.
"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.roles import ManagementRole
from shardboard.errors import Conflict, NotAcceptable, NotFound, Unauthorized
from shardboard.services.access import logins, passwords
from shardboard.services.access.authorization import (
    USER_ADMINS,
    Principal,
    principal_of,
    require_grantable,
    require_privilege_over,
)
from shardboard.services.access.role_assignments import RoleAssignment
from shardboard.services.access.tokens import password_fingerprint
from shardboard.state.access import service_tokens, users
from shardboard.state.access.service_tokens import ServiceToken
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters

PREFIX = "sbt_"
"""Prefix by which secret scanners and the console recognize a service token."""
MAX_TOKENS = 200
"""Maximum number of tokens that belong to no user."""
MAX_TOKENS_OF_USER = 10
"""Maximum number of tokens of a user; a further one ends the oldest."""
MIN_SECONDS, MAX_SECONDS = 60, 10 * 366 * 86_400
"""Seconds."""
_USE_INTERVAL = timedelta(minutes=1)


async def create(
    session: AsyncSession, name: str, role: RoleAssignment, seconds: int | None, principal: Principal
) -> tuple[ServiceToken, str]:
    """Create a token that expires after `seconds` (None: never). Returns its row and its text."""
    await require_grantable(session, principal, role.management, role.uid)
    if not name.isprintable() or name != name.strip():
        raise NotAcceptable(
            "config_error", "The name must have printable characters only, and no space at either end.", field="name"
        )
    if role.management == ManagementRole.NONE:
        raise NotAcceptable("config_error", "A service token needs a role other than `none`.", field="role")
    await clusters.load_for_update(session)
    tokens = await service_tokens.list_all(session)
    if any(each.name == name for each in tokens):
        raise Conflict("name_already_exists", f"The service token {name} already exists.", field="name")
    if sum(each.user_uid is None for each in tokens) >= MAX_TOKENS:
        raise Conflict(
            "too_many_service_tokens",
            f"There are already {MAX_TOKENS} service tokens; remove one that is no longer used.",
        )
    return await _add(session, name, role, seconds, principal.username)


async def create_for_user(
    session: AsyncSession, user: User, password_fingerprint: str, machine: str, seconds: int
) -> tuple[ServiceToken, str]:
    """Create a token with the role of a user, for a program on a machine. The caller has locked the cluster row.

    It ends with the user, with this password, and when the role of the user changes. Returns its row and its text.
    """
    for surplus in (await service_tokens.list_for_user(session, user.uid))[MAX_TOKENS_OF_USER - 1 :]:
        await session.delete(surplus)
    number = secrets.token_hex(4)  # names are unique
    name = f"{user.email[:30]} on {machine[:20]} {number}"
    role = RoleAssignment(ManagementRole(user.role), user.role_uid)
    row, token = await _add(session, name, role, seconds, user.email)
    row.user_uid, row.password_fingerprint = user.uid, password_fingerprint
    return row, token


async def _add(
    session: AsyncSession, name: str, role: RoleAssignment, seconds: int | None, creator: str
) -> tuple[ServiceToken, str]:
    token = PREFIX + secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    row = ServiceToken(
        name=name,
        role=role.management,
        role_uid=role.uid,
        token_hash=passwords.digest(token),
        created_by=creator,
        created_at=now,
        expires_at=now + timedelta(seconds=seconds) if seconds is not None else None,
    )
    session.add(row)
    expiry_text = f", until {row.expires_at:%Y-%m-%d %H:%M} UTC" if row.expires_at else ""
    events.record(
        session,
        "service_token_created",
        f"Service token {name} was created with the role {role}{expiry_text}.",
        originator=creator,
    )
    await session.flush()
    return row, token


async def remove(session: AsyncSession, uid: int, principal: Principal) -> None:
    """Remove a token, which is invalid from then on. A token can remove itself, and users can remove their own tokens."""
    # PostgreSQL rejects comparisons with numbers of more than 32 bits.
    row = await session.get(ServiceToken, uid) if 0 < uid < 2**31 else None
    if row is None or not await _is_own(session, row, principal):
        require_privilege_over(principal)
        principal.require_cluster_access()
        if row is None:
            raise NotFound("service_token_not_exist", f"Service token {uid} does not exist.")
        require_privilege_over(principal, row.role)
    await session.delete(row)
    events.record(
        session, "service_token_deleted", f"Service token {row.name} was removed.", originator=principal.username
    )


async def _is_own(session: AsyncSession, row: ServiceToken, principal: Principal) -> bool:
    """Return whether the principal is the token or its user."""
    user = await session.get(User, row.user_uid) if row.user_uid is not None else None
    return principal.username in (principal_name(row), user.email if user is not None else None)


async def list_visible(session: AsyncSession, principal: Principal) -> Sequence[ServiceToken]:
    """Return tokens by name, including expired ones: all for user managers, and otherwise those that belong to the user."""
    tokens = await service_tokens.list_all(session)
    if principal.role in USER_ADMINS and principal.bdbs is None:
        return tokens
    user = await users.by_email(session, principal.username)
    return [row for row in tokens if user is not None and row.user_uid == user.uid]


async def authenticate(session: AsyncSession, token: str) -> tuple[Principal, bool]:
    """Return the principal of a token, and whether its use must be recorded. Raises Unauthorized."""
    row = await service_tokens.by_hash(session, passwords.digest(token))
    if row is None:
        raise Unauthorized("invalid_token", "The service token is unknown; it may have been removed.")
    now = datetime.now(UTC)
    if row.expires_at is not None and row.expires_at <= now:
        raise Unauthorized("token_expired", f"Service token {row.name} expired at {row.expires_at:%Y-%m-%d %H:%M} UTC.")
    await _require_valid_user(session, row)
    is_due = row.last_used_at is None or now - row.last_used_at >= _USE_INTERVAL
    return await principal_of(session, principal_name(row), row.role, row.role_uid), is_due


def principal_name(row: ServiceToken) -> str:
    """Return the name with which a token sends requests. Names of users cannot contain its colon."""
    return f"token:{row.name}"


async def _require_valid_user(session: AsyncSession, row: ServiceToken) -> None:
    """Check that the user of a token still has the same password and role, and follows the policy. Raises Unauthorized."""
    if row.user_uid is None:
        return
    user, cluster_row = await session.get(User, row.user_uid), await clusters.load(session)
    found = user.passwords if user is not None else ()
    valid = {password_fingerprint(cluster_row.jwt_secret, each) for each in found}
    if user is None or row.password_fingerprint not in valid or (user.role, user.role_uid) != (row.role, row.role_uid):
        message = f"Service token {row.name} has ended, because the password or the role of its user was changed."
        raise Unauthorized("token_expired", message)
    if logins.lacks_second_factor(user, cluster_row.rules):
        message = f"{user.email} must use two-factor authentication. Turn it on when you sign in to the web UI."
        raise Unauthorized("second_factor_missing", message)


async def record_use(session: AsyncSession, token: str) -> None:
    row = await service_tokens.by_hash(session, passwords.digest(token))
    if row is not None:
        row.last_used_at = datetime.now(UTC)
