"""Signed tokens: what the API hands out (`use` = api) and what the browser's cookie holds (`use` = session).

A token dies with its expiry, with a change of the user's password, and a session also by logging out. Log-outs are read
back from the event log, where they are recorded anyway, so that a restart of the console revives no session.
"""

import hashlib
import hmac
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import jwt
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Unauthorized
from shardboard.services import events
from shardboard.state import events as event_rows
from shardboard.state.users import Password

Use = Literal["api", "session"]

SESSION_SECONDS = 12 * 3600
_ALGORITHM = "HS256"
_LOGOUT = "logout"


@dataclass(frozen=True)
class Claims:
    """What a valid signature vouches for."""

    username: str
    use: str
    token_id: str
    password_mark: str


def issue(secret: str, username: str, mark: str, use: Use, ttl: int) -> str:
    """`mark` is that of the password by which the user has logged in."""
    now = datetime.now(UTC)
    payload = {
        "sub": username,
        "use": use,
        "jti": uuid.uuid4().hex,
        "pwd": mark,
        "iat": now,
        "exp": now + timedelta(seconds=ttl),
    }
    return jwt.encode(payload, secret, _ALGORITHM)


def read(secret: str, token: str, use: Use) -> Claims:
    """Claims of a token that we signed for this use and that has not expired."""
    try:
        payload = jwt.decode(token, secret, [_ALGORITHM], options={"require": ["sub", "use", "jti", "pwd", "exp"]})
    except jwt.ExpiredSignatureError:
        raise Unauthorized("token_expired", "The login has expired; log in again.") from None
    except jwt.InvalidTokenError:
        raise Unauthorized("invalid_token", "The token is not one of this console.") from None
    claims = Claims(payload["sub"], str(payload["use"]), str(payload["jti"]), str(payload["pwd"]))
    if claims.use != use:
        raise Unauthorized("invalid_token", "The token was issued for another use.")
    return claims


def password_mark(secret: str, password: Password) -> str:
    """Another one for another password, also when the same is set again, and says nothing about it."""
    return hmac.new(secret.encode(), (password.hash + password.id).encode(), hashlib.sha256).hexdigest()[:32]


def end(session: AsyncSession, claims: Claims) -> None:
    """Log a session out for good."""
    events.record(
        session,
        _LOGOUT,
        f"{claims.username} logged out.",
        source="cluster",
        originator=claims.username,
        details={"session": claims.token_id},
    )


async def ended(session: AsyncSession) -> set[str]:
    """Token ids of the sessions that were logged out and have not expired by themselves yet."""
    since = datetime.now(UTC) - timedelta(seconds=SESSION_SECONDS)
    recent = await event_rows.page(session, newest_first=True, since=since, sources=["cluster"])
    return {str(event.details.get("session")) for event in recent if event.type == _LOGOUT}
