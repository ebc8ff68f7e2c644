"""Passwords: made, hashed with argon2, and verified without stalling the event loop.

A verification costs about 0.1 s of CPU and 64 MiB on purpose. So few run at once, in threads, and a success is
remembered for a minute: scripts send their password with every call.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeVar

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.low_level import hash_secret

from shardboard.errors import NotAcceptable
from shardboard.services.turns import Turns

MIN_LENGTH = 8
MAX_LENGTH = 256
_REMEMBERED_SECONDS = 60.0
_REMEMBERED_ENTRIES = 1024
_AT_ONCE = 2
_WAITING_LIMIT = 64
_WAITING_OF_ONE = 4
"""From one network, so that it leaves places to others."""

T = TypeVar("T")

_hasher = PasswordHasher()
_dummy_hash = ""


def generate() -> str:
    """A password nobody has to remember: 144 bits."""
    return secrets.token_urlsafe(18)


def check_length(password: str, min_length: int = MIN_LENGTH) -> None:
    if not min_length <= len(password) <= MAX_LENGTH:
        raise NotAcceptable(
            "password_not_complex",
            f"A password needs {min_length} to {MAX_LENGTH} characters.",
            field="password",
        )


async def hashed(password: str, beside: str | None = None) -> str:
    """The argon2 string to store. It shares the salt of `beside`, a hash of the same user, so that one computation tells which of
    the user's passwords was given: several would take longer, and tell whoever tries that the name exists."""
    return await asyncio.to_thread(_hasher.hash if beside is None else partial(_alike, beside), password)


async def matching(password: str, password_hashes: Sequence[str]) -> str | None:
    """Which of a user's hashes is the password's. None at all (no such user) take as long as a wrong password, so that the time
    does not tell which names exist."""
    return await asyncio.to_thread(_matching, password, password_hashes)


def _matching(password: str, password_hashes: Sequence[str]) -> str | None:
    global _dummy_hash
    if not password_hashes and not _dummy_hash:
        _dummy_hash = _hasher.hash(secrets.token_hex())
    try:
        found = _alike(next(iter(password_hashes), _dummy_hash), password)
    except (Argon2Error, InvalidHashError):
        return None
    return next((each for each in password_hashes if hmac.compare_digest(each.encode(), found.encode())), None)


def _alike(password_hash: str, password: str) -> str:
    """The hash of a password with parameters and salt of another hash. Raises Argon2Error and InvalidHashError."""
    wanted = extract_parameters(password_hash)
    salt = password_hash.split("$")[-2]
    try:
        return hash_secret(
            password.encode(),
            base64.b64decode(salt + "=" * (-len(salt) % 4), validate=True),
            time_cost=wanted.time_cost,
            memory_cost=wanted.memory_cost,
            parallelism=wanted.parallelism,
            hash_len=wanted.hash_len,
            type=wanted.type,
            version=wanted.version,
        ).decode()
    except binascii.Error as error:
        raise InvalidHashError from error


class Verifier:
    """Limits how many verifications run at once, and remembers successes under a key that only this process knows."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, float] = {}
        self._turns = Turns(_AT_ONCE, _AT_ONCE, _WAITING_LIMIT, _WAITING_OF_ONE)
        self._flights: dict[bytes, asyncio.Task[Any]] = {}

    def turn(self, network: str) -> AbstractAsyncContextManager[None]:
        """One of the few places in which a password may be verified; refuses when the queue is long, or that of the network."""
        return self._turns.turn(network)

    async def once(self, attempt: Sequence[str], verify: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `verify` says of a name, a password and a network; who sends the same meanwhile shares it."""
        entry = self._entry(*attempt)
        flight: asyncio.Task[T] | None = self._flights.get(entry)
        if flight is None:
            flight = self._flights[entry] = asyncio.create_task(verify())
            flight.add_done_callback(lambda _: self._flights.pop(entry))
        return await asyncio.shield(flight)

    def remember(self, username: str, password: str, password_hash: str, seconds: float = _REMEMBERED_SECONDS) -> None:
        if len(self._remembered) >= _REMEMBERED_ENTRIES:
            self._remembered.clear()
        self._remembered[self._entry(username, password, password_hash)] = time.monotonic() + seconds

    def remembers(self, username: str, password: str, password_hash: str) -> bool:
        """Whether this very password matched this very hash just now."""
        entry = self._entry(username, password, password_hash)
        until = self._remembered.get(entry)
        if until is None:
            return False
        if until < time.monotonic():
            del self._remembered[entry]
            return False
        return True

    def _entry(self, *parts: str) -> bytes:
        return hmac.digest(self._key, b"".join(hashlib.sha256(part.encode()).digest() for part in parts), "sha256")


def digest(secret: str) -> str:
    """Of one that was made here and has more bits than anybody can try: it needs no salt, and is found by it."""
    return hashlib.sha256(secret.encode()).hexdigest()
