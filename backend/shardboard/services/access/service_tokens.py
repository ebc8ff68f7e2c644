"""Service tokens: credentials for programs, instead of a user's password.

A token is shown once, when it is created. It has the permissions of its role until it expires or is removed, even if its creator
is deleted.
"""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.roles import ManagementRole
from shardboard.errors import Conflict, NotAcceptable, NotFound, Unauthorized
from shardboard.services.access import passwords
from shardboard.services.access.authorization import Principal, principal_of, require_grantable, require_privilege_over
from shardboard.services.access.role_assignments import RoleAssignment
from shardboard.state.access import service_tokens
from shardboard.state.access.service_tokens import ServiceToken
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters

PREFIX = "sbt_"
"""Prefix by which secret scanners and the console recognize a service token."""
MAX_TOKENS = 200
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
    if len(tokens) >= MAX_TOKENS:
        raise Conflict(
            "too_many_service_tokens",
            f"There are already {MAX_TOKENS} service tokens; remove one that is no longer used.",
        )
    token = PREFIX + secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    row = ServiceToken(
        name=name,
        role=role.management,
        role_uid=role.uid,
        token_hash=passwords.digest(token),
        created_by=principal.username,
        created_at=now,
        expires_at=now + timedelta(seconds=seconds) if seconds is not None else None,
    )
    session.add(row)
    expiry_text = f", until {row.expires_at:%Y-%m-%d %H:%M} UTC" if row.expires_at else ""
    events.record(
        session,
        "service_token_created",
        f"Service token {name} was created with the role {role}{expiry_text}.",
        originator=principal.username,
    )
    await session.flush()
    return row, token


async def remove(session: AsyncSession, uid: int, principal: Principal) -> None:
    """Remove a token, which is invalid from then on."""
    # PostgreSQL rejects comparisons with numbers of more than 32 bits.
    row = await session.get(ServiceToken, uid) if 0 < uid < 2**31 else None
    if row is None:
        raise NotFound("service_token_not_exist", f"Service token {uid} does not exist.")
    require_privilege_over(principal, row.role)
    await session.delete(row)
    events.record(
        session, "service_token_deleted", f"Service token {row.name} was removed.", originator=principal.username
    )


async def list_all(session: AsyncSession) -> Sequence[ServiceToken]:
    """Return all tokens by name, including expired ones."""
    return await service_tokens.list_all(session)


async def authenticate(session: AsyncSession, token: str) -> tuple[Principal, bool]:
    """Return the principal of a token, and whether its use must be recorded. Usernames cannot contain the colon of `token:`."""
    row = await service_tokens.by_hash(session, passwords.digest(token))
    if row is None:
        raise Unauthorized("invalid_token", "The service token is unknown; it may have been removed.")
    now = datetime.now(UTC)
    if row.expires_at is not None and row.expires_at <= now:
        raise Unauthorized("token_expired", f"Service token {row.name} expired at {row.expires_at:%Y-%m-%d %H:%M} UTC.")
    is_due = row.last_used_at is None or now - row.last_used_at >= _USE_INTERVAL
    return await principal_of(session, f"token:{row.name}", row.role, row.role_uid), is_due


async def record_use(session: AsyncSession, token: str) -> None:
    row = await service_tokens.by_hash(session, passwords.digest(token))
    if row is not None:
        row.last_used_at = datetime.now(UTC)
