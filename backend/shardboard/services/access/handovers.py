"""Continuation of a browser session on another console, whose host name does not share cookies with the first one.

The page holds a token, which it renews while it is connected. When its console no longer responds, it sends the token to another
console, which issues its own cookie for the same session. All cookies of a session end with it.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.consoles import origin_of
from shardboard.errors import Forbidden, Unauthorized
from shardboard.services.access import passwords
from shardboard.services.access.sessions import valid_user
from shardboard.state.access import sessions
from shardboard.state.access.sessions import SessionHandover
from shardboard.state.access.users import User
from shardboard.state.cluster import consoles

TOKEN_SECONDS = 300
MAX_TOKENS = 20
"""Maximum number of unused tokens per session, one per page, and of cookies of other consoles."""


@dataclass(frozen=True)
class ContinuedSession:
    """A session that another console continues."""

    user: User
    cookie: str
    seconds: int
    """Remaining time of the session."""


async def offer(session: AsyncSession, session_uid: int) -> str:
    """Return a new token for a session."""
    now, token = datetime.now(UTC), secrets.token_urlsafe(32)
    await sessions.delete_expired_handovers(session, now)
    await _limit(session, session_uid)
    expires_at = now + timedelta(seconds=TOKEN_SECONDS)
    session.add(
        SessionHandover(
            token_hash=passwords.digest(token), session_uid=session_uid, cookie_hash=None, expires_at=expires_at
        )
    )
    return token


async def redeem(session: AsyncSession, token: str) -> ContinuedSession:
    """Use up a token and return a new cookie for its session. Raises Unauthorized."""
    now, cookie = datetime.now(UTC), secrets.token_urlsafe(32)
    row = await sessions.use_handover(session, passwords.digest(token), passwords.digest(cookie), now)
    user = await valid_user(session, row, now) if row is not None else None
    if row is None or user is None:
        raise Unauthorized("token_expired", "The session cannot be continued on this console; sign in again.")
    await _limit(session, row.uid, passwords.digest(token))
    return ContinuedSession(user, cookie, int((row.expires_at - now).total_seconds()))


async def require_console_origin(session: AsyncSession, origin: str | None) -> None:
    """Check that a request comes from a page of a console of this store. Raises Forbidden."""
    if origin is None or not await is_console_origin(session, origin):
        message = "This request is accepted only from the web UI of another console that uses the same store."
        raise Forbidden("unknown_origin", message)


async def is_console_origin(session: AsyncSession, origin: str) -> bool:
    """Return whether a console of this store, running or not, has this origin."""
    return origin in {origin_of(row.address) for row in await consoles.list_all(session)}


async def _limit(session: AsyncSession, session_uid: int, kept: str = "") -> None:
    """Delete the oldest tokens and surplus cookies, so that another one can be added. The token with the hash `kept` remains."""
    rows = sorted(await sessions.handovers(session, session_uid), key=lambda row: row.token_hash != kept)
    unused, used = (
        [row for row in rows if row.cookie_hash is None],
        [row for row in rows if row.cookie_hash is not None],
    )
    for row in (*unused[MAX_TOKENS - 1 :], *used[MAX_TOKENS:]):
        await session.delete(row)
