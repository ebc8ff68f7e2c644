"""Login sessions of browsers.

A session ends after 12 hours, when it has not been used for as long as the cluster's settings allow, when the user signs out,
when the user or an administrator ends it, and when the password that it was started with is removed.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import NotFound, Unauthorized
from shardboard.services.access import passwords, tokens
from shardboard.services.access.authorization import Principal, get_user, require_privilege_over
from shardboard.state.access import sessions
from shardboard.state.access.sessions import LoginSession
from shardboard.state.access.users import Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster

SESSION_SECONDS = 12 * 3600
MAX_SESSIONS = 50
"""Maximum number of sessions per user; a further one ends the oldest."""
_USE_INTERVAL = timedelta(minutes=1)
_MAX_BROWSER_LENGTH = 200


@dataclass(frozen=True)
class ValidSession:
    """A valid session."""

    uid: int
    user: User
    use_needs_recording: bool
    """The use of the session must be recorded."""


async def start(session: AsyncSession, user: User, password: Password, address: str, browser: str) -> str:
    """Start a session and return the value of its cookie."""
    now, token = datetime.now(UTC), secrets.token_urlsafe(32)
    await sessions.delete_expired(session, now)
    for surplus_session in (await sessions.list_for_user(session, user.uid))[MAX_SESSIONS - 1 :]:
        await session.delete(surplus_session)
    session.add(
        LoginSession(
            user_uid=user.uid,
            token_hash=passwords.digest(token),
            password_fingerprint=tokens.password_fingerprint((await cluster.load(session)).jwt_secret, password),
            address=address,
            browser="".join(c if c.isprintable() else "?" for c in browser[:_MAX_BROWSER_LENGTH]),
            created_at=now,
            last_seen_at=now,
            expires_at=now + timedelta(seconds=SESSION_SECONDS),
        )
    )
    await session.flush()
    return token


async def get_session(session: AsyncSession, token: str) -> ValidSession:
    """Return the session of a cookie. Raises Unauthorized with the reason if it is not valid."""
    row, now = await sessions.by_hash(session, passwords.digest(token)), datetime.now(UTC)
    if row is None:
        raise Unauthorized("token_expired", "The session has ended; sign in again.")
    user = await valid_user(session, row, now)
    if user is None:
        raise Unauthorized("token_expired", "The session has expired; sign in again.")
    return ValidSession(row.uid, user, now - row.last_seen_at >= _USE_INTERVAL)


async def valid_user(session: AsyncSession, row: LoginSession, now: datetime) -> User | None:
    """Return the user of a session; None if the session is no longer valid."""
    user = await session.get(User, row.user_uid)
    return user if user is not None and _is_valid(row, user, await cluster.load(session), now) else None


async def record_use(session: AsyncSession, uid: int) -> None:
    row = await session.get(LoginSession, uid)
    if row is not None:
        row.last_seen_at = datetime.now(UTC)


async def revalidate(session: AsyncSession, uid: int | None, user: User) -> None:
    """Keep a session valid after its user has changed the password. Ignored if the session belongs to another user."""
    row = await session.get(LoginSession, uid) if uid is not None else None
    if row is not None and row.user_uid == user.uid:
        secret = (await cluster.load(session)).jwt_secret
        row.password_fingerprint = tokens.password_fingerprint(secret, user.passwords[0])


async def sign_out(session: AsyncSession, uid: int, principal: Principal) -> None:
    row = await session.get(LoginSession, uid)
    if row is not None:
        await session.delete(row)
    events.record(session, "logout", f"{principal.username} signed out.", originator=principal.username)


async def list_for_user(session: AsyncSession, user_uid: int, principal: Principal) -> Sequence[LoginSession]:
    """Return the user's valid sessions, newest first. Requires that it is the own account, or privileges over the user."""
    user = await _load_user(session, user_uid, principal)
    cluster_row, now = await cluster.load(session), datetime.now(UTC)
    return [row for row in await sessions.list_for_user(session, user.uid) if _is_valid(row, user, cluster_row, now)]


async def end(session: AsyncSession, user_uid: int, uid: int, principal: Principal) -> None:
    """End one session immediately."""
    user = await _load_user(session, user_uid, principal)
    # PostgreSQL rejects comparisons with numbers of more than 32 bits.
    row = await session.get(LoginSession, uid) if 0 < uid < 2**31 else None
    if row is None or row.user_uid != user.uid:
        raise NotFound("session_not_exist", f"{user.email} has no session {uid}; it may have ended.")
    await session.delete(row)
    events.record(
        session,
        "session_ended",
        f"A session of {user.email} from {row.address} was ended.",
        originator=principal.username,
    )


async def end_others(session: AsyncSession, user_uid: int, except_uid: int | None, principal: Principal) -> int:
    """End all sessions of a user except `but`. Returns how many were ended."""
    user = await _load_user(session, user_uid, principal)
    ending = [row for row in await sessions.list_for_user(session, user.uid) if row.uid != except_uid]
    for row in ending:
        await session.delete(row)
    if ending:
        events.record(
            session,
            "session_ended",
            f"Sessions of {user.email} were ended: {len(ending)}.",
            originator=principal.username,
        )
    return len(ending)


async def _load_user(session: AsyncSession, user_uid: int, principal: Principal) -> User:
    user = await get_user(session, user_uid)
    if user.email != principal.username:
        require_privilege_over(principal, user.role)
    return user


def _is_valid(row: LoginSession, user: User, cluster: Cluster, now: datetime) -> bool:
    # Use is recorded once a minute, so up to a minute more than the configured time is allowed.
    max_idle = timedelta(minutes=cluster.settings.cm_session_timeout_minutes) + _USE_INTERVAL
    valid = {tokens.password_fingerprint(cluster.jwt_secret, each) for each in user.passwords}
    return now < row.expires_at and now - row.last_seen_at < max_idle and row.password_fingerprint in valid
