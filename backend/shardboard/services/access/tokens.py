"""Signed tokens for scripts, which the API issues for a password. A token ends when it expires or when that password is removed."""

import hashlib
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from shardboard.errors import Unauthorized
from shardboard.state.access.users import Password

_ALGORITHM = "HS256"
_PURPOSE = "api"
"""Earlier consoles signed browser sessions with the same key. Such signatures are not valid as tokens."""


@dataclass(frozen=True)
class Claims:
    """Verified contents of a token."""

    username: str
    password_fingerprint: str


def issue(secret: str, username: str, fingerprint: str, ttl: int) -> str:
    """Issue a token. `fingerprint` is that of the password that the user logged in with; `ttl` is in seconds."""
    now = datetime.now(UTC)
    payload = {
        "sub": username,
        "use": _PURPOSE,
        "jti": uuid.uuid4().hex,
        "pwd": fingerprint,
        "iat": now,
        "exp": now + timedelta(seconds=ttl),
    }
    return jwt.encode(payload, secret, _ALGORITHM)


def read(secret: str, token: str) -> Claims:
    """Return the claims of a valid token of this console. Raises Unauthorized."""
    try:
        payload = jwt.decode(token, secret, [_ALGORITHM], options={"require": ["sub", "use", "jti", "pwd", "exp"]})
    except jwt.ExpiredSignatureError:
        raise Unauthorized("token_expired", "The token has expired. Sign in again.") from None
    except jwt.InvalidTokenError:
        raise Unauthorized("invalid_token", "The token was not issued by this console.") from None
    if payload["use"] != _PURPOSE:
        raise Unauthorized("invalid_token", "The token was issued for another purpose.")
    return Claims(payload["sub"], str(payload["pwd"]))


def sign_content(secret: str, use: str, content: Mapping[str, Any], ttl: int) -> str:
    """Sign content that a client stores for `ttl` seconds. The client can read it, but not change it."""
    return jwt.encode(
        {"use": use, "content": content, "exp": datetime.now(UTC) + timedelta(seconds=ttl)}, secret, _ALGORITHM
    )


def read_content(secret: str, use: str, sealed: str) -> Mapping[str, Any] | None:
    """Return the content; None if it was not sealed for this use or is too old."""
    try:
        payload = jwt.decode(sealed, secret, [_ALGORITHM], options={"require": ["use", "content", "exp"]})
    except jwt.InvalidTokenError:
        return None
    content: Mapping[str, Any] = payload["content"]
    return content if payload["use"] == use else None


def password_fingerprint(secret: str, password: Password) -> str:
    """Return a text that identifies a password without revealing it. Setting the same password again gives another one."""
    return hmac.new(secret.encode(), (password.hash + password.id).encode(), hashlib.sha256).hexdigest()[:32]
