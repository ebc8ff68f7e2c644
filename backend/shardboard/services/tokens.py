"""Signed tokens for scripts: what the API hands out against a password. One dies with its expiry and with that password."""

import hashlib
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from shardboard.errors import Unauthorized
from shardboard.state.users import Password

_ALGORITHM = "HS256"
_USE = "api"
"""Earlier consoles signed sessions of browsers as well, which are no tokens for scripts."""


@dataclass(frozen=True)
class Claims:
    """What a valid signature vouches for."""

    username: str
    password_mark: str


def issue(secret: str, username: str, mark: str, ttl: int) -> str:
    """`mark` is that of the password by which the user has logged in; `ttl` in seconds."""
    now = datetime.now(UTC)
    payload = {
        "sub": username,
        "use": _USE,
        "jti": uuid.uuid4().hex,
        "pwd": mark,
        "iat": now,
        "exp": now + timedelta(seconds=ttl),
    }
    return jwt.encode(payload, secret, _ALGORITHM)


def read(secret: str, token: str) -> Claims:
    """Claims of a token that we signed and that has not expired."""
    try:
        payload = jwt.decode(token, secret, [_ALGORITHM], options={"require": ["sub", "use", "jti", "pwd", "exp"]})
    except jwt.ExpiredSignatureError:
        raise Unauthorized("token_expired", "The token has expired; log in again.") from None
    except jwt.InvalidTokenError:
        raise Unauthorized("invalid_token", "The token is not one of this console.") from None
    if payload["use"] != _USE:
        raise Unauthorized("invalid_token", "The token was issued for another use.")
    return Claims(payload["sub"], str(payload["pwd"]))


def seal(secret: str, use: str, content: Mapping[str, Any], ttl: int) -> str:
    """What somebody keeps for us for `ttl` seconds, and may read, but not change."""
    return jwt.encode(
        {"use": use, "content": content, "exp": datetime.now(UTC) + timedelta(seconds=ttl)}, secret, _ALGORITHM
    )


def unseal(secret: str, use: str, sealed: str) -> Mapping[str, Any] | None:
    """None for what was not sealed for this use, or is too old."""
    try:
        payload = jwt.decode(sealed, secret, [_ALGORITHM], options={"require": ["use", "content", "exp"]})
    except jwt.InvalidTokenError:
        return None
    content: Mapping[str, Any] = payload["content"]
    return content if payload["use"] == use else None


def password_mark(secret: str, password: Password) -> str:
    """Another one for another password, also when the same is set again, and says nothing about it."""
    return hmac.new(secret.encode(), (password.hash + password.id).encode(), hashlib.sha256).hexdigest()[:32]
